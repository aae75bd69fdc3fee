"""The scripted model's reply: a simulation without weights that answers equal requests equally."""

from __future__ import annotations

import hashlib
import json

from ..json_values import as_object
from ..refusals import ModelRefusedError
from ..reply import Reply, within_limits
from ..request import ConverseRequest, ModelToolCall, ToolOutcome
from .agent_steps import step_reply
from .answers import answer_with_results, answer_without_tools
from .choosing import CallPlan, CandidateCall, call_key, plan_calls
from .filling import MISSING, fill_anyway
from .judging import judge_reply
from .memories import is_memory_tool, memory_call, referred
from .roles import role_call, summary

_THRESHOLDS = (2.5, 1.0, 0.3)


def scripted_reply(request: ConverseRequest) -> Reply:
    """Reply to a request with the remaining tool calls, otherwise with text."""
    return within_limits(_unlimited(request), request)


def _unlimited(request: ConverseRequest) -> Reply:
    judged = judge_reply(request)
    if judged is not None:
        tool, verdict = judged
        if tool is None:
            return Reply(text=json.dumps(verdict, ensure_ascii=False))
        return Reply(calls=_with_ids(request, [CandidateCall(tool=tool, arguments=verdict)]))
    in_role = role_call(request)
    if in_role is not None:
        return Reply(calls=_with_ids(request, [CandidateCall(tool=in_role[0], arguments=in_role[1])]))
    summarized = summary(request)
    if summarized is not None:
        return Reply(text=summarized)
    if (step := step_reply(request)) is not None:
        return Reply(text=step)
    past_calls = _made_calls(request)
    plan = _plan(request)
    past_keys = {call_key(call.name, dict(call.arguments)) for call, _ in past_calls}
    due = [call for call in plan.calls if call.key not in past_keys]
    if request.choice != "auto":
        return _forced(request, due)
    if due:
        return Reply(calls=_with_ids(request, due))
    if request.output_schema is not None:
        value = fill_anyway(request.output_schema, _evidence(request))
        return Reply(text=json.dumps({} if value is MISSING else value, ensure_ascii=False))
    if past_calls:
        return Reply(text=answer_with_results(request, past_calls, plan.unfilled), is_prose=True)
    return Reply(text=answer_without_tools(request, plan.unfilled), is_prose=True)


def _plan(request: ConverseRequest) -> CallPlan:
    question = request.turns[request.newest_question]
    before = [call.name for turn in request.turns[: request.newest_question] for call in turn.calls]
    answers = [turn.text for turn in request.turns[: request.newest_question] if turn.role == "assistant" and turn.text]
    prompt = referred(question.text, answers[-1]) if answers else question.text
    plan = plan_calls(prompt, request.tools, previous=before[-1] if before else None)
    lookup = memory_call(question.text, request.tools)
    if lookup is None or any(is_memory_tool(call.tool.name) for call in plan.calls):
        return plan
    unfilled = tuple(entry for entry in plan.unfilled if entry.tool.name != lookup.tool.name)
    return CallPlan(calls=(*plan.calls, lookup), unfilled=unfilled)


def _made_calls(request: ConverseRequest) -> list[tuple[ModelToolCall, ToolOutcome]]:
    """Return the calls since the newest question, with their results."""
    since = request.turns[request.newest_question :]
    outcomes = {outcome.id: outcome for turn in since for outcome in turn.outcomes}
    return [(call, outcomes[call.id]) for turn in since for call in turn.calls if call.id in outcomes]


def _forced(request: ConverseRequest, due: list[CandidateCall]) -> Reply:
    """Plan the call that `toolChoice` demands: the one that fits best, completed with default values."""
    if request.choice == "any" and due:
        return Reply(calls=_with_ids(request, due))
    forced_calls = [call for call in due if call.tool.name == request.forced_tool]
    if forced_calls:
        return Reply(calls=_with_ids(request, forced_calls[:1]))
    names = [request.forced_tool] if request.forced_tool else _by_relevance(request)
    for tool in [tool for name in names for tool in request.tools if tool.name == name]:
        value = fill_anyway(tool.schema, _evidence(request))
        if value == {} or as_object(value):
            return Reply(calls=_with_ids(request, [CandidateCall(tool=tool, arguments=as_object(value))]))
    raise ModelRefusedError(
        "ModelErrorException",
        f"The scripted model found no valid arguments for the tool {', '.join(filter(None, names))}.",
    )


def _by_relevance(request: ConverseRequest) -> list[str | None]:
    """Return tool names, best first, with decreasing thresholds until one fits."""
    text = "\n".join(_evidence(request))
    for threshold in _THRESHOLDS:
        plan = plan_calls(text, request.tools, threshold=threshold)
        fitting = [call.tool.name for call in plan.calls] + [entry.tool.name for entry in plan.unfilled]
        if fitting:
            return [*dict.fromkeys([*fitting, *(tool.name for tool in request.tools)])]
    return [tool.name for tool in request.tools]


def _evidence(request: ConverseRequest) -> list[str]:
    """Return the texts that may contain arguments, the newest first.

    The user's messages come first, then results, then earlier answers.
    """
    prompts = [turn.text for turn in reversed(request.turns) if turn.role == "user" and turn.text]
    results = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
        for turn in reversed(request.turns)
        for outcome in turn.outcomes
        for value in outcome.values
    ]
    answers = [turn.text for turn in reversed(request.turns) if turn.role == "assistant" and turn.text]
    return [*prompts, *results, *answers]


def _with_ids(request: ConverseRequest, calls: list[CandidateCall]) -> tuple[ModelToolCall, ...]:
    return tuple(
        ModelToolCall(
            id=f"tooluse_{hashlib.sha256(f'{request.digest} {i}'.encode()).hexdigest()[:22]}",
            name=call.tool.name,
            arguments=call.arguments,
        )
        for i, call in enumerate(calls)
    )
