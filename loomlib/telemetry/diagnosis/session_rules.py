"""Rules about a session: causes that show only across invocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from loomlib.presentation.formats import milliseconds, number, plural

from ..traces import ModelCall
from .case import InvocationCase
from .finding import FindingDraft, FindingEvidence
from .prompt_reading import measure_prompt_reading, prompt_tokens

Thresholds = Mapping[str, float]


def growing_history(cases: Sequence[InvocationCase], limits: Thresholds) -> FindingDraft | None:
    """Find prompts that grow from invocation to invocation of a session, and model calls that slow down."""
    firsts: list[tuple[ModelCall, int]] = []
    for case in cases:
        call = next((call for call in case.answered_calls if prompt_tokens(call)), None)
        if call is not None and (tokens := prompt_tokens(call)):
            firsts.append((call, tokens))
    if len(firsts) < limits["calls"]:
        return None
    from_, to = firsts[0][1], max(tokens for _, tokens in firsts)
    if to - from_ < limits["growth_tokens"] or to - from_ < limits["growth_share"] * from_:
        return None
    readings = dict(measure_prompt_reading([call for call, _ in firsts]))
    if any(reading.basis != "slope" for reading in readings.values()):
        return None
    ms = sum(reading.ms(reading.prompt_tokens - from_) for reading in readings.values())
    third = max(1, len(firsts) // 3)
    early = median(call.duration_ms for call, _ in firsts[:third])
    late = median(call.duration_ms for call, _ in firsts[-third:])
    return FindingDraft(
        ms_at_stake=ms,
        evidence=(
            FindingEvidence(
                text=f"over {plural(len(firsts), 'invocation')} the first prompt grew "
                f"from {number(from_, 0)} to {number(to, 0)} tokens",
                value=float(to - from_),
                unit="tokens",
                span_ids=tuple(call.span_id for call, _ in firsts),
            ),
            FindingEvidence(
                text=f"its model call took {milliseconds(early)} early in the session and {milliseconds(late)} late",
                value=late - early,
                unit="ms",
            ),
        ),
        confidence="high" if len(firsts) >= 5 else "medium",
        because="time rises with tokens from call to call" if len(firsts) >= 5 else "only a few calls to compare",
        values=(("from", number(from_, 0)), ("to", number(to, 0))),
    )
