"""The breakdown beside its definition, written down a second time in the plainest way: millisecond by millisecond."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from trace_shapes import MS, T0, span

from loomlib.telemetry.traces import PARTS, ClientTiming, Span, Trace

INSIDE = ["invoke_agent", "cycle", "other"]
PART_OF = {"chat": "model", "execute_tool": "tools", "memory": "memory", "server": "agent"} | dict.fromkeys(
    INSIDE, "agent"
)
RANKED = ("model", "tools", "memory", "agent")
LENGTH = 40


@st.composite
def trees(draw: st.DrawFn) -> list[Span]:
    """One server span and what lies below it, at any times, also beside and beyond it."""
    spans = [span("0", None, "server", 0, LENGTH)]
    owner = {"0": "server"}
    for number in range(1, draw(st.integers(1, 12))):
        parent = str(draw(st.integers(0, number - 1)))
        operation = draw(st.sampled_from([*INSIDE, "chat", "execute_tool", "memory"]))
        if operation == "chat" and owner[parent] == "chat":
            operation = "other"  # a model call right below a model call would be its twin, which does not count
        start = draw(st.integers(-5, LENGTH))
        spans.append(span(str(number), parent, operation, start, draw(st.integers(start, LENGTH + 5))))
        owner[str(number)] = owner[parent] if operation in ("other", "memory") else operation
    return spans


def by_hand(spans: list[Span], client: ClientTiming) -> dict[str, int]:
    """Nanoseconds of each part, found by asking of every millisecond which spans cover it."""
    first_inside = min(span.start_ns for span in spans if PART_OF[span.operation] == "agent")
    count: Counter[str] = Counter()
    for at_ns in range(client.sent_ns, client.done_ns, MS):
        covering = {PART_OF[span.operation] for span in spans if span.start_ns <= at_ns < span.end_ns}
        outside = "cold_start" if client.is_cold and at_ns < first_inside else "service_network"
        count[next((part for part in RANKED if part in covering), outside)] += MS
    return {part: count[part] for part in PARTS}


@settings(deadline=None)
@given(trees(), st.integers(0, 10), st.integers(0, 10), st.booleans())
def test_every_millisecond_goes_where_the_definition_says(
    spans: list[Span], before: int, after: int, is_cold: bool
) -> None:
    client = ClientTiming(
        sent_ns=T0 - before * MS, done_ns=T0 + (LENGTH + after) * MS, is_cold=is_cold, same_clock=True
    )
    breakdown = Trace.one(spans).breakdown(client)
    assert {part.name: part.duration_ns for part in breakdown.parts} == by_hand(spans, client)
