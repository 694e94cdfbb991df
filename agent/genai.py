"""What LangChain tells of a run, as attributes in the words of OpenTelemetry's GenAI semantic conventions.

Names and values are those of github.com/open-telemetry/semantic-conventions-genai, as they stand in
``gen_ai_attributes`` of opentelemetry-semantic-conventions 0.66b2; a test compares them. They are written
down here because that package keeps them private while the conventions are in development.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult

from agent.client import read_reply, text_of
from agent.records import cleaned
from agent.results import RunResult, Usage

INVOKE_AGENT, CHAT, EXECUTE_TOOL = "invoke_agent", "chat", "execute_tool"  # values of OPERATION

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_STOP_SEQUENCES = "gen_ai.request.stop_sequences"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons"
USAGE_INPUT_TOKENS = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_DESCRIPTION = "gen_ai.tool.description"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT = "gen_ai.tool.call.result"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"

# The conventions have no word for how an agent's run ended, so these are in a namespace of our own.
STOP_REASON = "open_agent_loop.stop_reason"
FORCED = "open_agent_loop.forced"
STEPS = "open_agent_loop.steps"

Attributes = dict[str, Any]

# What LangChain calls a kind of chat model (``_llm_type``), where the conventions know its provider; any
# other kind is its own provider's name.
_PROVIDERS = {
    "openai-chat": "openai",
    "azure-openai-chat": "azure.ai.openai",
    "anthropic-chat": "anthropic",
    "groq-chat": "groq",
    "mistralai-chat": "mistral_ai",
}
_ROLES = {"human": "user", "ai": "assistant"}  # the others have the same names


def request_attributes(serialized: Mapping[str, Any] | None, params: Mapping[str, Any]) -> Attributes:
    """Of a chat span: which model is asked, where, and with which options; what is not known is left out."""
    kind = str(params.get("_type") or "unknown")
    known = {
        PROVIDER: _PROVIDERS.get(kind, kind),
        REQUEST_MODEL: params.get("model") or params.get("model_name"),
        REQUEST_TEMPERATURE: _number(params.get("temperature")),
        REQUEST_MAX_TOKENS: _number(params.get("max_tokens")),
        REQUEST_STOP_SEQUENCES: [str(word) for word in params.get("stop") or ()] or None,
        **_server(serialized),
    }
    return _without_gaps(known)


def reply_attributes(response: LLMResult) -> Attributes:
    """Of a chat span: what came back. The model is the one that LangChain names for the reply."""
    output, message = response.llm_output or {}, message_of(response)
    reply = read_reply(message, 0) if message else None
    known = {
        RESPONSE_MODEL: output.get("model_name"),
        RESPONSE_FINISH_REASONS: [reply.finish_reason] if reply and reply.finish_reason else None,
        **(usage_attributes(reply.usage) if reply else {}),
    }
    return _without_gaps(known)


def message_of(response: LLMResult) -> BaseMessage | None:
    generations = response.generations
    return getattr(generations[0][0], "message", None) if generations and generations[0] else None


def usage_attributes(usage: Usage) -> Attributes:
    counts = {USAGE_INPUT_TOKENS: usage.prompt_tokens, USAGE_OUTPUT_TOKENS: usage.completion_tokens}
    return _without_gaps(counts)


def tool_attributes(serialized: Mapping[str, Any], call_id: str) -> Attributes:
    """Of an execute_tool span; the text protocol knows no call ids."""
    known = {
        TOOL_NAME: serialized.get("name"),
        TOOL_TYPE: "function",
        TOOL_DESCRIPTION: written(serialized.get("description") or ""),
        TOOL_CALL_ID: call_id or None,
    }
    return _without_gaps(known)


def end_attributes(result: RunResult) -> Attributes:
    """Of an invoke_agent span: why the run stopped, and how many steps it took."""
    return {STOP_REASON: str(result.stop_reason), FORCED: result.forced, STEPS: len(result.steps)}


def call_id_of(calls: Sequence[Mapping[str, Any]], name: str, given: object) -> str:
    """Which of a reply's native calls a tool was started for; empty where it cannot be told.

    LangChain tells a handler a call's name and arguments, but not its id.
    """
    same = [call for call in calls if call["name"] == name]
    alike = [call for call in same if given in (call["args"], *call["args"].values())]
    candidates = alike or same
    return str(candidates[0]["id"] or "") if alike or len(candidates) == 1 else ""


# --- content: what may be personal, and is told only on request -----------------------------------------


def written(content: object) -> str:
    """A text as it is, anything else as JSON; without known secrets, and nothing that UTF-8 cannot carry."""
    clean = cleaned(content)
    text = clean if isinstance(clean, str) else json.dumps(clean, ensure_ascii=False, default=repr)
    return text.encode("utf-8", errors="replace").decode("utf-8")


def input_messages(messages: Sequence[BaseMessage]) -> str:
    return written([{"role": _role(message), "parts": _parts(message)} for message in messages])


def output_messages(message: BaseMessage, finish_reason: str) -> str:
    return written([{"role": "assistant", "parts": _parts(message), "finish_reason": finish_reason}])


def _role(message: BaseMessage) -> str:
    return _ROLES.get(message.type, message.type)


def _parts(message: BaseMessage) -> list[dict[str, Any]]:
    text = text_of(message.content)
    if isinstance(message, ToolMessage):
        return [{"type": "tool_call_response", "id": message.tool_call_id, "response": text}]
    calls = [
        {"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": call["args"]}
        for kind in ("tool_calls", "invalid_tool_calls")
        for call in getattr(message, kind, ())
    ]
    return [{"type": "text", "content": text}, *calls] if text else calls


# --- small helps ------------------------------------------------------------------------------------------


def _server(serialized: Mapping[str, Any] | None) -> Attributes:
    base_url = ((serialized or {}).get("kwargs") or {}).get("openai_api_base")
    try:
        parts = urlsplit(base_url if isinstance(base_url, str) else "")
        return {SERVER_ADDRESS: parts.hostname, SERVER_PORT: parts.port}
    except ValueError:  # no address at all; the request itself will say so
        return {}


def _number(value: object) -> int | float | None:
    """A value may be a marker of the client's for what is not sent."""
    return value if isinstance(value, (int, float)) else None


def _without_gaps(attributes: Attributes) -> Attributes:
    return {name: value for name, value in attributes.items() if value is not None}
