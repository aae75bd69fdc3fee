"""The numbers of operations: what is counted, what is left out, and what says that it is not known."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.alerts import UNCLEAR, AlertRule
from loomlib.metrics import Window, headlines, latency_bins, read_figures, sentence, value_text
from loomlib.store import Store, TimedCall

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def agent(store: Store, name: str = "calculator") -> int:
    runtime_id = f"{name}-AbC123dEf4"
    return store.agents.upsert(
        scope="local",
        arn=f"arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/{runtime_id}",
        runtime_id=runtime_id,
        region="us-east-1",
        account_id="123456789012",
        name=name,
    ).id


def call(
    store: Store,
    agent_id: int,
    *,
    at: datetime = NOON,
    session: str = "one",
    duration_ms: float = 100.0,
    failure: str | None = None,
    cold_ms: float | None = None,
) -> int:
    session_id = f"{session}-session-of-thirty-three-letters"
    id = store.invocations.begin(agent_id=agent_id, session_id=session_id, client_invoke_time=at.timestamp())
    store.invocations.finish(
        id,
        status="error" if failure else "complete",
        failure=failure,
        response="",
        client_done_time=at.timestamp() + duration_ms / 1000,
        client_duration_ms=duration_ms,
    )
    if cold_ms is not None:
        store.invocations.note_start(id, state="found", agent_start_time=at.timestamp(), cold_start_latency_ms=cold_ms)
    return id


def test_only_the_first_call_of_a_session_has_a_cold_start(store: Store) -> None:
    id = agent(store)
    for number in range(6):
        call(store, id, session=f"s{number}", cold_ms=300.0 + number)
        call(store, id, session=f"s{number}", cold_ms=2.0)
    total = read_figures(store, [id], Window()).total
    assert (total.sessions, total.cold_start_mean.n) == (6, 6)
    assert total.cold_start_mean.value == pytest.approx(302.5)
    assert total.cold_start_p90.reason == "n too small"
    tiles = {tile.name: tile for tile in headlines(total)}
    assert tiles["cold_start_p90_ms"].observed == "305 ms"  # of six values: without an interval
    assert tiles["cold_start_p90_ms"].value.startswith("n too small (n = 6, ")
    assert tiles["cold_start_mean_ms"].observed == ""


def test_a_session_that_began_before_the_window_does_not_start_in_it(store: Store) -> None:
    id = agent(store)
    call(store, id, at=NOON - timedelta(hours=2), cold_ms=300.0)
    call(store, id, at=NOON, cold_ms=2.0)
    total = read_figures(store, [id], Window(since=NOON - timedelta(hours=1))).total
    assert (total.invocations, total.sessions, total.cold_start_mean.n) == (1, 1, 0)


def test_a_failure_is_counted_and_never_a_duration_or_a_zero(store: Store) -> None:
    id = agent(store)
    for number in range(9):
        call(store, id, session=f"s{number}", duration_ms=200.0)
    call(store, id, session="bad", duration_ms=1.0, failure="agent_error")
    total = read_figures(store, [id], Window()).total
    assert (total.failed, total.failures, total.duration_p50.n) == (1, {"agent_error": 1}, 9)
    assert total.duration_p50.value == 200.0
    assert total.error_rate.value == pytest.approx(0.1)
    assert total.error_rate.low is not None
    assert total.error_rate.low > 0


def test_what_looms_own_process_left_and_what_is_under_way_report_nothing_of_the_agent(store: Store) -> None:
    id = agent(store)
    call(store, id)
    call(store, id, failure="interrupted")
    call(store, id, failure="cancelled")
    store.invocations.begin(agent_id=id, session_id="open", client_invoke_time=NOON.timestamp())
    total = read_figures(store, [id], Window()).total
    assert (total.invocations, total.complete, total.failed, total.open, total.interrupted) == (4, 1, 0, 1, 2)
    assert total.error_rate.n == 1


def test_a_call_that_was_never_sent_counts_as_a_failure_of_its_time(store: Store) -> None:
    id = agent(store)
    unsent = store.invocations.begin(agent_id=id, session_id="short")
    store.invocations.finish(
        unsent, status="error", failure="rejected", response="", client_done_time=0.0, client_duration_ms=0.0
    )
    now = datetime.now(UTC)
    assert read_figures(store, [id], Window(since=now - timedelta(hours=1))).total.failures == {"rejected": 1}
    assert read_figures(store, [id], Window(until=now - timedelta(hours=1))).total.invocations == 0


def test_agents_are_kept_apart_and_added_up(store: Store) -> None:
    first, second, idle = agent(store), agent(store, "echo"), agent(store, "idle")
    call(store, first, duration_ms=100.0)
    call(store, second, session="two", duration_ms=300.0, failure="timeout")
    call(store, agent(store, "unasked"), session="three")
    figures = read_figures(store, [first, second, idle], Window())
    assert (figures.total.invocations, figures.total.sessions, figures.total.failed) == (2, 2, 1)
    assert [figures.by_agent[id].invocations for id in (first, second, idle)] == [1, 1, 0]
    assert figures.by_agent[idle].error_rate.reason == "no calls"
    assert sentence(figures.by_agent[idle]) == "No invocations in this period."


def test_a_cost_is_the_sum_of_what_is_known_and_states_how_much_is_not(store: Store) -> None:
    id = agent(store)
    priced, other, _ = (call(store, id, session=f"s{number}") for number in range(3))
    for invocation_id, cost_usd in ((priced, "0.000000000001"), (other, "0.25"), (priced, "1.5")):
        store.figures.put_cost(
            invocation_id, known=Decimal(cost_usd), unknown=0, is_estimate=True, is_simulated=True, currency="USD"
        )
    total = read_figures(store, [id], Window()).total
    assert (total.cost.known, total.cost.unknown, total.cost.state) == (Decimal("1.75"), 1, "partial")
    assert (total.priced, total.simulated) == (2, 2)
    assert str(total.number("cost")).startswith("1.8 [")
    assert total.number("cost").open_above
    assert "at least $1.75" in next(headline.value for headline in headlines(total) if headline.name == "cost")


def test_a_cost_in_another_currency_is_stated_in_it_and_no_alert_compares_it_with_dollars(store: Store) -> None:
    id = agent(store)
    priced = call(store, id)
    store.figures.put_cost(
        priced, known=Decimal("3.5"), unknown=0, is_estimate=False, is_simulated=False, currency="EUR"
    )
    cost = read_figures(store, [id], Window()).total.number("cost")
    assert value_text("cost", cost) == "EUR\u202f3.50, which is not in USD"
    assert AlertRule("cost", above=2).judge(cost) == UNCLEAR


def test_costs_too_large_for_the_database_are_summed_or_stored_as_unknown(store: Store) -> None:
    id = agent(store)
    for number, dollars in enumerate(("6e6", "6000000.000000000001", "3e7")):
        invocation_id = call(store, id, session=f"s{number}")
        store.figures.put_cost(
            invocation_id, known=Decimal(dollars), unknown=0, is_estimate=False, is_simulated=False, currency="USD"
        )
    total = read_figures(store, [id], Window()).total
    assert (total.cost.known, total.cost.unknown) == (Decimal("12000000.000000000001"), 1)


def test_the_price_of_an_interrupted_call_stands_for_no_other(store: Store) -> None:
    id = agent(store)
    call(store, id, session="unknown")
    stopped = call(store, id, session="stopped", failure="cancelled")
    store.figures.put_cost(stopped, known=Decimal(1), unknown=0, is_estimate=False, is_simulated=False, currency="USD")
    total = read_figures(store, [id], Window()).total
    assert (total.cost.unknown, total.cost.state) == (1, "partial")
    assert total.number("cost").open_above


def test_a_call_that_never_reached_the_agent_cost_nothing_and_is_not_searched_for(store: Store) -> None:
    id, other = agent(store), agent(store, "other")
    ran = call(store, id, session="ran")
    for failure in ("throttle", "quota", "rejected"):
        call(store, id, session=failure, failure=failure)
    for number, failure in enumerate(("rejected", "transport", "cancelled")):  # failed before anything was sent
        unsent = store.invocations.begin(agent_id=other, session_id=f"unsent-{number}-of-thirty-three-letters")
        store.invocations.finish(
            unsent, status="error", failure=failure, response="", client_done_time=1.0, client_duration_ms=1.0
        )
    lost = call(store, id, session="lost", failure="transport")  # nobody knows how far it came
    figures = read_figures(store, [id, other], Window())
    assert (figures.by_agent[id].cost.unknown, figures.by_agent[id].unreached) == (2, 3)
    assert (figures.by_agent[other].cost.state, figures.by_agent[other].unreached) == ("known", 3)
    assert (figures.by_agent[other].number("cost").value, figures.total.unreached) == (0, 6)
    assert store.figures.unpriced(id, None, None, limit=10) == (lost, ran)
    assert store.figures.unpriced(other, None, None, limit=10) == ()
    store.figures.put_cost(ran, known=Decimal(1), unknown=0, is_estimate=False, is_simulated=False, currency="USD")
    note = next(
        headline.note for headline in headlines(read_figures(store, [id], Window()).total) if headline.name == "cost"
    )
    assert note == "1 of 2 invocations priced, 3 did not reach the agent and cost nothing"


def test_a_call_whose_trace_is_missing_for_good_is_not_searched_for_again(store: Store) -> None:
    id = agent(store)
    whole, untraced, early = (call(store, id, session=f"s{number}") for number in range(3))
    for invocation_id, state, complete in (
        (whole, "found", True),
        (untraced, "exports_nothing", True),
        (early, "partial", False),
    ):
        store.traces.put(
            invocation_id, session_id="s", trace_id=None, state=state, is_complete=complete, span_count=0, records=[]
        )
    assert store.figures.unpriced(id, None, None, limit=10) == (early, whole)


def test_calls_at_which_nobody_looked_are_listed_newest_first(store: Store) -> None:
    id = agent(store)
    first = call(store, id, session="a", cold_ms=300.0)
    second = call(store, id, session="b")
    warm = call(store, id, session="b")
    assert store.figures.without_start_lookup(id, None, None, limit=10) == (second,)
    store.figures.put_cost(warm, known=Decimal(1), unknown=0, is_estimate=False, is_simulated=False, currency="USD")
    assert store.figures.unpriced(id, None, None, limit=10) == (second, first)


def test_a_window_is_aware_of_its_zone_and_not_empty() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Window(since=datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="since must be before until"):
        Window(since=NOON, until=NOON)
    with pytest.raises(ValueError, match="before the year 1: 1000000 days before 2026"):
        Window.of(timedelta(days=1_000_000), now=NOON)
    assert Window.of(timedelta(hours=1), now=NOON).since == NOON - timedelta(hours=1)
    assert str(Window()) == "all time"


@given(
    st.lists(st.tuples(st.floats(0, 3e6), st.booleans()), max_size=60),
    st.integers(1, 50),
)
def test_every_call_is_in_exactly_one_bin(asked: list[tuple[float, bool]], bins: int) -> None:
    begin = NOON.timestamp()
    calls = sorted(
        (TimedCall(asked_s=begin + at, duration_ms=1.0, failed=bad, failure="timeout" if bad else None)
         for at, bad in asked),
        key=lambda call: call.asked_s,
    )  # fmt: skip
    histogram = latency_bins(calls, Window(), bins=bins)
    assert sum(latency_bin.n for latency_bin in histogram) == len(calls)
    assert sum(latency_bin.failed for latency_bin in histogram) == sum(bad for _, bad in asked)
    assert len(histogram) <= 2.6 * bins + 2
    for before, after in itertools.pairwise(histogram):
        assert before.end == after.start
    for call in calls:
        asked_at = datetime.fromtimestamp(call.asked_s, UTC)
        assert any(latency_bin.start <= asked_at < latency_bin.end for latency_bin in histogram)


@pytest.mark.parametrize(
    ("since", "until"),
    [
        (datetime.min.replace(tzinfo=UTC), None),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=14))), None),
        (None, datetime.max.replace(tzinfo=UTC)),
        (None, datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))),
        (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
    ],
)
def test_bins_of_a_window_to_the_first_or_last_year_are_cut_there(
    since: datetime | None, until: datetime | None
) -> None:
    call = TimedCall(asked_s=NOON.timestamp(), duration_ms=5.0, failed=False, failure=None)
    histogram = latency_bins([call], Window(since=since, until=until))
    assert sum(latency_bin.n for latency_bin in histogram) == 1
    assert all(before.end == after.start for before, after in itertools.pairwise(histogram))
    assert all(latency_bin.start < latency_bin.end for latency_bin in histogram)


def test_bins_cover_the_window_even_where_nothing_was_asked() -> None:
    calls = [
        TimedCall(asked_s=NOON.timestamp() + 60 * minute, duration_ms=5.0, failed=False, failure=None)
        for minute in (1, 2)
    ]
    histogram = latency_bins(calls, Window(since=NOON, until=NOON + timedelta(hours=1)), bins=12)
    assert len(histogram) == 12
    assert (histogram[0].start, histogram[-1].end) == (NOON, NOON + timedelta(hours=1))
    assert [latency_bin.n for latency_bin in histogram] == [2, *[0] * 11]
    assert histogram[0].p50.reason == "n too small"
    assert histogram[5].error_rate.reason == "no calls"
