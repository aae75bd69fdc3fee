"""Findings over several invocations: sums, shares, who is affected, and what only shows between calls."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented_requests import MS, T0, Request, Tool

from loomlib.telemetry.diagnosis import (
    CONFIDENCES,
    ClientSide,
    InvocationCase,
    LatencyFinding,
    client_side,
    diagnose,
    diagnose_session,
    diagnose_study,
    rank,
)
from loomlib.telemetry.traces import ClientTiming, Span, Trace


def healthy(number: int) -> InvocationCase:
    return Request(number=number).turn(1900, tools=[Tool("weather", 120)]).turn(1500).case()


def slow(number: int, ms: float = 4000) -> InvocationCase:
    return Request(number=number).turn(1400, tools=[Tool("database", ms)]).turn(1500).case()


def cold(number: int) -> InvocationCase:
    return Request(number=number).turn(1900).case(there_ms=3000, is_cold=True)


def later(case: InvocationCase, seconds: int) -> InvocationCase:
    """The same invocation at another time of the session."""
    shift = seconds * 1000 * MS
    spans = [replace(span, start_ns=span.start_ns + shift, end_ns=span.end_ns + shift) for span in case.trace.spans]
    assert case.client is not None
    timing = case.client.timing
    moved = replace(timing, sent_ns=timing.sent_ns + shift, done_ns=timing.done_ns + shift, agent_start_ns=None)
    return InvocationCase.of(Trace.one(spans), ClientSide(timing=moved))


def test_a_study_ranks_by_the_sum_and_counts_who_is_affected() -> None:
    cases = [cold(1), slow(2), slow(3, 6000), *(healthy(number) for number in range(4, 10))]
    diagnosis = diagnose_study(cases)
    assert [finding.rule for finding in diagnosis.findings] == ["slow_tool", "cold_start"]
    tool = diagnosis.findings[0]
    assert (tool.affected, tool.of, diagnosis.invocations) == (2, 9, 9)
    assert tool.ms_at_stake == pytest.approx(3900 + 5900, abs=2)
    assert tool.share == pytest.approx(tool.ms_at_stake / diagnosis.total_ms)
    assert tool.trace_ids == (f"{3:032x}", f"{2:032x}")
    assert tool.evidence[0].text.startswith("over the rule's thresholds in 2 of 9 invocations")
    assert diagnosis.total_ms == pytest.approx(sum(case.total_ms for case in cases))
    assert json.dumps(diagnosis.table())


def test_healthy_sessions_and_studies_are_left_in_peace() -> None:
    assert diagnose_study([healthy(number) for number in range(1, 40)]).findings == ()
    assert diagnose_session([later(healthy(number), number) for number in range(1, 10)]).findings == ()
    assert diagnose_study([]).findings == ()


def growing(number: int, session: str = "s1") -> InvocationCase:
    request, place = Request(number=number, session=session), number % 10
    return later(request.turn(1200 + 350 * place, read=1200 + 900 * place, wrote=60).case(), number * 60)


def test_a_session_that_gets_slower_with_its_history_is_named() -> None:
    diagnosis = diagnose_session([growing(number) for number in (5, 1, 3, 2, 4, 6)])
    assert diagnosis.first is not None
    assert (diagnosis.first.rule, diagnosis.first.affected, diagnosis.first.confidence) == (
        "growing_history",
        6,
        "high",
    )
    assert diagnosis.first.ms_at_stake == pytest.approx(350 * (1 + 2 + 3 + 4 + 5), rel=0.01)


def test_a_study_looks_for_growth_within_each_session_only() -> None:
    diagnosis = diagnose_study([growing(number, session=f"s{number}") for number in range(1, 7)])
    assert "growing_history" not in [finding.rule for finding in diagnosis.findings]
    cases = [growing(number) for number in range(1, 6)] + [growing(number, session="s2") for number in range(11, 16)]
    growth_findings = diagnose_study(cases).findings
    assert [finding.rule for finding in growth_findings] == ["growing_history"]
    assert growth_findings[0].affected == 10


def test_limits_state_how_many_invocations_could_not_be_judged() -> None:
    diagnosis = diagnose_study([healthy(1), InvocationCase.of(healthy(2).trace), InvocationCase.of(healthy(3).trace)])
    assert next(limit for limit in diagnosis.limits if "client timing" in limit).endswith("(2 of 3 invocations)")


@dataclass
class Record:
    client_invoke_time: float | None = T0 / 1e9
    client_duration_ms: float | None = 4200.0
    ttft_ms: float | None = 300.0
    connect_ms: float | None = 80.0
    connection_reused: bool | None = False
    chunk_offsets_ms: tuple[float, ...] = (300.0, 4100.0)
    bytes_received: int = 900
    agent_start_time: float | None = T0 / 1e9 + 0.25


def test_a_stored_invocation_becomes_the_clients_side() -> None:
    side = client_side(Record(), is_cold=True, same_clock=True)
    assert side is not None
    timing = side.timing
    assert (timing.done_ns - timing.sent_ns) / MS == 4200
    assert timing.first_byte_ns is not None
    assert (timing.first_byte_ns - timing.sent_ns) / MS == 300
    assert timing.agent_start_ns is not None
    assert round((timing.agent_start_ns - timing.sent_ns) / MS) == 250
    assert (timing.is_cold, timing.same_clock, side.chunk_offsets_ms) == (True, True, (300.0, 4100.0))
    assert client_side(Record(client_duration_ms=None)) is None


names = st.sampled_from(["invoke_agent", "execute_event_loop_cycle", "chat", "execute_tool", "memory", "other"])
small = st.integers(-50_000, 200_000)
numbers = st.one_of(st.none(), st.integers(-5, 10**7), st.floats(), st.text(max_size=3), st.booleans())


@st.composite
def forests(draw: st.DrawFn) -> list[Span]:
    spans: list[Span] = []
    for _ in range(draw(st.integers(0, 14))):
        start = draw(st.integers(0, 60_000))
        attributes = {
            "gen_ai.operation.name": draw(names),
            "gen_ai.usage.input_tokens": draw(numbers),
            "gen_ai.usage.output_tokens": draw(numbers),
            "gen_ai.server.time_to_first_token": draw(numbers),
            "gen_ai.tool.name": draw(st.one_of(st.text(max_size=5), st.integers())),
            "gen_ai.tool.call.result": draw(st.one_of(st.none(), st.text(max_size=5), st.just("x" * 40_000))),
            "retry_attempts": draw(st.one_of(st.none(), st.integers(0, 3))),
        }
        spans.append(
            Span(
                trace_id="t",
                span_id=str(draw(st.integers(0, 12))),
                parent_id=draw(st.one_of(st.none(), st.integers(0, 14).map(str))),
                name=draw(names),
                kind=draw(st.sampled_from(["internal", "client", "server"])),
                start_ns=T0 + start * MS,
                end_ns=T0 + (start + draw(small)) * MS,
                attributes={key: value for key, value in attributes.items() if value is not None},
                status=draw(st.sampled_from(["unset", "ok", "error"])),
                status_message=draw(st.sampled_from(["", "ThrottlingException", "no"])),
            )
        )
    return spans


clients = st.one_of(
    st.none(),
    st.builds(
        lambda sent_ms, took_ms, first_byte_ms, is_cold: ClientSide(
            timing=ClientTiming(
                sent_ns=T0 + sent_ms * MS,
                done_ns=T0 + (sent_ms + took_ms) * MS,
                first_byte_ns=None if first_byte_ms is None else T0 + (sent_ms + first_byte_ms) * MS,
                is_cold=is_cold,
            ),
            chunk_offsets_ms=() if first_byte_ms is None else (float(first_byte_ms), float(first_byte_ms + 5)),
        ),
        st.integers(-5000, 5000),
        st.integers(0, 200_000),
        st.one_of(st.none(), st.integers(0, 100_000)),
        st.one_of(st.none(), st.booleans()),
    ),
)


@settings(deadline=None, max_examples=150)
@given(forests(), clients, st.randoms(use_true_random=False))
def test_any_forest_gets_a_ranking_that_no_order_changes(
    spans: list[Span], client: ClientSide | None, shuffle: random.Random
) -> None:
    case = InvocationCase.of(Trace.one(spans), client)
    diagnosis = diagnose(case)
    assert not diagnosis.problems
    span_ids = {span.span_id for span in case.trace.spans}
    for finding in diagnosis.findings:
        assert 0 < finding.ms_at_stake <= case.total_ms
        assert 0 < finding.share <= 1
        assert finding.confidence in CONFIDENCES
        assert set(finding.span_ids) <= span_ids
    stakes = [finding.ms_at_stake for finding in diagnosis.findings]
    assert stakes == sorted(stakes, reverse=True)
    shuffled = list(spans)
    shuffle.shuffle(shuffled)
    again = diagnose(InvocationCase.of(Trace.one(shuffled), client))
    assert [(finding.rule, finding.title, round(finding.ms_at_stake, 6)) for finding in again.findings] == [
        (finding.rule, finding.title, round(finding.ms_at_stake, 6)) for finding in diagnosis.findings
    ]


findings = st.builds(
    lambda rule, ms, confidence, title: LatencyFinding(
        rule=rule, title=title, ms_at_stake=ms, share=0.1, evidence=(), confidence=confidence, because="", try_=()
    ),
    st.sampled_from("abc"),
    st.sampled_from([0.0, 100.0, 250.5]),
    st.sampled_from(CONFIDENCES),
    st.sampled_from(["one", "two"]),
)


@given(st.lists(findings), st.randoms(use_true_random=False))
def test_ranking_is_stable(found: list[LatencyFinding], shuffle: random.Random) -> None:
    ranked = rank(found)
    shuffled = list(found)
    shuffle.shuffle(shuffled)
    assert rank(shuffled) == ranked
    assert rank(ranked) == ranked


@settings(deadline=None, max_examples=25)
@given(st.permutations(range(1, 7)))
def test_a_study_does_not_depend_on_the_order_of_its_invocations(order: list[int]) -> None:
    cases = {1: cold(1), 2: slow(2), 3: slow(3, 6000), 4: healthy(4), 5: slow(5), 6: healthy(6)}
    expected = diagnose_study(cases.values())
    assert diagnose_study(cases[number] for number in order) == expected
    assert diagnose(cases[2]).first is not None
