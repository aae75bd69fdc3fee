"""The economics of starts: formulas against values computed by hand and against a simulation, and what is concluded."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from latency_agent import Reply, ScriptedAgent
from new_store import new_store

from loomlib.errors import StudyError
from loomlib.experiments import Silent
from loomlib.latency import LatencyStudy
from loomlib.latency.economics import (
    MeasuredStarts,
    MeteredCall,
    SessionTraffic,
    StartAssumptions,
    StartPolicy,
    ThinkTimes,
    compare_policies,
    erlang_b,
    measured_starts,
    simulate_starts,
    tasks_for,
    usual_policies,
)
from loomlib.latency.economics.mixture import mixture_percentile
from loomlib.latency.prewarm import PrewarmStudy
from loomlib.statistics import percentile
from loomlib.store import Store
from loomlib.telemetry.cost import RuntimeUse, price_table

MONTH = 365 / 12
CPU, MEMORY = 0.0895 / 3600, 0.00945 / 3600
"""Dollars of a vCPU-second and of a GB-second."""
IDLE = StartPolicy(idle_timeout_s=300)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


def starts(platform: str = "V2", *, cold_s: float = 4.0, warm_s: float = 2.0, source: str = "study 1", n: int = 120):
    """Calls whose means are known exactly: evenly spaced around them."""
    around = [0.9 + 0.2 * number / (n - 1) for number in range(n)]
    return MeasuredStarts.given(
        platform,
        cold_ms=[1000 * cold_s * factor for factor in around],
        warm_ms=[1000 * warm_s * factor for factor in around],
        vcpu_s=0.5,
        start_vcpu_s=1.5,
        memory_gb=0.6,
        source=source,
    )


def traffic(**changes: object) -> SessionTraffic:
    values = {"sessions_per_day": 1000, "calls_per_session": 5, "think": ThinkTimes.exponential(60)} | changes
    return SessionTraffic(**values)  # type: ignore[arg-type]


def only(measured: MeasuredStarts, policy: StartPolicy, flow: SessionTraffic | None = None, **options: object):
    (outcome,) = compare_policies(measured, flow or traffic(), policies=[policy], **options).outcomes  # type: ignore[arg-type]
    return outcome


def test_erlangs_formula_gives_the_tabulated_probabilities() -> None:
    assert erlang_b(0, 3.0)[0] == 1
    assert erlang_b(1, 0.5)[0] == pytest.approx(1 / 3)
    assert erlang_b(2, 1.0)[0] == pytest.approx(0.2)
    assert erlang_b(10, 5.0)[0] == pytest.approx(0.018385, abs=1e-6)


def test_think_times_are_exponential_or_those_that_were_observed() -> None:
    exponential = ThinkTimes.exponential(60)
    assert exponential.longer_than(60) == pytest.approx(math.exp(-1))
    assert exponential.mean_up_to(60) == pytest.approx(60 * (1 - math.exp(-1)))
    observed = ThinkTimes.observed([4, 36, 80, 1200])
    assert (observed.longer_than(900), observed.longer_than(36)) == (0.25, 0.5)
    assert observed.mean_up_to(100) == (4 + 36 + 80 + 100) / 4
    assert observed.mean_s == 330


def test_the_cost_of_idle_timeouts_is_as_computed_by_hand() -> None:
    outcome = only(starts(), IDLE, assumptions=StartAssumptions(idle_memory_gb=0.2))
    later = math.exp(-300 / 60)
    cold = (1 + 4 * later) / 5
    sessions = 1000 * MONTH
    cold_usd = 2.0 * CPU + 4.0 * 0.6 * MEMORY
    warm_usd = 0.5 * CPU + 2.0 * 0.6 * MEMORY
    active = sessions * 5 * (cold * cold_usd + (1 - cold) * warm_usd)
    idle = sessions * (4 * 60 * (1 - later) + 300) * 0.2 * MEMORY
    assert outcome.cold.value == pytest.approx(cold)
    assert outcome.active.value == pytest.approx(active)
    assert outcome.idle.value == pytest.approx(idle)
    assert outcome.prewarm.value == 0
    assert outcome.usd.value == pytest.approx(active + idle)


def test_v1_bills_the_highest_memory_while_a_session_waits_and_v2_what_it_uses() -> None:
    assumed = StartAssumptions(idle_memory_gb=0.2)
    on = {name: only(starts(name), IDLE, assumptions=assumed) for name in ("V1", "V2")}
    assert on["V1"].idle.value == pytest.approx((on["V2"].idle.value or 0) * 3)
    assert on["V1"].active.value == on["V2"].active.value


def test_no_session_is_billed_less_than_the_least_memory() -> None:
    least = only(starts(), IDLE, assumptions=StartAssumptions(idle_memory_gb=0.01))
    assert least.idle.value == only(starts(), IDLE, assumptions=StartAssumptions(idle_memory_gb=0.128)).idle.value


def test_the_cost_of_pings_is_as_computed_by_hand() -> None:
    policy = StartPolicy(idle_timeout_s=120, ping_every_s=100, ping_for_s=200)
    outcome = only(starts(), policy, assumptions=StartAssumptions(ping_usd=0.001))
    assert policy.kept_s == 320
    sessions = 1000 * MONTH
    pings = 2 + 4 * (math.exp(-100 / 60) + math.exp(-200 / 60))
    more_s = 4 * 60 * (math.exp(-120 / 60) - math.exp(-320 / 60)) + 320 - 120
    assert outcome.later_cold.value == pytest.approx(math.exp(-320 / 60))
    assert outcome.prewarm.value == pytest.approx(sessions * (more_s * 0.6 * MEMORY + pings * (0.5 * CPU + 0.001)))


def test_the_cost_of_a_pool_is_as_computed_by_hand() -> None:
    flow = traffic(sessions_per_day=8640, hours_per_day=12)
    outcome = only(starts(), StartPolicy(idle_timeout_s=300, pool=2), flow)
    rate = 0.2
    load = rate * 4.0
    blocked = (load**2 / 2) / (1 + load + load**2 / 2)
    served_rate = rate * (1 - blocked)
    ready = 2 - served_rate * 4.0
    cold_usd, ping_usd = 2.0 * CPU + 4.0 * 0.6 * MEMORY, 0.5 * CPU
    each_second = ready * 0.6 * MEMORY + (served_rate + ready / 28_800) * cold_usd + ready / 270 * ping_usd
    assert outcome.first_cold.value == pytest.approx(blocked)
    assert outcome.prewarm.value == pytest.approx(each_second * 12 * 3600 * MONTH)


def test_a_session_that_the_client_ends_does_not_wait_after_its_last_call() -> None:
    left_open, ended = (only(starts(), IDLE, traffic(ended_share=share)) for share in (0.0, 1.0))
    assert (left_open.idle.value or 0) - (ended.idle.value or 0) == pytest.approx(1000 * MONTH * 300 * 0.6 * MEMORY)


def test_other_hosts_cost_what_their_prices_say() -> None:
    economics = compare_policies(starts(), traffic())
    usd = {host.host: host.usd.value for host in economics.hosts}
    calls = 1000 * 5 * MONTH
    assert usd["Lambda"] == pytest.approx(calls * (0.2e-6 + (0.2 * 4.0 + 0.8 * 2.0) * 1.769 * 0.0000133334))
    assert usd["ECS Fargate"] == pytest.approx(2 * (0.03238 + 2 * 0.00356) * 730)
    assert usd["managed agents"] == pytest.approx(calls * 2.0 / 3600 * 0.08)
    provisioned = compare_policies(starts(), traffic(), assumptions=StartAssumptions(lambda_provisioned=3))
    provisioned_usd = 3 * 1.769 * 730 * 3600 * 0.0000033334
    assert provisioned.hosts[0].usd.value == pytest.approx(
        provisioned_usd + calls * (0.2e-6 + 2.0 * 1.769 * 0.0000077778)
    )


@pytest.mark.parametrize(("load", "calls"), [(0.001, 1), (1.0, 5), (10.0, 21), (2000.0, 2139)])
def test_tasks_have_room_for_all_calls_in_nearly_all_of_the_time(load: float, calls: int) -> None:
    # Quantiles of the Poisson distribution at 0.999.
    assert tasks_for(load, 0.999, 1, 1) == pytest.approx(calls, abs=1 if load > 500 else 0)
    assert tasks_for(load, 0.999, calls + 1, 2) == 2


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_a_mixture_in_the_measured_proportion_has_the_percentile_of_all_calls(p: float) -> None:
    random = np.random.default_rng(5)
    cold, warm = random.lognormal(1, 0.5, 30), random.lognormal(0, 0.5, 90)
    mixed = mixture_percentile(cold, warm, 0.25, p)
    assert mixed == pytest.approx(percentile([*cold, *warm], p))


@pytest.mark.parametrize(("share", "sample"), [(0.0, "warm"), (1.0, "cold")])
def test_a_kind_that_does_not_occur_has_no_part_in_the_percentile(share: float, sample: str) -> None:
    samples = {"cold": np.arange(100.0, 140.0), "warm": np.arange(1.0, 41.0)}
    mixed = mixture_percentile(samples["cold"], samples["warm"], share, 0.9)
    assert mixed == pytest.approx(percentile(samples[sample], 0.9))


def test_percentiles_follow_the_share_of_cold_calls_not_the_number_measured() -> None:
    few = only(starts(cold_s=10.0, n=200), StartPolicy(pool=3), traffic(think=ThinkTimes.exponential(1)))
    many = only(starts(cold_s=10.0, n=200), StartPolicy(idle_timeout_s=60), traffic(calls_per_session=1))
    assert few.p90.value == pytest.approx(2160, rel=0.005)
    assert many.p50.value == pytest.approx(10_000)


@pytest.mark.parametrize(
    "policy",
    [
        StartPolicy(idle_timeout_s=60),
        StartPolicy(idle_timeout_s=300, pool=1),
        StartPolicy(idle_timeout_s=60, pool=3),
        StartPolicy(idle_timeout_s=60, ping_every_s=45, ping_for_s=180, pool=2),
    ],
    ids=lambda policy: policy.name,
)
@pytest.mark.parametrize("think", [ThinkTimes.exponential(60), ThinkTimes.observed([5, 20, 50, 70, 130, 400])])
def test_the_formulas_agree_with_a_simulation_of_poisson_arrivals(policy: StartPolicy, think: ThinkTimes) -> None:
    flow = traffic(sessions_per_day=20_000, calls_per_session=3.5, think=think, ended_share=0.4)
    measured = starts(cold_s=6.0, n=20)
    simulated = simulate_starts(measured, flow, policy, sessions=60_000, seed=11)
    outcome = only(measured, policy, flow)

    def near(share: float, formula: float | None, n: int) -> bool:
        assert formula is not None
        return abs(share - formula) <= 4.5 * math.sqrt(max(formula * (1 - formula), 1e-4) / n)

    assert near(simulated.later_cold_share, outcome.later_cold.value, simulated.calls - simulated.sessions)
    # Sessions that meet a full pool come in runs, so fewer of them are independent.
    assert near(simulated.first_cold_share, outcome.first_cold.value, simulated.sessions // 4)
    assert near(simulated.cold_share, outcome.cold.value, simulated.calls // 4)
    seconds = simulated.idle_s / simulated.sessions * 20_000 * MONTH
    assert (outcome.idle.value or 0) == pytest.approx(seconds * 0.6 * MEMORY, rel=0.01)
    alone = only(measured, replace(policy, pool=0), flow)
    pinged = simulated.kept_s * 0.6 * MEMORY + simulated.pings * 0.5 * CPU
    assert (alone.prewarm.value or 0) == pytest.approx(pinged / simulated.sessions * 20_000 * MONTH, rel=0.02)


def test_a_simulation_is_repeated_by_its_seed() -> None:
    policy = StartPolicy(pool=1)
    one, same, other = (simulate_starts(starts(), traffic(), policy, sessions=500, seed=seed) for seed in (1, 1, 2))
    assert one == same != other


def test_the_answer_names_the_cheapest_policy_that_meets_the_limit_and_its_cost() -> None:
    economics = compare_policies([starts("V1", cold_s=14.0), starts("V2")], traffic(), max_p90_ms=3000)
    best = economics.cheapest
    assert best is not None
    met = [outcome for outcome in economics.outcomes if (outcome.p90.high or math.inf) <= 3000]
    assert best.usd.value == min(outcome.usd.value or math.inf for outcome in met)
    assert best.policy.pool > 0
    assert best.platform == "V2"
    first, *rest = economics.sentences()
    assert first.startswith(f"The cheapest policy that answers 9 of 10 calls within 3 s is {best.name}: $")
    assert "a month at list prices of 13 Jun 2026" in first
    assert any(sentence.startswith("The limit costs $") for sentence in rest)
    assert any("on Lambda" in sentence and "on ECS Fargate" in sentence for sentence in rest)
    assert not any("imulated" in sentence for sentence in economics.sentences())


def test_a_limit_that_no_policy_meets_is_named_with_the_fastest_policy() -> None:
    economics = compare_policies(starts(), traffic(), max_p90_ms=500)
    assert economics.cheapest is None
    assert economics.sentences()[0].startswith("No policy answers 9 of 10 calls within 500 ms: the fastest, ")
    assert economics.gate(100).outcome == "unclear"


def test_a_policy_with_too_few_calls_for_a_p90_may_still_meet_the_limit() -> None:
    measured = MeasuredStarts.given(
        "V2",
        cold_ms=[2000.0 + 10 * number for number in range(20)],
        warm_ms=[100.0 + number for number in range(5)],
        vcpu_s=0.1,
        memory_gb=0.5,
    )
    economics = compare_policies(measured, traffic(sessions_per_day=2000, calls_per_session=1), max_p90_ms=500)
    assert {outcome.outcome for outcome in economics.outcomes if outcome.policy.pool} == {"unclear"}
    first, second, *_ = economics.sentences()
    assert first.startswith(
        "No policy is shown to answer 9 of 10 calls within 500 ms: too few calls were measured to tell whether “pool of"
    )
    assert "the fastest, “no pre-warming, idle timeout 1 min 00 s” on platform V2, has a p90 of 2.18 s" in first
    assert second.startswith("Elsewhere the same traffic costs ")


def test_without_a_limit_the_answer_has_a_p90_only_where_enough_calls_were_measured() -> None:
    measured = MeasuredStarts.given("V2", cold_ms=[2000.0] * 3, warm_ms=[100.0] * 3, vcpu_s=0.1, memory_gb=0.5)
    text = compare_policies(measured, traffic()).sentences()[1]
    assert text.startswith("Then ")
    assert "too small" not in text


def test_a_policy_whose_interval_contains_the_limit_is_not_the_answer() -> None:
    calls = [1000.0 * factor for factor in np.random.default_rng(2).lognormal(0, 0.5, 60)]
    measured = MeasuredStarts.given("V2", cold_ms=calls, warm_ms=calls, vcpu_s=0.1, memory_gb=0.3, source="study 1")
    p90 = only(measured, IDLE).p90
    assert p90.value is not None
    economics = compare_policies(measured, traffic(), policies=[IDLE], max_p90_ms=p90.value * 1.001)
    assert economics.cheapest is None
    assert economics.cheapest_unclear is not None
    assert economics.sentences()[0].startswith("No policy is shown to answer 9 of 10 calls within")


def test_every_figure_from_measurements_has_an_interval_that_contains_it() -> None:
    calls = np.random.default_rng(4).lognormal(0, 0.4, 60) * 1000
    measured = MeasuredStarts.given(
        "V1", cold_ms=list(calls * 3), warm_ms=list(calls), vcpu_s=0.2, memory_gb=0.4, source="study 1"
    )
    for outcome in compare_policies(measured, traffic(think=ThinkTimes.observed([10, 90, 400, 50, 70, 2000]))).outcomes:
        for figure in (outcome.p50, outcome.p90, outcome.usd, outcome.cold, outcome.later_cold):
            assert figure.low is not None
            assert figure.high is not None
            assert figure.low < figure.high


def test_no_long_think_time_among_a_few_does_not_mean_that_no_call_is_cold() -> None:
    later = only(starts(), IDLE, traffic(think=ThinkTimes.observed([10] * 20))).later_cold
    assert (later.value, later.low, later.n) == (0, 0, 20)
    assert later.high == pytest.approx(0.161, abs=0.001)  # Wilson's interval of 0 of 20


def test_too_few_calls_give_no_figure() -> None:
    outcome = only(starts(n=5), IDLE)
    assert (outcome.p90.value, outcome.p90.needed_n, outcome.usd.value) == (None, 6, None)
    assert "Too few calls" in compare_policies(starts(n=5, source="given"), traffic(), max_p90_ms=9).sentences()[0]


def test_a_cost_without_cpu_time_or_memory_is_unknown_until_it_is_assumed() -> None:
    times = [1000.0 + number for number in range(40)]
    measured = MeasuredStarts.given("V2", cold_ms=times, warm_ms=times, source="study 1")
    economics = compare_policies(measured, traffic())
    assert economics.sentences()[0] == "No policy has a known cost: unknown: CPU time and memory not measured."
    assumed = StartAssumptions(vcpu_s_per_call=0.3, start_vcpu_s=2.0, memory_gb=0.5)
    with_assumptions = compare_policies(measured, traffic(), assumptions=assumed)
    assert with_assumptions.cheapest is not None
    rows = with_assumptions.assumption_table()
    assert rows.loc["V2, CPU of a cold call with its start", "value"] == "2.3 vCPU-s"
    assert rows.loc["V2, CPU of a warm call", "from"] == "assumed"


def test_simulated_times_are_marked_wherever_the_answer_is() -> None:
    measured = replace(starts(), labels=("local AgentCore", "model: scripted (simulated)"))
    economics = compare_policies(measured, traffic())
    assert "simulated times" in economics.sentences()[0]
    assert any(sentence.startswith("Simulated:") for sentence in economics.sentences())
    assert "simulated" in economics.title()
    assert "simulated" in economics.figure().data[0].name
    assert economics.summary()["is_simulated"]


def test_what_would_change_the_answer_is_computed_again_with_each_change() -> None:
    economics = compare_policies(starts(), traffic(), max_p90_ms=3000)
    changes = {change.change: change for change in economics.changes}
    assert not changes["nothing"].is_other
    assert economics.cheapest is not None
    assert changes["nothing"].usd == pytest.approx(economics.cheapest.usd.value)
    again = compare_policies(starts(), traffic(sessions_per_day=10_000), max_p90_ms=3000)
    met = [one.usd.value or 0 for one in again.outcomes if (one.p90.value or math.inf) <= 3000]
    assert changes["10 times the sessions"].usd == pytest.approx(min(met))
    assert changes["a limit of 1.50 s"].policy == "none meets the limit"
    assert changes["a limit of 6 s"].is_other
    ((name, fargate),) = [(name, change) for name, change in changes.items() if "ECS" in change.policy]
    sessions = float("".join(filter(str.isdigit, name.partition(" sessions")[0])))
    at = compare_policies(starts(), traffic(sessions_per_day=sessions), max_p90_ms=3000)
    assert at.cheapest is not None
    assert at.cheapest.usd.value == pytest.approx(fargate.usd, rel=0.03)


def test_every_price_is_shown_with_region_date_and_source_and_can_be_replaced(tmp_path: Path) -> None:
    table = compare_policies(starts(), traffic()).price_table()
    assert (table != "–").all().all()
    assert table.loc["managed agents, while a session runs", "price"] == "$0.08 per session-hour"
    own = tmp_path / "prices.toml"
    own.write_text("[runtime]\nmemory_per_gb_hour = 0.0189\n")
    before, after = (only(starts(), IDLE, prices=price_table(file)) for file in (None, own))
    assert after.idle.value == pytest.approx(2 * (before.idle.value or 0))


def test_prices_in_another_currency_are_refused(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text('currency = "EUR"\n[runtime]\nmemory_per_gb_hour = 0.0189\n')
    with pytest.raises(ValueError, match="not in EUR"):
        compare_policies(starts(), traffic(), prices=price_table(own))


def test_the_page_the_summary_and_the_chart_hold_every_policy() -> None:
    economics = compare_policies([starts("V1"), starts("V2")], traffic(), max_p90_ms=3000)
    count = 2 * len(usual_policies())
    assert len(economics.table()) == len(economics.outcomes) == count
    summary = json.loads(json.dumps(economics.summary(), allow_nan=False))
    assert summary["format"] == "loom.start-economics/1"
    assert len(summary["policies"]) == count
    assert sum(len(trace.x) for trace in economics.figure().data) == count
    page = economics._repr_html_()
    assert "<script" not in page
    assert page.index("The cheapest policy") < page.index("<table")
    assert economics.gate(1).is_missed
    assert economics.gate(10_000).outcome == "passed"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: StartPolicy(idle_timeout_s=60, ping_every_s=60),
        lambda: StartPolicy(pool=-1),
        lambda: StartPolicy(idle_timeout_s=30_000),
        lambda: ThinkTimes.observed([]),
        lambda: ThinkTimes.exponential(0),
        lambda: traffic(calls_per_session=0.5),
        lambda: traffic(hours_per_day=25),
        lambda: traffic(ended_share=1.1),
        lambda: StartAssumptions(lambda_memory_gb=-1),
        lambda: StartAssumptions(fargate_share=1),
        lambda: MeasuredStarts.given("V3", cold_ms=[1], warm_ms=[1]),
        lambda: MeasuredStarts.given("V2", cold_ms=[], warm_ms=[1]),
        lambda: MeteredCall(duration_ms=math.nan),
        lambda: compare_policies([starts(), starts()], traffic()),
        lambda: compare_policies(starts(), traffic(), policies=[]),
        lambda: compare_policies(starts(), traffic(), moment="first byte"),
    ],
)
def test_impossible_values_are_refused(wrong) -> None:
    with pytest.raises(ValueError):
        wrong()


def test_a_policy_is_named_in_words() -> None:
    assert StartPolicy(idle_timeout_s=900, pool=1).name == "pool of 1 session, idle timeout 15 min 00 s"
    assert StartPolicy().name == "no pre-warming, idle timeout 15 min 00 s"
    assert StartPolicy(ping_every_s=600, ping_for_s=100).name == "no pre-warming, idle timeout 15 min 00 s"


def test_traffic_is_read_from_calls() -> None:
    calls = [("a", 0.0, 2.0), ("a", 32.0, 33.0), ("b", 86_400.0, 86_401.0), ("b", 172_790.0, 172_800.0)]
    flow = SessionTraffic.of_calls(calls)
    assert (flow.sessions_per_day, flow.calls_per_session) == (1.0, 2.0)
    assert flow.think.observed_s == (30.0, 86_389.0)
    with pytest.raises(ValueError, match="no session has two calls"):
        SessionTraffic.of_calls([("a", 0.0, 1.0)])


class SlowStarts(ScriptedAgent):
    """An agent on V2 whose first call in a session takes 300 ms, every later one 20 ms."""

    platform_version = "V2"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.script = lambda _number, _labels: Reply(
            duration_ms=300 if [session for session, _ in self.made].count(self.made[-1][0]) == 1 else 20
        )


def test_a_latency_study_gives_its_cold_and_warm_calls_with_their_use(store: Store) -> None:
    result = LatencyStudy(SlowStarts(store), cold=8, warm=8, sticky=4, find_starts=False).run(Silent())
    uses = {
        call.invocation_id: RuntimeUse.during(0.3, active_vcpus=1, memory_gb=0.5)
        for call in result.calls
        if call.scenario == "cold" and call.invocation_id is not None
    }
    (measured,) = measured_starts(result, uses)
    assert (measured.platform, len(measured.cold), len(measured.warm)) == ("V2", 8, 12)
    assert {call.duration_ms for call in measured.cold} == {300.0}
    assert {call.vcpu_s for call in measured.cold} == {0.3}
    assert measured.is_simulated
    assert measured.use_basis == "estimated for 0.3 s"


def test_a_study_of_pre_warmed_sessions_gives_its_gaps_without_pings_as_cold(store: Store) -> None:
    result = PrewarmStudy(
        SlowStarts(store), gaps=2, idle_timeout_s=0.1, gap_s=0.15, ping_every_s=(0, 0.06)
    ).run(Silent())  # fmt: skip
    (measured,) = measured_starts(result)
    assert (len(measured.cold), len(measured.warm)) == (2, 2)


def test_a_call_after_failed_pings_is_not_taken_for_a_warm_one(store: Store) -> None:
    agent = SlowStarts(store)
    agent.script = lambda _number, labels: Reply(failure="throttle" if "ping" in labels else None)
    result = PrewarmStudy(agent, gaps=1, idle_timeout_s=0.1, gap_s=0.15, ping_every_s=(0, 0.06)).run(Silent())
    with pytest.raises(StudyError, match="no answered warm call"):
        measured_starts(result)


def test_a_study_without_a_platform_or_without_cold_calls_is_refused(store: Store) -> None:
    agent = ScriptedAgent(store)
    with pytest.raises(StudyError, match="platform version"):
        measured_starts(LatencyStudy(agent, cold=1, warm=1, sticky=0, find_starts=False).run(Silent()))
    with pytest.raises(StudyError, match="no answered cold call"):
        measured_starts(LatencyStudy(SlowStarts(store), cold=0, warm=2, sticky=0, find_starts=False).run(Silent()))
