"""Turns of Bedrock agents with their traces, and the members that most agents of the tests have."""

from __future__ import annotations

import contextlib
import uuid
from typing import Any

from tests.service.conftest import Aws

ROLE = "arn:aws:iam::123456789012:role/agents"
MODEL = "amazon.nova-pro-v1:0"
INSTRUCTION = "You help the customers of a shop with their orders and with its rules."
WEATHER = {
    "functions": [
        {
            "name": "get_weather",
            "description": "Returns the weather in a city",
            "parameters": {"city": {"type": "string", "description": "The city", "required": True}},
        }
    ]
}


def invoked(aws: Aws, agent: str, text: str = "", *, alias: str = "TSTALIASID", **more: Any) -> dict[str, Any]:
    """Invoke an agent; return its text, trace, citations, files, return of control and session."""
    arguments = {"sessionId": uuid.uuid4().hex, "enableTrace": True, **more}
    if text:
        arguments["inputText"] = text
    answer = aws.client("bedrock-agent-runtime").invoke_agent(agentId=agent, agentAliasId=alias, **arguments)
    result: dict[str, Any] = {"text": "", "trace": [], "control": None, "session": answer["sessionId"], "cited": []}
    result["files"] = []
    with contextlib.closing(answer["completion"]) as events:
        for event in events:
            if "chunk" in event:
                result["text"] += event["chunk"]["bytes"].decode()
                result["cited"] += event["chunk"].get("attribution", {}).get("citations", [])
            elif "returnControl" in event:
                result["control"] = event["returnControl"]
            elif "files" in event:
                result["files"] += event["files"]["files"]
            else:
                result["trace"].append(event["trace"])
    return result


def steps(result: dict[str, Any]) -> list[str]:
    """The kinds of a trace's events in order."""
    return [next(iter(inner)) for event in result["trace"] for inner in event["trace"].values()]


def of_kind(result: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [inner[kind] for event in result["trace"] for inner in event["trace"].values() if kind in inner]
