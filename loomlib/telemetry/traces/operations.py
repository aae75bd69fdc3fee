"""Classify spans: by `gen_ai.operation.name`, or by name and kind where that is missing.

The rules come from the source of Strands and of the botocore instrumentation; OpenInference's
`openinference.span.kind` is read too. A span's name alone never overrides a stated operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPERATIONS = ("server", "invoke_agent", "cycle", "chat", "execute_tool", "memory", "other")
"""The kinds of work that a span can stand for."""

_STATED = {
    "execute_event_loop_cycle": "cycle",
    "chat": "chat",
    "text_completion": "chat",
    "generate_content": "chat",
    "execute_tool": "execute_tool",
    "create_agent": "other",
    "embeddings": "other",
}
_OPEN_INFERENCE = {"LLM": "chat", "TOOL": "execute_tool", "AGENT": "invoke_agent"}
_FIRST_WORDS = {
    "chat": "chat",
    "execute_tool": "execute_tool",
    "invoke_agent": "invoke_agent",
    "execute_event_loop_cycle": "cycle",
}
_AGENTCORE = "bedrock agentcore"
_MEMORY_CALLS = frozenset({"listevents", "createevent", "getevent", "deleteevent", "listactors", "listsessions"})


def operation_of(name: str, kind: str, attributes: Mapping[str, Any]) -> str:
    """Return a span's operation, one of `OPERATIONS`.

    Args:
        name: The span's name.
        kind: The span's kind.
        attributes: The span's attributes.
    """
    stated = attributes.get("gen_ai.operation.name")
    if stated is not None:
        operation = _STATED.get(stated) if type(stated) is str else None
        if operation is not None:
            return operation
        text = str(stated)
        if text.startswith("invoke_"):
            return "invoke_agent"
        if "memory" in text:
            return "memory"
    if kind == "server":
        return "server"
    role = attributes.get("openinference.span.kind")
    if stated is None and type(role) is str and role in _OPEN_INFERENCE:
        return _OPEN_INFERENCE[role]
    if kind == "client" and _is_memory_call(name, attributes):
        return "memory"
    if stated is None:
        return _FIRST_WORDS.get(name.partition(" ")[0], "other")
    return "other"


def _is_memory_call(name: str, attributes: Mapping[str, Any]) -> bool:
    """Return whether a span is a call to AgentCore Memory.

    Agents call it through boto3: `Bedrock AgentCore.ListEvents`, `….RetrieveMemoryRecords`, …
    """
    service, _, call = name.partition(".")
    stated = attributes.get("rpc.service")
    if stated is not None:
        service, call = str(stated), str(attributes.get("rpc.method") or call)
    if service.lower() != _AGENTCORE:
        return False
    call = call.lower()
    return call in _MEMORY_CALLS or "memory" in call
