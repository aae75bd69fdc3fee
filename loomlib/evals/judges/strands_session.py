"""A case and its answer in strands_evals' own values."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from ..values.answers import CaseAnswer, TurnAnswer
from ..values.cases import EvalCase
from .judge_input import prompts_of
from .material import PART_LIMIT, folded, readable
from .trajectory_text import RESULT_LIMIT

_BEGIN = datetime(2000, 1, 1, tzinfo=UTC)


def evaluation_data(library: Any, evaluator: str, case: EvalCase, answer: CaseAnswer) -> Any:
    """The `EvaluationData` that an evaluator is given; `library` is the package strands_evals."""
    from_case = {
        "Correctness": case.expected_answer,
        "GoalSuccessRate": "\n".join(case.assertions) or None,
    }
    expected = case.expected_tools
    path: Any = session_of(library, case, answer)
    if evaluator == "Trajectory":
        path = [
            {"name": use.name, "arguments": dict(use.arguments or {}), "result": _plain(use.result)}
            for use in answer.tools or ()
        ]
    return library.types.evaluation.EvaluationData(
        input=case.prompt,
        actual_output=_shown(answer.text),
        name=case.id,
        expected_output=case.expected_answer,
        expected_assertion=from_case.get(evaluator),
        expected_trajectory=None if expected is None else [each.name for each in expected],
        actual_trajectory=path,
    )


def session_of(library: Any, case: EvalCase, answer: CaseAnswer) -> Any:
    """The conversation as a `Session`: one trace a turn. Its times only say what came after what."""
    types: Any = library.types.trace
    session_id = next((turn.session_id for turn in answer.turns if turn.session_id), "session")
    asked = prompts_of(case, answer)
    traces = [
        types.Trace(
            trace_id=turn.trace_id or f"turn-{at + 1}",
            session_id=session_id,
            spans=_spans(types, asked[at] if at < len(asked) else "", turn, at, session_id),
        )
        for at, turn in enumerate(answer.turns)
    ]
    return types.Session(traces=traces, session_id=session_id)


def _spans(types: Any, prompt: str, turn: TurnAnswer, number: int, session_id: str) -> list[Any]:
    begin = _BEGIN + timedelta(minutes=number)
    tools = turn.tools or ()

    def info(span_id: str, at: int, parent: str | None = None) -> Any:
        return types.SpanInfo(
            trace_id=turn.trace_id or f"turn-{number + 1}",
            span_id=span_id,
            session_id=session_id,
            parent_span_id=parent,
            start_time=begin + timedelta(seconds=at),
            end_time=begin + timedelta(seconds=at, milliseconds=500),
        )

    agent = types.AgentInvocationSpan(
        span_info=info(f"agent-{number}", 0),
        user_prompt=prompt,
        agent_response=_shown(turn.text),
        available_tools=[types.ToolConfig(name=name) for name in dict.fromkeys(use.name for use in tools)],
    )
    calls = [
        types.ToolExecutionSpan(
            span_info=info(f"tool-{number}-{at}", at + 1, f"agent-{number}"),
            tool_call=types.ToolCall(name=use.name, arguments=dict(use.arguments or {}), tool_call_id=f"{number}-{at}"),
            tool_result=types.ToolResult(
                content=_plain(use.result),
                error="the tool failed" if use.status == "error" else None,
                tool_call_id=f"{number}-{at}",
            ),
        )
        for at, use in enumerate(tools)
    ]
    return [agent, *calls]


def _shown(text: str) -> str:
    return readable(folded(text, PART_LIMIT))


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, default=repr)
    return readable(folded(text, RESULT_LIMIT))
