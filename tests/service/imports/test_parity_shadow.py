"""Shadow traffic: callers get the front agent's answers, and for a sample of sessions the other agent is asked too."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from parity_agents import PROMPTS, WeatherScene

from loomlib.errors import InvocationFailedError, LoomError, NotSupportedError
from loomlib.evals import Turn
from loomlib.evals.values.answers import TurnAnswer
from loomlib.evals.values.evaluator import Evaluator
from loomlib.imports.bedrock_agents.parity import ParitySubject
from loomlib.imports.bedrock_agents.parity.shadow_pairs import is_sampled
from loomlib.workbench.shadow_traffic import MOST_WAITING, ShadowTraffic

SAFE: dict[str, Any] = {"alias": "live", "safe": ["weather"]}
"""The function only reads."""
BROKEN = "What is the weather in Nowhere?"


def test_pairs_of_live_prompts_are_stored_redacted_and_judged(scene: WeatherScene) -> None:
    with scene.old.shadow(scene.wrong, share=1.0, **SAFE, id="shadow-one") as traffic:
        assert "21 degrees" in traffic.ask(PROMPTS[0], session_id="caller-1").text
        assert "27 degrees" in traffic.ask(PROMPTS[1], session_id="caller-1").text, "the old agent answers"
        assert traffic.observe(PROMPTS[2], "In Oslo it is sunny with 9 degrees.", session_id="caller-2 ann@example.com")
        assert traffic.drain()
        assert (traffic.counts["prompts"], traffic.counts["pairs"], traffic.counts["dropped"]) == (3, 3, 0)
        pairs = {pair.prompt: pair for pair in traffic.pairs()}
        assert [pairs[prompt].number for prompt in PROMPTS[:3]] == [0, 1, 0]
        assert "Quito" in pairs[PROMPTS[1]].new.text
        parity = traffic.parity()
    assert traffic.path.stat().st_mode & 0o077 == 0
    text = traffic.path.read_text()
    assert "caller-1" not in text
    assert "ann@example.com" not in text
    assert {item.pair.case.prompt: item.state for item in parity.judged} == {
        PROMPTS[0]: "alike", PROMPTS[1]: "differs", PROMPTS[2]: "alike",
    }  # fmt: skip
    assert parity.title().endswith("3 prompts of 2 sessions, paired")
    assert "shadow traffic" in parity.labels
    assert any("the Bedrock agent answered" in note for note in parity.method())
    with scene.old.shadow(scene.wrong, share=0.0, **SAFE, id="shadow-one") as again:
        assert len(again.pairs()) == 3, "the same id goes on with the same pairs"


def test_the_successor_in_front_answers_and_its_failures_reach_the_caller_alone(scene: WeatherScene) -> None:
    with scene.old.shadow(scene.wrong, share=1.0, front="new", **SAFE) as traffic:
        assert "14 degrees" in traffic.ask(PROMPTS[1], session_id="caller-3").text, "the new agent answers"
        traffic.ask(BROKEN, session_id="caller-4")  # the old agent fails on it, which its caller never sees
        assert traffic.drain()
        pair = next(pair for pair in traffic.pairs() if pair.prompt == BROKEN)
        assert pair.old.failure is not None
        assert pair.old.failure.kind == "agent_error"
        parity = traffic.parity()
    assert parity.summary()["failures"] == {"old: agent_error": 1}
    with scene.old.shadow(scene.wrong, share=1.0, **SAFE) as traffic:
        with pytest.raises(InvocationFailedError) as failed:
            traffic.ask(BROKEN, session_id="caller-5")
        assert failed.value.failure == "agent_error"


class Gated:
    """A target that answers once its gate is open, and says what it was asked."""

    labels, concurrency, key = ("gated",), 1, ""

    def __init__(self, name: str, *, is_open: bool, failure: Exception | None = None) -> None:
        self.name, self.asked, self._failure = name, list[tuple[str, str]](), failure
        self.gate = threading.Event()
        if is_open:
            self.gate.set()

    def new_session(self) -> str:
        return "session"

    async def ask(self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Any = None) -> TurnAnswer:
        self.asked.append((session_id, turn.prompt))
        try:
            await asyncio.to_thread(self.gate.wait)
        finally:
            self.gate.set()  # the thread of a cancelled call must end, too
        if self._failure is not None:
            raise self._failure
        return TurnAnswer(text=f"{self.name} answers {turn.prompt}", tools=(), tools_state="found")

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        return answers

    async def end(self, session_id: str) -> None:
        """End nothing."""

    def connected(self, evaluator: Evaluator) -> Evaluator:
        return evaluator


def traffic_of(scene: WeatherScene, old: Gated, new: Gated, id: str) -> ShadowTraffic:
    subject = ParitySubject(name="gated", old="old", new="new")
    return ShadowTraffic(scene.bench.context, subject, front="old", old=old, new=new, share=1.0, id=id)


def test_an_agent_that_hangs_behind_delays_nobody_and_too_many_prompts_are_dropped(scene: WeatherScene) -> None:
    old, new = Gated("old", is_open=True), Gated("new", is_open=False)
    with traffic_of(scene, old, new, "hanging") as traffic:
        for number in range(MOST_WAITING + 5):
            answer = traffic.ask(f"prompt {number}", session_id=f"caller-{number}")
            assert answer.text == f"old answers prompt {number}"
        assert (traffic.counts["prompts"], traffic.counts["dropped"], traffic.pairs()) == (MOST_WAITING + 5, 5, [])
        new.gate.set()
        assert traffic.drain()
        assert traffic.counts["pairs"] == MOST_WAITING
        assert "5 dropped" in repr(traffic)


def test_a_prompt_that_close_cancels_is_lost_and_a_closed_one_answers_nobody(scene: WeatherScene) -> None:
    traffic = traffic_of(scene, Gated("old", is_open=True), Gated("new", is_open=False), "closed")
    traffic.ask("prompt", session_id="caller")
    traffic.close()
    assert dict(traffic.counts) == {"prompts": 1, "lost": 1}
    with pytest.raises(LoomError, match=r"closed.*Try: old.shadow\(new, id='closed'\) again"):
        traffic.ask("late", session_id="caller")


def test_prompts_of_a_session_are_asked_in_their_order_and_failures_behind_are_values(scene: WeatherScene) -> None:
    old, new = Gated("old", is_open=True), Gated("new", is_open=True, failure=RuntimeError("broken"))
    with traffic_of(scene, old, new, "broken") as traffic:
        for number in range(5):
            traffic.ask(f"prompt {number}", session_id="caller")
        assert traffic.drain()
        assert [prompt for _, prompt in new.asked] == [f"prompt {number}" for number in range(5)]
        assert len({session for session, _ in new.asked}) == 1
        assert {session for session, _ in new.asked} == {session for session, _ in old.asked}
        failures = [pair.new.failure for pair in traffic.pairs()]
        assert {(failure.kind, failure.message) for failure in failures if failure} == {("exception", "broken")}
        assert traffic.parity().gate.outcome == "unclear"


def test_only_sampled_sessions_are_asked_of_the_other_agent(scene: WeatherScene) -> None:
    sessions = [f"session-{number}" for number in range(40)]
    chosen = [id for id in sessions if is_sampled(id, 0.1, salt="s")][:1]
    others = [id for id in sessions if not is_sampled(id, 0.1, salt="s")][:2]
    assert chosen
    with scene.old.shadow(scene.wrong, share=0.1, salt="s", **SAFE) as traffic:
        for id in (*chosen, *others):
            traffic.ask(PROMPTS[0], session_id=id)
        assert traffic.drain()
        assert len(traffic.pairs()) == 1


def test_what_could_be_done_twice_is_refused_or_warned_about(
    scene: WeatherScene, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(NotSupportedError, match="the action group weather of weather calls a Lambda function"):
        scene.old.shadow(scene.wrong, alias="live")
    with (
        caplog.at_level(logging.WARNING),
        scene.old.shadow(scene.wrong, alias="live", allow_side_effects=True) as traffic,
    ):
        assert "side effects twice" in caplog.text
    with pytest.raises(LoomError, match="between 0 and 1"):
        scene.old.shadow(scene.wrong, share=5, **SAFE)
    assert traffic.observe("late", "answer", session_id="x") is False, "a closed one takes nothing and raises nothing"
