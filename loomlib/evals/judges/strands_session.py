"""Convert a case and its answer to the values of strands_evals."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from ..values.answers import CaseAnswer, TurnAnswer, prompts_of
from ..values.cases import EvalCase
from .judge_input import of_case
from .material import PART_LIMIT, folded, readable
from .trajectory_text import RESULT_LIMIT

_BEGIN = datetime(2000, 1, 1, tzinfo=UTC)


def evaluation_data(library: Any, evaluator: str, case: EvalCase, answer: CaseAnswer) -> Any:
    """Return the `EvaluationData` for an evaluator.

    Args:
        library: The package strands_evals.
        evaluator: The evaluator's name, one of `STRANDS_EVALUATORS`.
        case: The case.
        answer: The answer to it.
    """
    from_case = {
        "Correctness": case.expected_answer,
        "GoalSuccessRate": "\n".join(case.assertions) or None,
    }
    expected = case.expected_tools
    trajectory: Any = session_of(library, case, answer)
    if evaluator == "Trajectory":
        trajectory = [
            {"name": use.name, "arguments": dict(use.arguments or {}), "result": _plain(use.result)}
            for use in answer.tools or ()
        ]
    return library.types.evaluation.EvaluationData(
        input=_excerpt(of_case(case, answer).prompt or ""),  # with the conversation before the last answer
        actual_output=_excerpt(answer.text),
        name=case.id,
        expected_output=case.expected_answer,
        expected_assertion=from_case.get(evaluator),
        expected_trajectory=None if expected is None else [tool.name for tool in expected],
        actual_trajectory=trajectory,
    )


def session_of(library: Any, case: EvalCase, answer: CaseAnswer) -> Any:
    """Return the conversation as a `Session` with one trace for each turn; times only give the order.

    Args:
        library: The imported package `strands_evals`.
        case: The case.
        answer: Its answer.
    """
    types: Any = library.types.trace
    session_id = next((turn.session_id for turn in answer.turns if turn.session_id), "session")
    prompts = prompts_of(case, answer)
    traces = [
        types.Trace(
            trace_id=turn.trace_id or f"turn-{index + 1}",
            session_id=session_id,
            spans=_spans(types, prompts[index] if index < len(prompts) else "", turn, index, session_id),
        )
        for index, turn in enumerate(answer.turns)
    ]
    return types.Session(traces=traces, session_id=session_id)


def _spans(types: Any, prompt: str, turn: TurnAnswer, number: int, session_id: str) -> list[Any]:
    begin = _BEGIN + timedelta(minutes=number)
    tools = turn.tools or ()

    def info(span_id: str, index: int, parent: str | None = None) -> Any:
        return types.SpanInfo(
            trace_id=turn.trace_id or f"turn-{number + 1}",
            span_id=span_id,
            session_id=session_id,
            parent_span_id=parent,
            start_time=begin + timedelta(seconds=index),
            end_time=begin + timedelta(seconds=index, milliseconds=500),
        )

    agent = types.AgentInvocationSpan(
        span_info=info(f"agent-{number}", 0),
        user_prompt=prompt,
        agent_response=_excerpt(turn.text),
        available_tools=[types.ToolConfig(name=name) for name in dict.fromkeys(use.name for use in tools)],
    )
    calls = [
        types.ToolExecutionSpan(
            span_info=info(f"tool-{number}-{index}", index + 1, f"agent-{number}"),
            tool_call=types.ToolCall(
                name=use.name, arguments=dict(use.arguments or {}), tool_call_id=f"{number}-{index}"
            ),
            tool_result=types.ToolResult(
                content=_plain(use.result),
                error="the tool failed" if use.status == "error" else None,
                tool_call_id=f"{number}-{index}",
            ),
        )
        for index, use in enumerate(tools)
    ]
    return [agent, *calls]


def _excerpt(text: str) -> str:
    return readable(folded(text, PART_LIMIT))


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, default=repr)
    return readable(folded(text, RESULT_LIMIT))
