"""Spans of a session for Evaluate: those that the agent exported, or spans generated from its answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final, Protocol

from ..values.answers import CaseAnswer, prompts_of
from ..values.cases import EvalCase
from .material import PART_LIMIT, folded, readable
from .trajectory_text import RESULT_LIMIT

_SCOPE = {"name": "strands.telemetry.tracer", "version": ""}
_BEGIN_NS = 1_700_000_000_000_000_000
_SECOND_NS = 1_000_000_000
SPANS_VERSION: Final = "2"
"""Version of the generated spans, part of the digest of judges by them; version 1 lacked a simulated user's prompts."""


class SessionSpanReader(Protocol):
    """Reads the spans and message records of an answer's sessions, in ADOT's split form (aws/spans and otel-rt-logs).

    Returns None when there are none (yet).
    """

    def __call__(self, case: EvalCase, answer: CaseAnswer, /) -> Awaitable[Sequence[Mapping[str, Any]] | None]:
        """Return the spans of the answer's sessions, or None."""
        ...


def spans_from_answer(case: EvalCase, answer: CaseAnswer) -> list[dict[str, Any]]:
    """Generate spans from an answer: one trace for each turn, with its agent span, its tool calls and their messages.

    Ids are derived from the case and the turn; times only give the order. With these spans Evaluate can judge a target
    that exports nothing, or whose spans have not arrived yet.
    """
    session_id, prompts = session_of(case, answer), prompts_of(case, answer)
    spans: list[dict[str, Any]] = []
    for index, turn in enumerate(answer.turns):
        trace_id = trace_of(case, answer, index)
        begin = _BEGIN_NS + index * 60 * _SECOND_NS
        agent = _id(f"{trace_id} agent", 16)
        prompt = prompts[index] if index < len(prompts) else ""
        for number, use in enumerate(turn.tools or ()):
            span_id = span_of(trace_id, number)
            start = begin + (number + 1) * _SECOND_NS
            attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": use.name}
            attributes["gen_ai.tool.call.id"] = f"call_{number}"
            if use.status:
                attributes["gen_ai.tool.status"] = use.status
            name = f"execute_tool {use.name}"
            spans.append(_span(name, trace_id, span_id, agent, start, session_id, attributes))
            arguments, result = _plain(dict(use.arguments or {})), _plain(use.result)
            request = {"content": {"content": arguments, "role": "tool", "id": f"call_{number}"}, "role": "tool"}
            response = {"content": {"message": result, "id": f"call_{number}"}, "role": "assistant"}
            spans.append(_record(trace_id, span_id, start, request, response))
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "agent"}
        spans.append(_span("invoke_agent agent", trace_id, agent, "", begin, session_id, attributes))
        question = {"content": {"content": json.dumps([{"text": prompt}])}, "role": "user"}
        reply = {
            "content": {"message": readable(folded(turn.text, PART_LIMIT)), "finish_reason": "end_turn"},
            "role": "assistant",
        }
        spans.append(_record(trace_id, agent, begin, question, reply))
    return spans


def session_of(case: EvalCase, answer: CaseAnswer) -> str:
    """Return the session id, or one derived from the case id when it is unknown."""
    return next((turn.session_id for turn in answer.turns if turn.session_id), f"case-{_id(case.id, 32)}")


def trace_of(case: EvalCase, answer: CaseAnswer, turn: int) -> str:
    """Return the trace id of a turn (32 hexadecimal digits), or a derived one when it is unknown.

    Args:
        case: The case.
        answer: Its answer.
        turn: The turn's index, from 0.
    """
    trace_id = answer.turns[turn].trace_id
    return trace_id if len(trace_id) == 32 else _id(f"{session_of(case, answer)} {turn}", 32)


def span_of(trace_id: str, call: int) -> str:
    """Return the derived id of the span of a trace's n-th tool call."""
    return _id(f"{trace_id} tool {call}", 16)


def _span(
    name: str,
    trace_id: str,
    span_id: str,
    parent: str,
    start_ns: int,
    session_id: str,
    attributes: Mapping[str, Any],
) -> dict[str, Any]:
    end_ns = start_ns + (30 * _SECOND_NS if not parent else _SECOND_NS // 2)
    return {
        "resource": {"attributes": {"service.name": "loom"}},
        "scope": dict(_SCOPE),
        "traceId": trace_id,
        "spanId": span_id,
        **({"parentSpanId": parent} if parent else {}),
        "flags": 1,
        "name": name,
        "kind": "INTERNAL",
        "startTimeUnixNano": start_ns,
        "endTimeUnixNano": end_ns,
        "durationNano": end_ns - start_ns,
        "attributes": {"gen_ai.system": "strands-agents", "session.id": session_id, **attributes},
        "status": {"code": "OK"},
    }


def _record(
    trace_id: str, span_id: str, at_ns: int, request: Mapping[str, Any], response: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "resource": {"attributes": {"service.name": "loom"}},
        "scope": dict(_SCOPE),
        "timeUnixNano": at_ns,
        "observedTimeUnixNano": at_ns,
        "severityNumber": 9,
        "severityText": "",
        "body": {"output": {"messages": [dict(response)]}, "input": {"messages": [dict(request)]}},
        "attributes": {"event.name": "strands.telemetry.tracer"},
        "flags": 1,
        "traceId": trace_id,
        "spanId": span_id,
    }


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, default=repr)
    return readable(folded(text, RESULT_LIMIT))


def _id(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
