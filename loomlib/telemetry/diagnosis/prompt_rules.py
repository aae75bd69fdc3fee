"""Rules about the prompt: one that is large, or that grows from cycle to cycle.

Each rule takes a case and its thresholds, and returns a draft, or None where it does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from loomlib.json_values import as_list, parse_embedded
from loomlib.presentation.formats import milliseconds, number, plural

from ..traces import ModelCall
from .case import InvocationCase
from .finding import FindingDraft, FindingEvidence
from .prompt_reading import prompt_tokens
from .tool_results import large_results, tokens_read

Thresholds = Mapping[str, float]
_BASIS = {
    "slope": ("medium", "the cost of a token was measured between this agent's calls, together with other causes"),
    "first token": (
        "medium",
        "an upper bound: no span measures reading, so the time to the first token is divided by tokens",
    ),
    "whole call": (
        "low",
        "an upper bound: the time to the first token is unknown, so the whole call is divided by tokens",
    ),
}


def token_growth(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find a prompt that grows from cycle to cycle, and cycles that get slower with it."""
    grown = growth_ms(case, limits)
    calls = [call for call in case.answered_calls if call.span_id in grown]
    if not calls:
        return None
    group = next(group for group in case.by_agent if calls[-1] in group)
    counts = [(call, tokens) for call in group if (tokens := prompt_tokens(call)) is not None]
    (first, from_), (last, to) = counts[0], max(counts, key=lambda count: count[1])
    steps = [(after - before, call) for (_, before), (call, after) in pairwise(counts)]
    jump, at = max(steps, key=lambda step: step[0])
    ms = sum(grown.values())
    evidence = [
        FindingEvidence(
            text=f"the prompt grew from {number(from_, 0)} to {number(to, 0)} tokens "
            f"over {plural(len(counts), 'model call')}",
            value=float(to - from_),
            unit="tokens",
            span_ids=tuple(call.span_id for call, _ in counts),
        ),
        FindingEvidence(
            text=f"the model took {milliseconds(first.duration_ms)} for the first and "
            f"{milliseconds(last.duration_ms)} for the longest prompt",
            value=last.duration_ms - first.duration_ms,
            unit="ms",
            span_ids=(first.span_id, last.span_id),
        ),
    ]
    if len(steps) > 1 and jump >= 0.5 * (to - from_):
        evidence.append(
            FindingEvidence(
                text=f"{number(jump, 0)} of these tokens were added before a single call",
                value=float(jump),
                unit="tokens",
                span_ids=(at.span_id,),
            )
        )
    many, reading = len(counts) >= 4, case.readings.get(last.span_id)
    return FindingDraft(
        ms_at_stake=ms,
        evidence=tuple(evidence),
        confidence="high" if many and reading is not None and reading.basis == "slope" else "medium",
        because="time rises with tokens over several calls of this agent"
        if many
        else f"only {plural(len(counts), 'call')} to compare, so other causes are possible",
        values=(("from", number(from_, 0)), ("to", number(to, 0))),
    )


def large_prompt(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find a prompt that is large from the first call: instructions, tools, history."""
    ms, heavy, calls, basis = 0.0, 0, list[ModelCall](), "slope"
    for group in case.by_agent:
        first = next((tokens for call in group if (tokens := prompt_tokens(call)) is not None), None)
        if first is None or first < limits["prompt_tokens"]:
            continue
        heavy = max(heavy, first)
        for call in group:
            reading = case.readings.get(call.span_id)
            if reading is not None:
                ms += reading.ms(min(first, reading.prompt_tokens) - limits["usual_tokens"])
                calls.append(call)
                basis = max(basis, reading.basis, key=list(_BASIS).index)
    if not calls:
        return None
    evidence = [
        FindingEvidence(
            text=f"the first prompt has {number(heavy, 0)} tokens and was read by {plural(len(calls), 'call')}",
            value=float(heavy),
            unit="tokens",
            span_ids=tuple(call.span_id for call in calls),
        )
    ]
    cached = sum(call.cache_read_tokens or 0 for call in calls)
    evidence.append(
        FindingEvidence(
            text=f"{number(cached, 0)} tokens were read from the prompt cache", value=float(cached), unit="tokens"
        )
    )
    if offered := _tools_offered(case):
        used = len({tool.name for tool in case.tools})
        evidence.append(
            FindingEvidence(text=f"{plural(offered, 'tool')} offered, {used} used", value=float(offered), unit="tools")
        )
    confidence, because = _BASIS[basis]
    return FindingDraft(
        ms_at_stake=ms,
        evidence=tuple(evidence),
        confidence=confidence,
        because=because,
        values=(("tokens", number(heavy, 0)),),
    )


def growth_ms(case: InvocationCase, limits: Thresholds) -> dict[str, float]:
    """Return each call's cost of prompt growth since its agent's first prompt, without that of large results.

    Empty where the growth is below the thresholds, so that its time stays with the cycles themselves.

    Args:
        case: The invocation.
        limits: The rule's thresholds.
    """
    growth: dict[str, float] = {}
    for group in case.by_agent:
        counts = [(call, count) for call in group if (count := prompt_tokens(call)) is not None]
        if len(counts) < 2:
            continue
        first = counts[0][1]
        large = large_results(case, group, least_tokens=limits["result_tokens"], least_share=limits["result_share"])
        by_results = dict(zip((call.span_id for call in group), tokens_read(group, large), strict=True))
        added = [(call, count - first - by_results[call.span_id]) for call, count in counts[1:]]
        most = max(extra for _, extra in added)
        least = limits["growth_tokens"] * 2 ** max(0, limits["calls"] - len(counts))
        if most < least or most < limits["growth_share"] * first:
            continue
        opening = case.readings.get(counts[0][0].span_id)
        if opening is None or opening.basis != "slope" or _agreement(counts) < limits["agreement"]:
            continue  # longer prompts that took no longer cost tokens, not time
        for call, extra in added:
            reading = case.readings.get(call.span_id)
            if extra > 0 and reading is not None and (ms := reading.ms(extra)) > 0:
                growth[call.span_id] = ms
    return growth


def _agreement(counts: Sequence[tuple[ModelCall, int]]) -> float:
    """Return the share of calls that took at least 95 % of the time of the call with the next shorter prompt."""
    ordered = sorted(counts, key=lambda count: (count[1], count[0].duration_ns))
    steps = [after.duration_ns >= 0.95 * before.duration_ns for (before, _), (after, _) in pairwise(ordered)]
    return sum(steps) / len(steps) if steps else 0.0


def _tools_offered(case: InvocationCase) -> int:
    offered = [
        len(as_list(parse_embedded(span.attributes.get("gen_ai.agent.tools"))))
        for span in case.trace.of_operation("invoke_agent")
    ]
    return max(offered, default=0)
