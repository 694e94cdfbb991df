"""The HTTP clients of a service's model: as OpenAI's library makes its own, with one TLS context for both."""

from __future__ import annotations

import asyncio
import gc
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain_core.load import dumps

from agent import Limits, http_clients
from agent.errors import SettingsError
from agent.http_clients import make_clients
from agent.models import load_model
from agent.openai_model import OpenAIModel
from tests.service import Service, status

ROOT = Path(__file__).resolve().parent.parent.parent
PROXY = "http://user:pw@127.0.0.1:9"
SURROUNDINGS: list[dict[str, str]] = [
    {},
    {"HTTP_PROXY": PROXY},
    {"HTTPS_PROXY": PROXY, "NO_PROXY": "127.0.0.1,.example.org"},
    {"ALL_PROXY": PROXY},
    {"ALL_PROXY": PROXY, "NO_PROXY": "*"},
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    proxies = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    for name in (*proxies, *map(str.lower, proxies), "OPENAI_PROXY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def http_of(completions: Any) -> Any:
    return completions._client._client


def tls_of(client: Any) -> ssl.SSLContext:
    context = client._transport._pool._ssl_context
    assert isinstance(context, ssl.SSLContext)
    return context


def properties(client: Any) -> dict[str, Any]:
    """All that decides how a client of httpx reaches a service."""
    tls = tls_of(client)
    pools = [client._transport._pool, *(mount._pool for mount in client._mounts.values() if mount)]
    return {
        "timeout": client.timeout,
        "redirects": (client.follow_redirects, client.max_redirects),
        "trust_env": client.trust_env,
        "connections": [each._max_connections for each in pools],
        "proxies": [
            (key.pattern, mount and (type(mount._pool), str(mount._pool._proxy_url.origin)))
            for key, mount in client._mounts.items()
        ],
        "verify": (tls.verify_mode, tls.check_hostname, tls.minimum_version, tls.options),
        "ciphers": tls.get_ciphers(),
        "authorities": sorted(map(str, tls.get_ca_certs())),
        "key_log": tls.keylog_filename,
    }


@pytest.mark.parametrize("environment", SURROUNDINGS)
def test_they_are_set_up_as_openais_own(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    llm: Any = load_model("m")
    own = openai.OpenAI(timeout=llm.request_timeout)._client
    assert properties(http_of(llm.client)) | {"timeout": None} == properties(own) | {"timeout": None}
    own_async = openai.AsyncOpenAI()._client
    assert properties(http_of(llm.async_client)) == properties(own_async)


def test_they_keep_every_connection_that_they_may_open_for_longer_than_most_tools_take() -> None:
    llm: Any = load_model("m")
    for completions in (llm.client, llm.async_client):
        pool = http_of(completions)._transport._pool
        assert pool._max_keepalive_connections == pool._max_connections
        assert pool._keepalive_expiry > Limits().tool_timeout_s


def test_a_crowd_is_spread_over_pools_and_few_requests_are_not() -> None:
    all_there = threading.Barrier(3 * http_clients._CROWD)

    def meet(request: httpx.Request) -> httpx.Response:
        all_there.wait(60)
        return httpx.Response(200, text="hello")

    client = make_clients(httpx.create_ssl_context())["http_client"]
    client._transport = client._options["transport"] = httpx.MockTransport(meet)
    with ThreadPoolExecutor(all_there.parties) as pool:
        replies = list(pool.map(client.get, ["http://model.invalid"] * all_there.parties))
    assert [reply.text for reply in replies] == ["hello"] * all_there.parties
    assert client._under_way == [0, 0, 0]
    assert len(client._others) == 2

    one_by_one = make_clients(httpx.create_ssl_context())["http_client"]
    one_by_one._transport = httpx.MockTransport(lambda _: httpx.Response(200))
    for _ in range(3 * http_clients._CROWD):
        one_by_one.get("http://model.invalid")
    assert one_by_one._others == []


def test_a_request_that_fails_leaves_its_place() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody there", request=request)

    client = make_clients(httpx.create_ssl_context())["http_client"]
    client._transport = httpx.MockTransport(fail)
    with pytest.raises(httpx.ConnectError):
        client.get("http://model.invalid")
    assert client._under_way == [0]


def test_both_share_one_tls_context() -> None:
    llm: Any = load_model("m")
    assert tls_of(http_of(llm.client)) is tls_of(http_of(llm.async_client))


def test_each_request_has_the_models_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MODEL_TIMEOUT_S", "7")
    seen: list[Any] = []
    with Service(["hello"]) as service:
        llm: Any = load_model("m", service.url)
        http_of(llm.client).event_hooks = {"request": [lambda sent: seen.append(sent.extensions["timeout"])]}
        llm.invoke("hi")
    assert seen == [dict.fromkeys(("connect", "read", "write", "pool"), 7)]


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY", "OPENAI_PROXY"])
def test_a_proxy_of_the_environment_is_used(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(["hello", "again"]) as proxy:
        monkeypatch.setenv(variable, proxy.url)
        llm = load_model("m", "http://model.invalid/v1")
        assert llm.invoke("hi").content == "hello"
        assert asyncio.run(llm.ainvoke("hi")).content == "again"
        assert [headers["Host"] for headers in proxy.headers] == ["model.invalid"] * 2


def test_no_proxy_keeps_an_address_from_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Service(["hello"]) as service:
        assert load_model("m", service.url).invoke("hi").content == "hello"


def test_requests_to_this_process_use_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", PROXY)
    monkeypatch.setenv("OPENAI_PROXY", PROXY)
    for client in make_clients(httpx.create_ssl_context(), ours=True).values():
        assert (client.trust_env, client._mounts) == (False, {})


def test_a_redirect_is_followed() -> None:
    with Service(["hello"]) as there:
        moved = status(308, {}, {"Location": f"{there.url}/chat/completions"})
        with Service([moved]) as here:
            assert load_model("m", here.url).invoke("hi").content == "hello"


@pytest.fixture
def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, which nobody vouches for."""
    program = shutil.which("openssl")
    if not program:
        pytest.skip("makes a certificate with the openssl program, which is not here")
    file = folder / "own.pem"
    wish = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=own -addext subjectAltName=IP:127.0.0.1"
    command = [program, *wish.split(), "-keyout", "key.pem", "-out", "own.pem"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return file


@pytest.fixture
def secure(certificate: Path) -> Iterator[str]:
    """The address of a service over TLS that says hello, whoever asks."""
    with Service(["hello", "again"]) as service:
        server = service._server
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_name("key.pem"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        yield service.url.replace("http:", "https:")


def test_a_certificate_that_nobody_vouches_for_is_refused(secure: str) -> None:
    llm = load_model("m", secure)
    with pytest.raises(openai.APIConnectionError) as caught:
        llm.invoke("hi")
    assert "CERTIFICATE_VERIFY_FAILED" in str(caught.value.__cause__)
    with pytest.raises(openai.APIConnectionError):
        asyncio.run(llm.ainvoke("hi"))


def test_the_environment_names_an_authority(
    secure: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    llm = load_model("m", secure)
    assert llm.invoke("hi").content == "hello"
    assert asyncio.run(llm.ainvoke("hi")).content == "again"


def test_a_certificate_for_another_name_is_refused(
    secure: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(openai.APIConnectionError) as caught:
        load_model("m", secure.replace("127.0.0.1", "localhost")).invoke("hi")
    assert "Hostname mismatch" in str(caught.value.__cause__)


def test_certificates_that_cannot_be_read_are_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "notes.pem").write_text("not one certificate", encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "notes.pem"))
    with pytest.raises(SettingsError, match="SSL_CERT_FILE"):
        load_model("m")


def test_connections_are_closed_with_the_last_user_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    llm: Any = load_model("m")
    client = llm.client._client.with_options(max_retries=1)
    monkeypatch.setattr(http_of(llm.client)._transport, "close", lambda: closed.append("closed"))
    del llm
    gc.collect()
    assert closed == []
    del client
    gc.collect()
    assert closed == ["closed"]


def test_an_asynchronous_client_is_closed_while_its_loop_runs() -> None:
    async def closes() -> bool:
        clients = make_clients(httpx.create_ssl_context())
        closed = asyncio.Event()

        async def close() -> None:
            closed.set()

        clients["http_async_client"]._transport.aclose = close
        clients.clear()
        gc.collect()
        return await asyncio.wait_for(closed.wait(), 10)

    assert asyncio.run(closes())


def test_what_langchain_knows_a_model_by_is_the_same_for_two_alike() -> None:
    assert dumps(load_model("m")) == dumps(load_model("m"))
    assert "httpx" not in repr(load_model("m"))


def test_a_client_that_is_handed_in_is_used() -> None:
    with httpx.Client() as client:
        llm = OpenAIModel(api_key="none", http_client=client)
        assert http_of(llm.client) is client


UNUSABLE = {
    "OPENAI_PROXY": "http://user:canary-pw@127.0.0.1:80x",
    "HTTPS_PROXY": "http://user:canary-pw@127.0.0.1:80x",
    "ALL_PROXY": "gopher://user:canary-pw@127.0.0.1",
    "SSLKEYLOGFILE": "missing/keys",
}


@pytest.mark.parametrize("name", [*UNUSABLE, "NO_PROXY"])
def test_what_no_client_can_be_built_with_is_said_with_its_variable(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, UNUSABLE.get(name, "localhost,[::1]"))  # many have it in NO_PROXY

    with pytest.raises(SettingsError, match=name) as raised:
        load_model("gpt-4o")
    assert "canary-pw" not in str(raised.value)


def test_a_model_can_be_had_when_the_main_thread_is_over() -> None:
    code = (
        "import threading, langchain_openai\nfrom agent import load_model\n"  # its import may not be late
        "def late():\n    threading.main_thread().join()\n    print(type(load_model('gpt-4o')).__name__)\n"
        "threading.Thread(target=late).start()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, cwd=ROOT, check=False
    )

    assert (done.stdout, done.stderr) == ("OpenAIModel\n", "")
