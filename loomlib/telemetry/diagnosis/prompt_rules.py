"""Rules about what the model must read: a prompt that is large, or grows from turn to turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from loomlib.json_values import as_list, parse_embedded

from ..traces import ModelCall
from .case import Case
from .finding import Draft, Evidence
from .prompt_reading import prompt_tokens
from .tool_results import large_results, tokens_read
from .wording import milliseconds, number, plural

Thresholds = Mapping[str, float]
_BASIS = {
    "slope": ("medium", "what a token costs was measured between this agent's own calls, not apart from other causes"),
    "first token": ("medium", "no span measures reading: this is at most, the time to the first token by tokens"),
    "whole call": ("low", "the time to the first token is not known: this is at most, the whole call by tokens"),
}


def token_growth(case: Case, limits: Thresholds) -> Draft | None:
    """A prompt that grows from turn to turn, and turns that get slower with it."""
    grown = growth_ms(case, limits)
    calls = [call for call in case.answered if call.span_id in grown]
    if not calls:
        return None
    group = next(each for each in case.by_agent if calls[-1] in each)
    counts = [(call, tokens) for call in group if (tokens := prompt_tokens(call)) is not None]
    (first, from_), (last, to) = counts[0], max(counts, key=lambda each: each[1])
    steps = [(after - before, call) for (_, before), (call, after) in pairwise(counts)]
    jump, at = max(steps, key=lambda each: each[0])
    ms = sum(grown.values())
    evidence = [
        Evidence(
            text=f"the prompt grew from {number(from_)} to {number(to)} tokens "
            f"over {plural(len(counts), 'model call')}",
            value=float(to - from_),
            unit="tokens",
            span_ids=tuple(call.span_id for call, _ in counts),
        ),
        Evidence(
            text=f"the model took {milliseconds(first.duration_ms)} with the first and "
            f"{milliseconds(last.duration_ms)} with the longest prompt",
            value=last.duration_ms - first.duration_ms,
            unit="ms",
            span_ids=(first.span_id, last.span_id),
        ),
    ]
    if len(steps) > 1 and jump >= 0.5 * (to - from_):
        evidence.append(
            Evidence(
                text=f"{number(jump)} of these tokens came before one call",
                value=float(jump),
                unit="tokens",
                span_ids=(at.span_id,),
            )
        )
    many, reading = len(counts) >= 4, case.readings.get(last.span_id)
    return Draft(
        ms_at_stake=ms,
        evidence=tuple(evidence),
        confidence="high" if many and reading is not None and reading.basis == "slope" else "medium",
        because="time rises with tokens over several calls of this agent"
        if many
        else f"only {plural(len(counts), 'call')} to compare: other causes of slowness are not excluded",
        values=(("from", number(from_)), ("to", number(to))),
    )


def large_prompt(case: Case, limits: Thresholds) -> Draft | None:
    """A prompt that is large from the first call on: instructions, tools, history."""
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
        Evidence(
            text=f"the first prompt has {number(heavy)} tokens, and {plural(len(calls), 'call')} read it",
            value=float(heavy),
            unit="tokens",
            span_ids=tuple(call.span_id for call in calls),
        )
    ]
    cached = sum(call.cache_read_tokens or 0 for call in calls)
    evidence.append(
        Evidence(text=f"{number(cached)} tokens were read from the prompt cache", value=float(cached), unit="tokens")
    )
    if offered := _tools_offered(case):
        used = len({tool.name for tool in case.tools})
        evidence.append(
            Evidence(text=f"{plural(offered, 'tool')} offered, {used} used", value=float(offered), unit="tools")
        )
    confidence, because = _BASIS[basis]
    return Draft(
        ms_at_stake=ms,
        evidence=tuple(evidence),
        confidence=confidence,
        because=because,
        values=(("tokens", number(heavy)),),
    )


def growth_ms(case: Case, limits: Thresholds) -> dict[str, float]:
    """By call: what its prompt cost beyond the first prompt of its agent, less what oversized results explain.

    Empty where the growth is below the thresholds, so that its time stays with the turns themselves.
    """
    found: dict[str, float] = {}
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
            continue  # longer prompts that did not take longer cost tokens, not time
        for call, extra in added:
            reading = case.readings.get(call.span_id)
            if extra > 0 and reading is not None and (ms := reading.ms(extra)) > 0:
                found[call.span_id] = ms
    return found


def _agreement(counts: Sequence[tuple[ModelCall, int]]) -> float:
    """The share of neighbouring steps in length at which the longer prompt took longer, or nearly so."""
    ordered = sorted(counts, key=lambda each: (each[1], each[0].duration_ns))
    steps = [after.duration_ns >= 0.95 * before.duration_ns for (before, _), (after, _) in pairwise(ordered)]
    return sum(steps) / len(steps) if steps else 0.0


def _tools_offered(case: Case) -> int:
    offered = [
        len(as_list(parse_embedded(span.attributes.get("gen_ai.agent.tools"))))
        for span in case.trace.of_operation("invoke_agent")
    ]
    return max(offered, default=0)
