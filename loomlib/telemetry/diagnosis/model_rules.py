"""Rules about the model: how often it is called, how long it thinks, how long it generates.

Each rule takes a case and its thresholds, and returns a draft, or None where it does not apply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from loomlib.presentation.formats import milliseconds, number, percent, plural
from loomlib.presentation.text import one_line

from ..traces import Cycle, ModelCall
from .case import InvocationCase
from .finding import FindingDraft, FindingEvidence
from .prompt_reading import Prefill, prompt_tokens
from .prompt_rules import growth_ms

Thresholds = Mapping[str, float]


def too_many_cycles(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find more than `cycles` cycles: the model's time in later ones, without the cost of longer prompts."""
    most = int(limits["cycles"])
    loops: dict[str, list[Cycle]] = {}
    for cycle in case.cycles:
        loops.setdefault(cycle.agent_span_id, []).append(cycle)
    long = [loop for loop in loops.values() if len(loop) > most]
    if not long:
        return None
    late = [cycle for loop in long for cycle in loop[most:]]
    spans = {cycle.span_id for cycle in late}
    calls = [call for call in case.answered_calls if call.span_id in spans or _cycle_above(case, call) in spans]
    grown = growth_ms(case, limits)
    ms = sum(max(0.0, call.duration_ms - grown.get(call.span_id, 0.0)) for call in calls)
    turns = max(len(loop) for loop in long)
    again = _repeated(case)
    failed = [tool for tool in case.tools if tool.status == "error"]
    evidence = [
        FindingEvidence(
            text=f"{turns} cycles of the agent loop; the {len(late)} after cycle {most} took {milliseconds(ms)} "
            "of model time",
            value=float(turns),
            unit="cycles",
            span_ids=tuple(cycle.span_id for cycle in late),
        )
    ]
    if again:
        name, count = again[0]
        evidence.append(
            FindingEvidence(
                text=f"`{one_line(name)}` was called {count} times with the same arguments",
                value=float(count),
                unit="calls",
            )
        )
    if failed:
        evidence.append(
            FindingEvidence(
                text=f"{plural(len(failed), 'tool call')} failed",
                value=float(len(failed)),
                unit="calls",
                span_ids=tuple(tool.span_id for tool in failed),
            )
        )
    sure = bool(again or failed)
    return FindingDraft(
        ms_at_stake=ms,
        evidence=tuple(evidence),
        confidence="high" if sure else "medium",
        because="cycles were spent on repeated or failed tool calls"
        if sure
        else "the cycles are counted; whether the task needed them is not in the trace",
        values=(("turns", str(turns)), ("most", str(most))),
    )


def slow_first_token(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find model calls with a time to first token above `slow_ms` that their prompt does not explain."""
    grown = growth_ms(case, limits)
    slow: list[tuple[ModelCall, float, float]] = []
    for call in case.answered_calls:
        if call.ttft_ms is None or call.ttft_ms <= limits["slow_ms"] or call.http_retries:
            continue  # throttled attempts are included in the time to the first token
        first = min(call.ttft_ms, call.duration_ms)
        by_prompt = max(grown.get(call.span_id, 0.0), _by_prompt(case.readings.get(call.span_id), limits))
        excess = first - by_prompt - limits["usual_ms"]
        if excess > 0:
            slow.append((call, first, excess))
    if not slow:
        return None
    worst, longest, _ = max(slow, key=lambda entry: entry[1])
    others = [
        call.ttft_ms for call in case.answered_calls if call.ttft_ms is not None and call.ttft_ms <= limits["slow_ms"]
    ]
    evidence = [
        FindingEvidence(
            text=f"{plural(len(slow), 'call')} of {len(case.answered_calls)} took more than "
            f"{milliseconds(limits['slow_ms'])} to the first token, the slowest {milliseconds(longest)}",
            value=longest,
            unit="ms",
            span_ids=tuple(call.span_id for call, _, _ in slow),
        )
    ]
    if (tokens := prompt_tokens(worst)) is not None:
        evidence.append(
            FindingEvidence(
                text=f"its prompt has {number(tokens, 0)} tokens",
                value=float(tokens),
                unit="tokens",
                span_ids=(worst.span_id,),
            )
        )
    if others:
        evidence.append(
            FindingEvidence(
                text=f"the other calls took at most {milliseconds(max(others))}", value=max(others), unit="ms"
            )
        )
    is_prompt_known = prompt_tokens(worst) is not None
    return FindingDraft(
        ms_at_stake=sum(excess for _, _, excess in slow),
        evidence=tuple(evidence),
        confidence="high" if is_prompt_known else "medium",
        because="measured on the call, with the prompt's length subtracted"
        if is_prompt_known
        else "the prompt's length is unknown",
        values=(("ttft", milliseconds(longest)), ("model", one_line(worst.model or "the model"))),
    )


def slow_output(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find a model that generates few tokens per second, over an answer long enough to tell."""
    slow: list[tuple[ModelCall, float, float]] = []
    for call in case.answered_calls:
        writing = _writing_ms(call)
        if writing is None or not call.output_tokens or call.output_tokens < limits["output_tokens"]:
            continue
        rate = call.output_tokens / (writing / 1000) if writing else float("inf")
        if rate < limits["slow_tokens_per_s"]:
            slow.append((call, rate, writing - call.output_tokens / limits["usual_tokens_per_s"] * 1000))
    if not slow:
        return None
    rate = min(tokens_per_s for _, tokens_per_s, _ in slow)
    return FindingDraft(
        ms_at_stake=sum(max(0.0, excess) for _, _, excess in slow),
        evidence=(
            FindingEvidence(
                text=f"{number(rate)} tokens per second after the first one",
                value=rate,
                unit="tokens/s",
                span_ids=tuple(call.span_id for call, _, _ in slow),
            ),
        ),
        confidence="medium",
        because="measured on the call; whether the model or its region was busy is not in the trace",
        values=(("rate", number(rate, 0)),),
    )


def long_output(case: InvocationCase, limits: Thresholds) -> FindingDraft | None:
    """Find answers of very many tokens, as tokens are generated one after another."""
    long = [
        (call, writing)
        for call in case.answered_calls
        if (call.output_tokens or 0) > limits["output_tokens"] and (writing := _writing_ms(call)) is not None
    ]
    if not long:
        return None
    ms = sum(writing * (1 - limits["usual_tokens"] / (call.output_tokens or 1)) for call, writing in long)
    tokens = sum(call.output_tokens or 0 for call, _ in long)
    writing = sum(writing_ms for _, writing_ms in long)
    return FindingDraft(
        ms_at_stake=max(0.0, ms),
        evidence=(
            FindingEvidence(
                text=f"{number(tokens, 0)} tokens were generated in {milliseconds(writing)}, "
                f"{percent(case.share(writing))} of the total",
                value=float(tokens),
                unit="tokens",
                span_ids=tuple(call.span_id for call, _ in long),
            ),
        ),
        confidence="low",
        because="measured; whether such a long answer was wanted is not in the trace",
        values=(("tokens", number(tokens, 0)),),
    )


def _by_prompt(reading: Prefill | None, limits: Thresholds) -> float:
    """Return the milliseconds that a large prompt explains."""
    if reading is None or reading.prompt_tokens < limits["large_prompt_tokens"]:
        return 0.0
    return reading.ms(reading.prompt_tokens - limits["usual_tokens"])


def _writing_ms(call: ModelCall) -> float | None:
    if call.ttft_ms is None or call.ttft_ms > call.duration_ms:
        return None
    return call.duration_ms - call.ttft_ms


def _cycle_above(case: InvocationCase, call: ModelCall) -> str:
    above = case.trace.ancestors(call.span_id)
    return next((span.span_id for span in above if case.trace.operation(span) == "cycle"), "")


def _repeated(case: InvocationCase) -> Sequence[tuple[str, int]]:
    calls = Counter(
        (step.name, repr(step.arguments)) for step in case.steps if step.kind == "tool_call" and step.arguments
    )
    return [(name, count) for (name, _), count in calls.most_common() if count > 1]
