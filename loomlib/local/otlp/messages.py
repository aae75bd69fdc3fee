"""Move a span's conversation from events to a log record, as AWS's distribution of OpenTelemetry does.

Only events of the convention that ends with gen_ai.choice are taken out. Under the later convention the conversation is
in attributes and in gen_ai.client.inference.operation.details, which stay on the span.
"""

from __future__ import annotations

from typing import Any

_INPUT_ROLES = {"gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.tool.message": "tool"}
_OUTPUT_EVENTS = frozenset({"gen_ai.assistant.message", "gen_ai.choice"})
_TOOL_RESULT = "tool.result"
_INFO = 9


def split_messages(span: dict[str, Any], scope_name: str, session_id: str) -> dict[str, Any] | None:
    """Move the conversation's events from a span to a log record.

    The span is changed in place.

    Args:
        span: The span, as the service stores it.
        scope_name: The name of the span's instrumentation scope.
        session_id: The runtime session.

    Returns:
        The log record that carries the events; None when there are none.
    """
    events: list[dict[str, Any]] | None = span.get("events")
    if not events:
        return None
    input_messages: list[dict[str, Any]] = []
    output_messages: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for event in events:
        name, content = event["name"], event["attributes"]
        if role := _INPUT_ROLES.get(name):
            input_messages.append({"role": role, "content": content})
        elif name in _OUTPUT_EVENTS:
            output_messages.append({"role": "assistant", "content": content})
            if name == "gen_ai.choice" and _TOOL_RESULT in content:
                output_messages.append({"role": "assistant", "content": content[_TOOL_RESULT]})
        else:
            others.append(event)
    if not input_messages and not output_messages:
        return None
    if others:
        span["events"] = others
    else:
        del span["events"]
    body: dict[str, Any] = {}
    if input_messages:
        body["input"] = {"messages": input_messages}
    if output_messages:
        body["output"] = {"messages": output_messages}
    attributes = {"event.name": scope_name} | ({"session.id": session_id} if session_id else {})
    return {
        "timeUnixNano": span["endTimeUnixNano"],
        "observedTimeUnixNano": span["endTimeUnixNano"],
        "severityNumber": _INFO,
        "severityText": "",
        "body": body,
        "attributes": attributes,
        "flags": 1,
        "traceId": span["traceId"],
        "spanId": span["spanId"],
    }
