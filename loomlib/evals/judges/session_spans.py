"""A session's spans for Evaluate: those that the agent exported, or ones written from its answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from .material import PART_LIMIT, folded, readable
from .trajectory_text import RESULT_LIMIT

_SCOPE = {"name": "strands.telemetry.tracer", "version": ""}
_BEGIN_NS = 1_700_000_000_000_000_000
_SECOND_NS = 1_000_000_000


class SpanSource(Protocol):
    """Gives the spans and message records of an answer's sessions, in ADOT's split form (aws/spans and otel-rt-logs).

    A workbench reads them from the agent's log groups. None: there are none (yet).
    """

    def __call__(self, case: EvalCase, answer: CaseAnswer, /) -> Awaitable[Sequence[Mapping[str, Any]] | None]: ...


def spans_from_answer(case: EvalCase, answer: CaseAnswer) -> list[dict[str, Any]]:
    """Spans that say what the answer says: one trace a turn, its agent, its tool calls, and their messages.

    Ids follow from the case and the turn; times only say what came after what. So a target that exports nothing can be
    evaluated, and so can an agent whose spans are not there yet.
    """
    session_id = session_of(case, answer)
    found: list[dict[str, Any]] = []
    for at, turn in enumerate(answer.turns):
        trace_id = trace_of(case, answer, at)
        begin = _BEGIN_NS + at * 60 * _SECOND_NS
        agent = _id(f"{trace_id} agent", 16)
        prompt = case.turns[at].prompt if at < len(case.turns) else case.prompt if at == 0 else ""
        for number, use in enumerate(turn.tools or ()):
            span_id = span_of(trace_id, number)
            start = begin + (number + 1) * _SECOND_NS
            attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": use.name}
            attributes["gen_ai.tool.call.id"] = f"call_{number}"
            if use.status:
                attributes["gen_ai.tool.status"] = use.status
            name = f"execute_tool {use.name}"
            found.append(_span(name, trace_id, span_id, agent, start, session_id, attributes))
            given, result = _plain(dict(use.arguments or {})), _plain(use.result)
            said = {"content": {"content": given, "role": "tool", "id": f"call_{number}"}, "role": "tool"}
            told = {"content": {"message": result, "id": f"call_{number}"}, "role": "assistant"}
            found.append(_record(trace_id, span_id, start, said, told))
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "agent"}
        found.append(_span("invoke_agent agent", trace_id, agent, "", begin, session_id, attributes))
        asked = {"content": {"content": json.dumps([{"text": prompt}])}, "role": "user"}
        answered = {
            "content": {"message": readable(folded(turn.text, PART_LIMIT)), "finish_reason": "end_turn"},
            "role": "assistant",
        }
        found.append(_record(trace_id, agent, begin, asked, answered))
    return found


def session_of(case: EvalCase, answer: CaseAnswer) -> str:
    """The session's id; one made of the case's where nobody knows it."""
    return next((turn.session_id for turn in answer.turns if turn.session_id), f"case-{_id(case.id, 32)}")


def trace_of(case: EvalCase, answer: CaseAnswer, turn: int) -> str:
    """The trace id of a turn (32 hexadecimal digits); made up where nobody knows it."""
    known = answer.turns[turn].trace_id
    return known if len(known) == 32 else _id(f"{session_of(case, answer)} {turn}", 32)


def span_of(trace_id: str, call: int) -> str:
    """The made-up id of the span of a trace's n-th tool call."""
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
    trace_id: str, span_id: str, at_ns: int, said: Mapping[str, Any], told: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "resource": {"attributes": {"service.name": "loom"}},
        "scope": dict(_SCOPE),
        "timeUnixNano": at_ns,
        "observedTimeUnixNano": at_ns,
        "severityNumber": 9,
        "severityText": "",
        "body": {"output": {"messages": [dict(told)]}, "input": {"messages": [dict(said)]}},
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
