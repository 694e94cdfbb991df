"""Which chat model answers: a service behind an OpenAI-compatible API, or the embedded one.

``choose`` needs only the environment, so a missing key is said at once; LangChain is imported when a
model is loaded.
"""

from __future__ import annotations

import base64
import math
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from agent.deadline import Call
from agent.errors import SettingsError
from agent.redaction import redact
from agent.settings import DEFAULT_SERVICE_MODEL, Settings, load_settings, service_url
from agent.weights import MODELS, cached_path

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

OPENAI_URL = "https://api.openai.com/v1"
ASK_OWNER_TIMEOUT_S = 3.0
NO_MODEL = (
    "no model to ask: set OPENAI_API_KEY (in the environment or in .env), or OPENAI_BASE_URL"
    " for another service, or fetch the embedded model once with:"
    ' python scripts/run.py {small}"your question"'
)


@dataclass(frozen=True)
class Choice:
    """A model that can be had: a name at a service (``base_url``), or a file (``path``) to run in-process."""

    name: str
    base_url: str = field(default="", repr=False)  # it may have a user part
    path: Path | None = None

    @property
    def host(self) -> str:
        """Where requests go, for the user to see; never with a user part or a key."""
        return "this process" if self.path else urlsplit(self.base_url).hostname or ""


def choose(name: str | None, base_url: str | None, settings: Settings) -> Choice:
    """Say which model is meant. Raises SettingsError when it cannot be had, naming the ways out."""
    url = service_url(base_url or "") or settings.base_url
    name = name or settings.model
    if not name:
        name = DEFAULT_SERVICE_MODEL if settings.api_key or url else "local"
    if name in MODELS:
        return Choice(name, path=_local_path(name, settings))
    if not (settings.api_key or url):
        raise SettingsError(NO_MODEL.format(small=""))
    _check_can_be_sent(url, settings.api_key)
    return Choice(name, base_url=url or OPENAI_URL)


def _check_can_be_sent(url: str, key: str) -> None:
    """Said here, because the client would only fail, and some of its ways to fail quote the key."""
    if urlsplit(url).query:
        raise SettingsError("the base URL takes no query (?...): a key belongs into OPENAI_API_KEY")
    if not (key.isascii() and key.isprintable()):
        raise SettingsError(
            "OPENAI_API_KEY has a character that no HTTP header can carry (a line break, or one that is"
            " not ASCII): paste it again"
        )


def _local_path(name: str, settings: Settings) -> Path:
    if settings.local_model_path and name == "local":
        path = Path(settings.local_model_path).expanduser()
        if not path.is_file():
            raise SettingsError(f"LOCAL_MODEL_PATH names no file: {path}")
        return path
    path_or_none = cached_path(name)
    if path_or_none is None:
        raise SettingsError(NO_MODEL.format(small="--small " if name == "local-small" else ""))
    return path_or_none


def load_model(name: str | None = None, base_url: str | None = None) -> BaseChatModel:
    """Return a LangChain chat model at temperature 0.

    Args:
        name: "local", "local-small", or any name that the service knows. Without one, AGENT_MODEL, else
            gpt-4o where a key or a base URL is set, else the embedded model.
        base_url: an OpenAI-compatible service; wins over OPENAI_BASE_URL, which wins over OPENAI_API_BASE.

    Raises:
        SettingsError: no such model can be had; the sentence names the ways out.
    """
    settings = load_settings()
    return build(choose(name, base_url, settings), settings)


def build(choice: Choice, settings: Settings) -> BaseChatModel:
    """Build the chat model of a choice; the embedded one is loaded here, once per process."""
    import httpx

    address = _address(choice, settings)
    # Reading all authorities' certificates needs no Python, so it goes on beside the long imports.
    tls = Call(lambda: httpx.create_ssl_context(trust_env=not choice.path), "agent-certificates")
    from agent.http_clients import make_clients
    from agent.openai_model import OpenAIModel

    try:
        return OpenAIModel(
            model=choice.name,
            temperature=0,
            max_tokens=settings.max_tokens,
            timeout=settings.model_timeout_s,
            max_retries=0,
            **address,
            **make_clients(tls.result(math.inf), ours=bool(choice.path)),
        )
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        raise SettingsError(
            "the model's client cannot be built, check the proxies (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY,"
            f" NO_PROXY, OPENAI_PROXY), SSL_CERT_FILE and SSLKEYLOGFILE: {redact(str(error))}"
        ) from None


def _address(choice: Choice, settings: Settings) -> dict[str, Any]:
    """Where requests go and what lets them in, named as ChatOpenAI takes it."""
    if choice.path:
        from agent.local_model import serve

        server = serve(choice.path)
        return {"api_key": server.key, "base_url": f"{server.url}/v1"}
    url, headers = _user_apart(choice.base_url)
    return {"api_key": settings.api_key or "none", "base_url": url, "default_headers": headers or None}


def _user_apart(url: str) -> tuple[str, dict[str, str]]:
    """A URL without its user part, and the header that this stands for: the client logs and shows URLs."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    name, _, password = user.partition(":")
    pair = base64.b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode("ascii")
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {pair}"}


_llama_cpp: dict[str, bool] = {}
_llama_cpp_lock = threading.Lock()


def is_llama_cpp(llm: BaseChatModel) -> bool:
    """Whether llama.cpp answers for this model, by the word of the service's own model list.

    Asked once per address and process; never asked of OpenAI's own service.
    """
    client = getattr(getattr(llm, "client", None), "_client", None)
    url = str(getattr(client, "base_url", ""))
    if not url or urlsplit(url).hostname == urlsplit(OPENAI_URL).hostname:
        return False
    with _llama_cpp_lock:
        if url not in _llama_cpp:
            _llama_cpp[url] = _owner_is_llama_cpp(client)
        return _llama_cpp[url]


def _owner_is_llama_cpp(client: Any) -> bool:
    try:
        # As plain JSON: the classes for ``client.models`` would be built for this one question.
        options = {"max_retries": 0, "timeout": ASK_OWNER_TIMEOUT_S}
        listed = client.get("/models", cast_to=object, options=options)
        return any(model.get("owned_by") == "llamacpp" for model in listed["data"])
    except Exception:  # a service without a model list, or none at all: the first request will tell
        return False


def name_of(llm: BaseChatModel) -> str:
    """What results call this model."""
    return str(getattr(llm, "model_name", None) or getattr(llm, "model", None) or type(llm).__name__)
