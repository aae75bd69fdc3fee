"""What a load test says of stored steps and traces: its first sentence, its limit, its table and its gate."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from new_store import new_store

from loomlib.errors import StudyError
from loomlib.experiments import StudyLedger, UnitOutcome
from loomlib.latency.load.bodies import SameBody
from loomlib.latency.load.calls import LoadCall
from loomlib.latency.load.engine import LoadStep
from loomlib.latency.load.plans import plan_load
from loomlib.latency.load.sessions import ColdSessions, Conversations, PreWarmedPool, SessionScenario, WarmSessions
from loomlib.latency.load_test import LoadDesign, LoadResult
from loomlib.latency.load_test.estimate import LoadEstimate, check_allowed, estimate_load
from loomlib.latency.load_test.next_step import MeasuredStep, PlannedStep, next_step
from loomlib.latency.load_test.steps import step_details
from loomlib.latency.load_test.traffic import stored_value
from loomlib.store import StudyRow

SLO = "p90 TTFT < 800 ms, errors < 1 %"
ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/desk-AbC123dEf4"
LATE = 0.4


def calls_at(load: float, ttft_ms: float, *, failed: int = 0, late_ms: float = 0.0) -> list[LoadCall]:
    """Calls of ten seconds whose latency varies by a tenth; the first ones fail by a throttle."""
    chance = random.Random(load)
    calls: list[LoadCall] = []
    for index in range(round(10 * load)):
        at_s = index / load
        done_s = at_s + (ttft_ms * chance.uniform(0.9, 1.1) + late_ms) / 1e3
        is_failed = index % 3 == 0 and index // 3 < failed
        calls.append(
            LoadCall(
                index=index,
                session_id="s" * 33,
                state="failed" if is_failed else "complete",
                intended_s=at_s,
                sent_s=at_s + late_ms / 1e3,
                first_byte_s=None if is_failed else done_s,
                done_s=done_s,
                status=429 if is_failed else 200,
                failure="throttle" if is_failed else None,
                connect_ms=2.0 if index < 3 else 0.0,
            )
        )
    return calls


def parts(waiting_ms: float, *, model_ms: float = 100.0, n: int = 20, usd: float | None = 0.00042) -> dict[str, Any]:
    """Where the time of calls went, as it is stored."""
    part_ms = {"service_network": 10.0, "agent": 20.0 + waiting_ms, "model": model_ms, "tools": 0.0}
    return {
        "n": n,
        "calls": 20,
        "states": {"found": n},
        "total_ms": sum(part_ms.values()) if n else 0.0,
        "part_ms": part_ms if n else {},
        "p50_ms": {},
        "span_ms": {"wait for a free worker": waiting_ms, "POST /invocations": 20.0},
        "usd": usd,
        "usd_interval": None,
        "usd_is_partial": False,
        "why_unknown": "" if usd is not None else "the span states no usage",
        "is_simulated": True,
        "is_estimate": True,
    }


def stored(
    tmp_path: Path,
    steps: dict[float, list[LoadCall]],
    *,
    highest: dict[str, Any] | None = None,
    slo: str = SLO,
    state: str = "complete",
    labels: tuple[str, ...] = ("local AgentCore", "model: scripted (simulated)"),
    **environment: Any,
) -> LoadResult:
    """A load test whose steps are stored."""
    store = new_store(tmp_path)
    design = LoadDesign(slo=slo, loads=() if highest else tuple(steps), seconds=10, sessions=2, prompt="Hello")
    environment |= {"qualifier": "DEFAULT"} | ({"highest": highest} if highest else {})
    row = StudyRow(
        id="load-1",
        scope="local",
        agent_arn=ARN,
        agent_name="desk",
        design=design.stored(),
        created_at=datetime.now(UTC),
        environment=environment,
        labels=labels,
    )
    ledger = StudyLedger(store, "load-1")
    ledger.open(row, design.planned(), resume="")
    units = LoadResult.load(store, "load-1").steps
    for unit, (load, calls) in zip(units, steps.items(), strict=False):
        step = LoadStep(calls=calls, cpu_s=0.1, started_at=datetime.now(UTC), processes=2)
        details = step_details(step, calls, design.limits, load=load, seconds=10, elapsed_s=10.5, users=False)
        ledger.claim(unit)
        ledger.record(unit, UnitOutcome(values={"duration_ms": 10_500.0}, details=details))
    ledger.save(state, finished=state == "complete")
    return LoadResult.load(store, "load-1")


FOUND = {"load": 14.0, "low": 13.0, "high": 15.0, "is_within_tolerance": True, "reason": "known"}


def test_the_first_sentence_says_what_load_holds_why_not_more_and_what_it_costs(tmp_path: Path) -> None:
    steps = {6.0: calls_at(6, 130), 13.0: calls_at(13, 300), 18.0: calls_at(18, 1200)}
    traces = {"0": parts(0), "1": parts(170), "2": parts(410)}
    result = stored(tmp_path, steps, highest=FOUND, traces=traces)
    assert result.sentences()[0] == (
        "The agent sustains 14 calls a second [13–15] with p90 TTFT < 800 ms, errors < 1 %; at 18 calls a second, "
        "calls spent 410 ms longer in the agent's span “wait for a free worker”, 75.9 % of their time; at 13 calls a "
        "second, 1\u202f000 calls cost $0.42 (simulated, not billed)."
    )
    assert [row[0] for row in result.text_table().rows] == ["6", "13", "18"]
    assert result.time_table().shape == (5, 3)
    assert [result.gate(least).outcome for least in (12, 14, 16)] == ["passed", "unclear", "missed"]


def test_the_code_that_runs_the_test_again_has_its_limit_of_a_call(tmp_path: Path) -> None:
    result = stored(tmp_path, {6.0: calls_at(6, 130)})
    assert result.method().run_again.endswith("sessions=2, prompt='Hello', seed=0, timeout_s=60.0).run()")


def test_the_model_is_named_when_its_time_grew_most(tmp_path: Path) -> None:
    traces = {"0": parts(0), "1": parts(30, model_ms=900)}
    result = stored(tmp_path, {6.0: calls_at(6, 130), 18.0: calls_at(18, 1200)}, traces=traces)
    assert (
        "at 18 calls a second, calls waited 800 ms longer for the model, 93.8 % of their time" in result.sentences()[0]
    )


def test_a_late_client_is_the_limit_and_not_the_agent(tmp_path: Path) -> None:
    steps = {6.0: calls_at(6, 130), 18.0: calls_at(18, 130, late_ms=900)}
    result = stored(tmp_path, steps, traces={"0": parts(0), "1": parts(0)})
    first = result.sentences()[0]
    assert first.startswith("As far as this client can tell, the agent sustains 6 calls a second but not 18 ")
    assert "at 18 calls a second, this client was the limit, not the agent: it sent calls 900 ms late" in first


def test_refused_calls_are_a_quota_and_count_as_failures_never_as_fast_answers(tmp_path: Path) -> None:
    result = stored(tmp_path, {6.0: calls_at(6, 130), 18.0: calls_at(18, 130, failed=40)})
    first, *others = result.sentences()
    assert "at 18 calls a second, AgentCore refused" in first
    assert "(HTTP 429): a quota" in first
    assert any("40 throttle" in text for text in others)
    _, last = result.text_table().rows
    assert last[3].startswith("40 ")
    assert last[5].startswith("1") or last[5].startswith("130")


@pytest.mark.parametrize(("failed", "share"), [(60, "33.3 %"), (30, "16.7 %")])
def test_the_share_of_refused_calls_is_one_of_all_calls_of_the_step(tmp_path: Path, failed: int, share: str) -> None:
    result = stored(tmp_path, {6.0: calls_at(6, 130), 18.0: calls_at(18, 130, failed=failed)})
    assert f"at 18 calls a second, AgentCore refused {share} of the calls (HTTP 429): a quota" in result.sentences()[0]


def test_when_all_calls_are_refused_the_share_is_one(tmp_path: Path) -> None:
    refused_calls = [
        replace(call, state="failed", first_byte_s=None, status=429, failure="throttle") for call in calls_at(18, 130)
    ]
    result = stored(tmp_path, {6.0: calls_at(6, 130), 18.0: refused_calls})
    assert "AgentCore refused 100 % of the calls" in result.sentences()[0]


def test_without_traces_it_says_so_and_tells_what_the_socket_knows(tmp_path: Path) -> None:
    empty = {"0": parts(0, n=0, usd=None), "1": parts(0, n=0, usd=None)}
    result = stored(tmp_path, {6.0: calls_at(6, 130), 18.0: calls_at(18, 1200)}, traces=empty)
    first = result.sentences()[0]
    assert "no traces: the calls' spans were not exported" in first
    assert "the first byte came 1." in first
    assert "the cost of 1\u202f000 calls is unknown: the span states no usage" in first
    assert "No traces: the calls' spans were not exported." in result.sentences()


def test_a_load_test_without_a_load_beyond_claims_no_limit(tmp_path: Path) -> None:
    result = stored(tmp_path, {6.0: calls_at(6, 130), 12.0: calls_at(12, 140)}, traces={"0": parts(0), "1": parts(0)})
    assert result.sentences()[0].startswith(
        f"As far as 96 calls can tell, the agent sustains 12 calls a second with {SLO}, "
        "the highest load that was offered; at 12 calls a second"
    )
    assert result.gate(12).outcome == "unclear"  # without an error in 96 calls, one in a hundred may fail
    assert result.gate(13).outcome == "unclear"


def test_an_agent_that_is_too_slow_at_any_load_holds_none(tmp_path: Path) -> None:
    result = stored(tmp_path, {6.0: calls_at(6, 1300), 12.0: calls_at(12, 1400)})
    assert result.sentences()[0].startswith(f"The agent does not sustain even 6 calls a second with {SLO}")
    assert result.gate(1).outcome == "unclear"
    assert result.gate(6).outcome == "missed"
    alone = stored(tmp_path / "alone", {6.0: calls_at(6, 1300)}, traces={"0": parts(0)}).sentences()[0]
    assert "; at 6 calls a second, the lowest load, most of a call's time is “model” (76.9 %); " in alone
    unknown = stored(tmp_path / "unknown", {6.0: calls_at(6, 1300)}).sentences()[0]
    assert "the SLO is not met; the reason is unknown without traces" in unknown


def test_an_unfinished_test_says_so(tmp_path: Path) -> None:
    result = stored(tmp_path, {6.0: calls_at(6, 130)}, highest=None, state="interrupted")
    assert any(text.startswith("This load test is not finished: 1 step measured") for text in result.sentences())


def test_the_next_step_of_a_search_follows_from_the_steps_before() -> None:
    design = LoadDesign(slo=SLO, lowest=1, highest=64, seconds=30, prompt="Hello")
    steps: list[MeasuredStep] = []
    loads: list[float] = []
    while isinstance(planned_step := next_step(design, steps), PlannedStep):
        assert next_step(design, steps) == planned_step
        loads.append(planned_step.load)
        calls = calls_at(planned_step.load, 130 if planned_step.load < 20 else 1200)
        steps.append(MeasuredStep(calls=lambda calls=calls: calls, elapsed_s=planned_step.seconds + LATE))
    assert planned_step is not None
    assert loads[:3] == [8, 16, 32]
    assert sum(step.elapsed_s for step in steps) < 35


@pytest.mark.parametrize(("highest", "most_users"), [(56, 3), (56, 4), (40, 2), (50, 1), (20, 7)])
def test_a_search_over_users_ends_at_two_neighbouring_numbers_of_users(highest: int, most_users: int) -> None:
    design = LoadDesign(slo=SLO, arrivals="closed", highest=highest, seconds=60, prompt="Hello")
    steps: list[MeasuredStep] = []
    loads: list[float] = []
    while isinstance(planned_step := next_step(design, steps), PlannedStep):
        loads.append(planned_step.load)
        calls = calls_at(60, 130 if planned_step.load <= most_users else 1200)
        steps.append(MeasuredStep(calls=lambda calls=calls: calls, elapsed_s=planned_step.seconds + LATE))
    assert planned_step is not None
    assert (planned_step.load, planned_step.low, planned_step.high) == (most_users, most_users, most_users + 1)
    assert len(loads) == len(set(loads))


class Subject:
    """What the estimate asks of an agent."""

    name, scope = "desk", "aws"

    def mean_cost(self) -> tuple[float, int] | None:
        return 0.002, 20


def test_on_aws_many_calls_are_refused_before_the_first_one() -> None:
    design = LoadDesign(slo=SLO, highest=200, seconds=60, sessions=0, prompt="Hello")
    estimate: LoadEstimate = estimate_load(design, Subject())  # pyright: ignore[reportArgumentType]
    assert "at most 12\u202f329 calls" in str(estimate)
    assert "at most $24.66 at the mean cost of its last 20 calls" in str(estimate)
    assert "quota of 100 new sessions a minute" in str(estimate)
    with pytest.raises(StudyError, match=r"most_calls=12329"):
        check_allowed(estimate, design, Subject())  # pyright: ignore[reportArgumentType]
    users = LoadDesign(slo=SLO, arrivals="closed", loads=(4,), prompt="Hello")
    with pytest.raises(StudyError, match="needs a limit"):
        check_allowed(estimate_load(users, Subject()), users, Subject())  # pyright: ignore[reportArgumentType]
    limited = LoadDesign(slo=SLO, arrivals="closed", loads=(4, 8), seconds=600, most_calls=80, prompt="Hello")
    assert len(limited.arrivals_at(4, 600).starts(600, seed=0)) == 40


@pytest.mark.parametrize(
    ("scenario", "arrivals"),
    [
        (WarmSessions(sessions=200, keep_alive_s=5), "constant"),
        (WarmSessions(sessions=7, keep_alive_s=0.7), "constant"),
        (WarmSessions(sessions=3), "poisson"),
        (PreWarmedPool(size=2_000), "poisson"),
        (PreWarmedPool(size=5), "poisson"),
        (ColdSessions(), "bursty"),
        (Conversations(turns=20), "poisson"),
    ],
)
def test_a_load_test_never_plans_more_calls_than_its_estimate(scenario: SessionScenario, arrivals: str) -> None:
    for seed in range(20):
        design = LoadDesign(
            slo=SLO, arrivals=arrivals, loads=(1, 2, 3), seconds=60, scenario=stored_value(scenario), sessions=0,
            seed=seed, prompt="Hello",
        )  # fmt: skip
        plans = [
            plan_load(
                design.arrivals_at(load, 60),
                SameBody(prompt="Hello"),
                seconds=60,
                run="r",
                seed=seed + position,
                sessions=design.session_scenario(),
            )
            for position, load in enumerate(design.loads)
        ]
        opening = [len(plan.before) for plan in plans]
        planned = sum(len(plan.calls) for plan in plans) + (opening[0] if design.keeps_sessions else sum(opening))
        assert planned <= estimate_load(design, Subject()).calls  # pyright: ignore[reportArgumentType]


def test_on_aws_calls_that_keep_sessions_alive_count_towards_the_limit() -> None:
    kept = WarmSessions(sessions=200, keep_alive_s=5)
    design = LoadDesign(slo=SLO, loads=(1, 2, 3), seconds=600, scenario=stored_value(kept), sessions=0, prompt="Hello")
    estimate = estimate_load(design, Subject())  # pyright: ignore[reportArgumentType]
    with pytest.raises(StudyError, match="may make more than the allowed 5\u202f000 calls"):
        check_allowed(estimate, design, Subject())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "wrong",
    [{"arrivals": "often"}, {"lowest": 9, "highest": 3}, {"loads": (0.0,)}, {"slo": "cost < $1"}, {"seconds": 0}],
)
def test_a_design_that_cannot_be_run_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"arrivals|loads|must limit|above 0"):
        LoadDesign(**{"slo": SLO, "prompt": "Hello", **wrong})


def test_the_name_of_a_span_is_text_and_never_markup(tmp_path: Path) -> None:
    before, beyond = parts(0), parts(0)
    before["span_ms"], beyond["span_ms"] = {}, {"<script>{ms}</script>": 410.0}
    before["part_ms"], beyond["part_ms"] = {"agent": 20.0}, {"agent": 430.0}
    steps = {6.0: calls_at(6, 130), 18.0: calls_at(18, 1200)}
    result = stored(tmp_path, steps, traces={"0": before, "1": beyond})
    assert "span “<script>(ms)</script>”" in result.sentences()[0]
    assert "<script>" not in result._repr_html_()
    assert "<script>" not in str(result.figures()["parts"].to_plotly_json())


def test_a_gate_at_a_fixed_load_holds_fails_or_is_not_decided_by_the_intervals(tmp_path: Path) -> None:
    fast, slow, few = (tmp_path / name for name in ("fast", "slow", "few"))
    passed = stored(fast, {60.0: calls_at(60, 300)}, slo="p90 TTFT < 800 ms, errors < 3 %").gate_at(60)
    assert (passed.outcome, passed.exit_code) == ("passed", 0)
    assert passed.text.startswith(
        "Gate passed: at 60 calls a second, the SLO p90 TTFT < 800 ms, errors < 3 % is met: p90 TTFT 3"
    )
    assert "errors 0 % [0–" in passed.text
    failed = stored(slow, {60.0: calls_at(60, 1300)}).gate_at(60)
    assert (failed.outcome, failed.exit_code) == ("missed", 2)
    assert [objective["outcome"] for objective in failed.data["objectives"]] == ["does not hold", "holds"]
    assert failed.figure.value == pytest.approx(1400, rel=0.05)
    open_ = stored(few, {12.0: calls_at(12, 300)}).gate_at(12)
    assert open_.outcome == "unclear"
    assert re.search(r"about \d+ calls are needed: offer the load for \d", open_.text.replace("\u202f", ""))
    with pytest.raises(ValueError, match="a load that was offered \\(loads=60\\), not 20"):
        stored(tmp_path / "other", {60.0: calls_at(60, 300)}).gate_at(20)


def test_a_client_that_did_not_offer_the_load_in_time_decides_nothing(tmp_path: Path) -> None:
    late = stored(tmp_path, {60.0: calls_at(60, 600, late_ms=450)}).gate_at(60)
    assert late.outcome == "unclear"
    assert "this client sent calls up to 450 ms late (p99), more than the excess over the limit" in late.text
    failing = stored(
        tmp_path / "failing", {60.0: calls_at(60, 100, failed=300, late_ms=20)}, slo="p90 TTFT < 800 ms"
    ).gate_at(60)
    assert failing.outcome == "missed"  # by the calls that failed, not by the 20 ms
