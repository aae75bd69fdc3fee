"""Assignment of sessions, and the evaluation of an A/B test."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from decimal import Decimal

import pytest

import loomlib as loom
from loomlib.evals.evaluators.functions import FunctionEvaluator
from loomlib.evals.values.answers import CaseAnswer
from loomlib.releases.ab_analysis import analyze
from loomlib.releases.ab_design import AbArm, AbDesign
from loomlib.store import AbCall
from loomlib.workbench.ab_scores import conversation_scores


def design(share=0.1, sessions=40, id="t1"):
    arms = (
        AbArm(name="control", version="3", endpoint="prod", share=1 - share),
        AbArm(name="treatment", version="4", endpoint="prod_v4", share=share),
    )
    return AbDesign(id=id, endpoint="prod", arms=arms, sessions=sessions)


def call(session, duration=100.0, failure=None, cost="0.001", unknown=0):
    status = "error" if failure else "complete"
    known_cost = None if cost is None else Decimal(cost)
    return AbCall(session, status, failure, duration, known_cost, unknown, "USD")


def arms_of(control, treatment):
    """The arms of sessions that join in turn."""
    arms = {}
    for at in range(max(control, treatment)):
        arms |= {f"c{at}": "control"} if at < control else {}
        arms |= {f"t{at}": "treatment"} if at < treatment else {}
    return arms


def test_a_session_always_gets_the_same_version_and_the_shares_are_held():
    planned = design(0.1)
    sessions = [f"session-{number:030}" for number in range(20_000)]
    arms = [planned.arm_of(session).name for session in sessions]
    assert arms == [design(0.1).arm_of(session).name for session in sessions]
    assert 0.093 <= arms.count("treatment") / len(arms) <= 0.107
    other = [design(0.1, id="t2").arm_of(session).name for session in sessions]
    both = sum(one == two == "treatment" for one, two in zip(arms, other, strict=True))
    assert 140 <= both <= 260  # two tests divide the sessions independently


def test_the_documented_formula_gives_the_arm_to_clients_in_other_languages():
    digest = hashlib.sha256(b"t1:session-1").digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    assert design(0.5).arm_of("session-1").name == ("control" if share < 0.5 else "treatment")


@pytest.mark.parametrize(
    ("shares", "complaint"), [((0.5, 0.6), "add up to 1, not 0.5 and 0.6"), ((1.0, 0.0), "above 0")]
)
def test_shares_that_do_not_add_up_are_refused(shares, complaint):
    arms = [
        AbArm(name=name, version=version, endpoint="e", share=share)
        for name, version, share in zip(("control", "treatment"), ("1", "2"), shares, strict=True)
    ]
    with pytest.raises(ValueError, match=complaint):
        AbDesign(id="x", endpoint="e", arms=tuple(arms), sessions=40)


def test_one_version_twice_and_too_few_sessions_are_refused():
    again = replace(design().treatment, version="3")
    with pytest.raises(ValueError, match="both arms serve version 3"):
        AbDesign(id="x", endpoint="e", arms=(design().control, again), sessions=40)
    with pytest.raises(ValueError, match="plan at least 12 sessions"):
        design(sessions=10)


def test_a_failed_call_is_no_zero_in_the_mean_latency():
    arms = arms_of(20, 20)
    calls = [call(session, 100.0 + at) for at, session in enumerate(arms)]
    calls += [call(session, 1.0, failure="timeout") for session in list(arms)[:10]]
    result = analyze(design(0.5, 40), arms, calls)
    assert 100 < result["latency"].control.value < 140
    assert result["failure rate"].control.value > 0
    assert result["latency"].unknown == (0, 0)


def test_sessions_whose_every_call_failed_or_whose_cost_is_unknown_are_left_out_and_counted():
    arms = arms_of(20, 20)
    calls = [call(session, 100.0 + at, failure="timeout" if at < 4 else None) for at, session in enumerate(arms)]
    calls = [one._replace(unknown_items=1) if one.session_id == "t19" else one for one in calls]
    result = analyze(design(0.5, 40), arms, calls)
    assert result["latency"].sessions == (18, 18)
    assert result["latency"].unknown == (2, 2)
    assert result["cost"].unknown == (0, 1)
    assert any("latency: unknown for 2 and 2 sessions" in note for note in result.notes)


@pytest.mark.parametrize("failure", ["cancelled", "interrupted"])
def test_calls_that_the_caller_ended_count_in_no_figure(failure):
    arms = arms_of(20, 20)
    answered = [call(session, 100.0 + at) for at, session in enumerate(arms)]
    ended = [call(session, 9.0, failure=failure, cost=None) for session in arms if session[0] == "t"]
    assert analyze(design(0.5, 40), arms, answered + ended) == analyze(design(0.5, 40), arms, answered)


def test_the_session_is_the_unit_not_the_call():
    arms = arms_of(12, 12)
    once = [call(session, 100.0 + 7 * at % 50) for at, session in enumerate(arms)]
    many = [one for one in once for _ in range(50)]
    first, second = analyze(design(0.5, 24), arms, once), analyze(design(0.5, 24), arms, many)
    assert first["latency"].p_value == second["latency"].p_value
    assert second["latency"].sessions == (12, 12)


def test_nothing_is_decided_before_the_planned_number_of_sessions():
    arms = arms_of(15, 15)
    calls = [call(s, (100.0 if s[0] == "c" else 500.0) + at) for at, s in enumerate(arms)]
    early = analyze(design(0.5, 40), arms, calls)
    assert early.is_early
    assert early["latency"].p_value < 0.001
    assert early["latency"].verdict(is_early=True) == "not decided yet"
    assert "30 of 40 planned sessions analyzed: nothing is decided yet" in early.sentence()
    final = analyze(design(0.5, 30), arms, calls)
    assert final["latency"].verdict(is_early=final.is_early) == "worse"
    assert "After 30 sessions, version 4 against version 3: latency worse (p < 0.001)." in final.sentence()
    assert final["failure rate"].verdict(is_early=False) == "no variation"
    assert final["cost"].verdict(is_early=False) == "no variation"


def test_a_version_that_fails_every_call_is_worse_and_its_rival_is_better():
    arms = arms_of(20, 20)
    for failing, verdict in (("t", "worse"), ("c", "better")):
        calls = [call(session, failure="agent_error" if session[0] == failing else None) for session in arms]
        scores = {"exact": {session: [float(session[0] != failing)] for session in arms}}
        result = analyze(design(0.5, 40), arms, calls, scores)
        assert f"exact {verdict} (p < 0.001), failure rate {verdict} (p < 0.001)" in result.sentence()
        assert "no value varies within the groups" in result.rows()[0]["difference [95 %]"]


def test_sessions_after_the_planned_number_do_not_change_the_result():
    arms = arms_of(40, 40)
    calls = [call(s, 100.0 + at % 17) for at, s in enumerate(arms)]
    planned = analyze(design(0.5, 40), dict(list(arms.items())[:40]), calls)
    later = analyze(design(0.5, 40), arms, calls)
    assert later["latency"].p_value == planned["latency"].p_value
    assert any("40 later sessions are not" in note for note in later.notes)


def test_lost_sessions_are_noticed():
    arms = arms_of(100, 20)
    calls = [call(session) for session in arms]
    result = analyze(design(0.5, 120), arms, calls)
    assert result.share_p < 0.001
    assert any("do not match the planned shares" in note for note in result.notes)
    assert analyze(design(20 / 120, 120), arms, calls).share_p > 0.9


def test_scores_are_compared_by_session_and_p_values_are_adjusted_for_the_number_of_metrics():
    arms = arms_of(30, 30)
    scores = {"exact": {s: [1.0 if s[0] == "t" or at % 4 else 0.0] for at, s in enumerate(arms)}}
    result = analyze(design(0.5, 60), arms, [call(s, 100.0 + at % 9) for at, s in enumerate(arms)], scores)
    exact = result["exact"]
    assert exact.treatment.value == 1.0
    assert exact.adjusted_p > exact.p_value
    assert [metric.name for metric in result.metrics] == ["exact", "failure rate", "latency", "cost"]
    assert result.to_dict()["metrics"][0]["sessions"] == [30, 30]


def calls_of_a_test(store, scope="local"):
    """The calls of a test whose session was in use before it joined and is in use after the test ended."""
    arn = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/calculator-AbC123dEf4"
    agent_id = store.agents.upsert(
        scope=scope, arn=arn, runtime_id="calculator-AbC123dEf4", name="calculator", status="READY", region="us-east-1",
        account_id="123456789012", log_group="/x", available_qualifiers=["DEFAULT"], raw_metadata={},
    ).id  # fmt: skip

    def invoke(duration_ms, failure=None):
        key = store.invocations.begin(agent_id=agent_id, session_id="user-1", prompt="Hi", client_invoke_time=1.0)
        status = "error" if failure else "complete"
        store.invocations.finish(
            key, status=status, response="4", client_done_time=2.0, client_duration_ms=duration_ms, failure=failure
        )

    invoke(5000.0, "agent_error")
    store.releases.start_test("t1", scope, arn, "prod", {})
    store.releases.join_test("t1", "user-1", "treatment")
    invoke(100.0)
    invoke(200.0)
    running = store.releases.calls("t1", agent_id)
    store.releases.stop_test("t1")
    invoke(7777.0)
    assert store.releases.calls("t1", agent_id) == running
    return running


def test_only_calls_between_the_joining_of_a_session_and_the_end_of_the_test_count(store):
    assert [call.duration_ms for call in calls_of_a_test(store)] == [100.0, 200.0]


def test_only_the_turns_of_a_conversation_that_belong_to_the_test_are_scored(tmp_path):
    def has_two_turns(answer: CaseAnswer):
        return len(answer.turns) == 2

    bench = loom.connect("aws", region="us-east-1", home=tmp_path)
    calls = calls_of_a_test(bench.context.store, scope="aws")
    entry = bench.context.catalog.get("calculator")
    evaluator = FunctionEvaluator(function=has_two_turns, name="two turns")
    scores = conversation_scores(bench.context, entry, ["user-1"], calls, [evaluator])
    assert scores == {"two turns": {"user-1": [1.0]}}
    bench.close()
