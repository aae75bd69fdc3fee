"""What the calls of a load test are: scenarios and requests of a design, and stored traffic that is repeated."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields
from typing import Any

import pytest

from loomlib.errors import StudyError
from loomlib.latency.load.bodies import GrowingPrompts, PayloadSizes, PromptLengths, SameBody
from loomlib.latency.load.plans import LoadPlan, plan_load
from loomlib.latency.load.replay import StoredTraffic
from loomlib.latency.load.sessions import ColdSessions, Conversations, PreWarmedPool, StickySessions, WarmSessions
from loomlib.latency.load_test import LoadDesign
from loomlib.latency.load_test.next_step import next_step
from loomlib.latency.load_test.traffic import (
    RecordedTraffic,
    read_value,
    requests_sentence,
    scenario_sentence,
    stored_value,
)
from loomlib.store import InvocationRow

SLO = "p90 TTFT < 800 ms"


def bodies(prompt: str) -> SameBody:
    return SameBody(prompt=prompt)


def invocation(id: int, session: str, sent_s: float | None, *, took_s: float = 0.5, **other: Any) -> InvocationRow:
    """A stored invocation."""
    values: dict[str, Any] = dict.fromkeys(field.name for field in fields(InvocationRow)) | {
        "id": id,
        "agent_id": 1,
        "session_id": session,
        "qualifier": "DEFAULT",
        "prompt": f"question {id}",
        "status": "complete",
        "client_invoke_time": sent_s,
        "client_done_time": None if sent_s is None else sent_s + took_s,
    }
    return InvocationRow(**values | other)


def sent(plan: LoadPlan) -> list[str]:
    return [json.loads(call.body)["prompt"] for call in plan.calls]


@pytest.mark.parametrize(
    "value",
    [
        ColdSessions(),
        WarmSessions(sessions=3, keep_alive_s=2.5),
        PreWarmedPool(size=4),
        Conversations(turns=3, think_s=1.5),
        StickySessions(),
        PromptLengths(words_each=(5, 50), is_start_shared=False),
        PayloadSizes(bytes_each=(100, 2_000)),
        GrowingPrompts(first_words=3, words_per_turn=7),
    ],
)
def test_what_a_design_stores_is_read_as_it_was(value: Any) -> None:
    stored = json.loads(json.dumps(stored_value(value)))
    assert read_value(stored) == value
    is_scenario = hasattr(value, "assign")
    sentence = scenario_sentence(value) if is_scenario else requests_sentence(value)
    assert sentence
    assert not sentence.endswith(".")


def test_what_no_design_can_name_is_refused() -> None:
    with pytest.raises(ValueError, match="SameBody is not one of ColdSessions"):
        stored_value(SameBody(prompt="hello"))
    with pytest.raises(StudyError, match="settings that this release does not know"):
        read_value({"class": "Choir"})
    with pytest.raises(StudyError, match="settings that this release does not know"):
        read_value({"class": "Conversations", "tempo": 3})


def test_the_load_of_conversations_and_of_a_ramp_counts_calls() -> None:
    talks = LoadDesign(slo=SLO, loads=(30,), prompt="hello", scenario=stored_value(Conversations(turns=3)))
    plan = plan_load(
        talks.arrivals_at(30, 100), bodies("hello"), seconds=100, run="r", seed=1, sessions=talks.session_scenario()
    )
    assert len(plan.calls) == pytest.approx(3_000, rel=0.1)
    assert len({call.session_id for call in plan.calls}) == len(plan.calls) / 3
    assert not plan.is_scheduled
    assert talks.new_sessions(3_000) == 1_000
    ramp = LoadDesign(slo=SLO, loads=(30,), prompt="hello", arrivals="ramp").arrivals_at(30, 100)
    times = [start.at_s or 0.0 for start in ramp.starts(100, seed=1)]
    assert len(times) == pytest.approx(3_000, rel=0.1)
    assert sum(at_s < 50 for at_s in times) == pytest.approx(750, rel=0.15)


def test_sessions_are_shared_by_steps_only_where_they_are_opened_once() -> None:
    assert LoadDesign(slo=SLO, prompt="hello", sessions=4).keeps_sessions
    assert not LoadDesign(slo=SLO, prompt="hello", sessions=0).keeps_sessions
    pool = LoadDesign(slo=SLO, loads=(1, 2), prompt="hello", scenario=stored_value(PreWarmedPool(size=5)))
    assert not pool.keeps_sessions
    assert pool.new_sessions(20) == 30


def test_stored_traffic_is_repeated_with_its_sessions_prompts_and_think_times() -> None:
    traffic = StoredTraffic.of(
        [
            invocation(4, "two", 1_006.0),
            invocation(1, "one", 1_000.0),
            invocation(2, "one", 1_002.5),
            invocation(3, "two", 1_003.0, failure="throttle", status="error"),
            invocation(5, "three", None),
            invocation(6, "four", 1_007.0, prompt=None),
        ]
    )
    assert traffic.left_out == {"refused by the service": 1, "never sent": 1, "the body is not stored": 1}
    plan = traffic.plan(run="r", bodies=bodies, speed=2)
    assert sent(plan) == ["question 1", "question 2", "question 4"]
    assert [call.at_s for call in plan.calls] == [0.0, None, 3.0]
    assert [call.think_s for call in plan.calls] == [0.0, 1.0, 0.0]  # 2.0 s after the answer, at twice the speed
    first, second, third = (call.session_id for call in plan.calls)
    assert first == second != third
    assert plan.labels == ("first of its session", "later in its session", "first of its session")
    assert sent(traffic.plan(run="r", bodies=bodies, speed=2, until_s=2.9)) == ["question 1", "question 2"]
    assert {call.session_id for call in traffic.plan(run="q", bodies=bodies).calls}.isdisjoint({first, third})


def test_a_body_without_a_prompt_is_sent_as_it_was() -> None:
    body = '{"order": [1, 2]}'
    row = invocation(1, "one", 5.0, prompt=body, payload_digest=hashlib.sha256(body.encode()).hexdigest())
    (call,) = StoredTraffic.of([row]).plan(run="r", bodies=bodies).calls
    assert call.body == body.encode()
    with pytest.raises(StudyError, match=r"No stored invocation can be replayed \(1 the body is not stored\)"):
        StoredTraffic.of([invocation(1, "one", 5.0, payload_digest="another")])


def test_recorded_traffic_has_a_rate_and_steps_end_with_it() -> None:
    rows = [invocation(id, f"s{id % 2}", 100.0 + 2 * id) for id in range(5)]
    recorded = RecordedTraffic.of(rows, agent="desk")
    assert (recorded.calls, recorded.sessions, recorded.seconds, recorded.until_id) == (5, 2, 8.0, 4)
    design = LoadDesign(
        slo=SLO, loads=(1.25, 10), seconds=5, prompt="-", arrivals="recorded", recorded=asdict(recorded)
    )
    assert LoadDesign.read(json.loads(json.dumps(design.stored()))) == design
    assert design.traffic == recorded
    assert [design.step_s(load) for load in design.loads] == [4.0, 0.5]
    step = next_step(design, ())
    assert step is not None
    assert (step.load, step.seconds, step.left_s) == (1.25, 4.0, 4.5)
    with pytest.raises(StudyError, match="Of the 5 invocations that this load test repeats, 3 are still stored"):
        recorded.check(StoredTraffic.of(rows[:3]), agent="desk")


def test_traffic_without_a_rate_and_arrivals_without_traffic_are_refused() -> None:
    with pytest.raises(StudyError, match="all made at the same time"):
        RecordedTraffic.of([invocation(1, "one", 5.0)], agent="desk")
    with pytest.raises(ValueError, match="recorded arrivals need recorded traffic"):
        LoadDesign(slo=SLO, loads=(1,), prompt="-", arrivals="recorded")
    traffic = {"until_id": 2, "calls": 2, "sessions": 1, "seconds": 4.0}
    with pytest.raises(ValueError, match="recorded arrivals need loads"):
        LoadDesign(slo=SLO, prompt="-", arrivals="recorded", recorded=traffic)
