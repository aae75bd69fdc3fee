"""The comparison of agents over a real store: its order, its differences, its first sentence, and resuming it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from latency_agent import ARN, Reply, ScriptedAgent
from new_store import new_store

import loomlib as loom
from loomlib.errors import StudyInterruptedError
from loomlib.latency import Silent
from loomlib.latency.comparison import ComparisonResult, effects
from loomlib.reports.agent_comparison import AgentComparison
from loomlib.store import Store
from loomlib.telemetry.cost import CallUsage, Cost, cost_of_calls


def scripted(
    store: Store, name: str, median_ms: float, *, fails: Callable[[int], bool] = lambda _: False
) -> ScriptedAgent:
    """An agent with log-normal durations; its first call opens the session."""
    chance = random.Random(name)

    def reply(number: int, _labels: object) -> Reply:
        return Reply(
            duration_ms=median_ms * chance.lognormvariate(0, 0.1), failure="agent_error" if fails(number) else None
        )

    return ScriptedAgent(store, reply, name=name, arn=ARN.replace("calculator", name))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return new_store(tmp_path)


def compare(store: Store, **medians: float) -> ComparisonResult:
    agents = {name: scripted(store, name, median) for name, median in medians.items()}
    return loom.ComparisonStudy(agents, calls=40).run(Silent())


def test_the_first_sentence_says_which_agent_is_faster_by_how_much(store: Store) -> None:
    result = compare(store, slow=200, quick=100)
    assert any(text.startswith("quick is faster than slow: its median call takes") for text in result.sentences())
    difference = effects(result)[1].p50_difference
    assert difference is not None
    assert difference.low is not None
    assert difference.high is not None
    assert -120 < difference.low < -80
    assert -120 < difference.high < -80


def test_two_equal_agents_are_not_ranked(store: Store) -> None:
    (sentence,) = [text for text in compare(store, one=100, two=100).sentences() if "faster" in text]
    assert sentence.startswith("The data do not say whether two or one is faster")


def test_too_few_calls_say_so_and_give_no_difference(store: Store) -> None:
    agents = {name: scripted(store, name, 100) for name in ("one", "two")}
    result = loom.ComparisonStudy(agents, calls=3).run(Silent())
    assert any("3 answered calls" in text and "6 are needed" in text for text in result.sentences())
    assert effects(result)[1].p90_difference is not None
    assert effects(result)[1].p90_difference.value is None


def test_the_calls_of_a_block_go_to_each_agent_once(store: Store) -> None:
    result = compare(store, one=100, two=100, three=100)
    for block in range(40):
        assert sorted(call.agent for call in result.calls if call.block == block) == ["one", "three", "two"]
    assert len({call.session_id for call in result.of("one")}) == 1


def test_an_agent_that_fails_more_often_is_named_and_its_failures_are_in_no_percentile(store: Store) -> None:
    agents = {
        "steady": scripted(store, "steady", 100),
        "shaky": scripted(store, "shaky", 100, fails=lambda number: number % 2 == 1),
    }
    result = loom.ComparisonStudy(agents, calls=40, new_sessions=True).run(Silent())
    assert any(text.startswith("shaky fails more often than steady") for text in result.sentences())
    assert effects(result)[1].p50.n == 20
    assert [finding.kind for finding in result.findings()] == ["failures"]


@dataclass(frozen=True)
class PricedView:
    """The trace of a call that cost the price of its tokens."""

    model: str
    tokens: int
    state: str = "found"

    def cost(self) -> Cost:
        usage = CallUsage(span_id="1", model=self.model, input_tokens=self.tokens, output_tokens=0)
        return cost_of_calls([usage])


def test_the_costs_of_agents_are_compared_only_if_that_of_every_call_is_known(store: Store) -> None:
    priced, unpriced = "amazon.nova-lite-v1:0", "a-model-without-a-price"
    result = compare(store, one=100, two=100)
    dear = {block: PricedView(priced, 10_000 + block) for block in range(20)}
    cheap = {block: PricedView(priced, 1_000 + block) for block in range(20)}
    known = AgentComparison(result=result, views={"one": dear, "two": cheap})  # type: ignore[arg-type]
    assert (known.cost_difference("two").high or 0) < 0
    partly_priced = {block: replace(view, model=unpriced if block % 2 else priced) for block, view in cheap.items()}
    unknown = AgentComparison(result=result, views={"one": dear, "two": partly_priced})  # type: ignore[arg-type]
    assert unknown.cost_difference("two").value is None
    assert unknown.cost_difference("two").reason == "the cost of 10 of 40 calls is unknown"


def test_a_stopped_comparison_resumes_without_repeating_a_call(store: Store) -> None:
    one, two = (scripted(store, name, 100) for name in ("one", "two"))
    unreachable = replace(two, script=lambda n, _: Reply(failure="transport", bytes_received=0), alive=lambda: False)
    with pytest.raises(StudyInterruptedError, match=r"ComparisonStudy\.resume"):
        loom.ComparisonStudy({"one": one, "two": unreachable}, calls=8, study_id="stopped").run(Silent())
    result = loom.ComparisonStudy.resume({"one": one, "two": two}, "stopped").run(Silent())
    assert result.state == "complete"
    assert all(call.is_done for call in result.calls)
    assert len(one.timed()) == 8


def test_a_comparison_needs_two_agents(store: Store) -> None:
    with pytest.raises(ValueError, match="two agents"):
        loom.ComparisonStudy({"one": scripted(store, "one", 100)})


def test_differences_of_three_agents_hold_together_in_95_percent_of_studies(store: Store) -> None:
    three, two = compare(store, one=100, two=100, three=100), compare(store, four=100, five=100)
    confidences = [effect.p50_difference.confidence for effect in effects(three) if effect.p50_difference is not None]
    assert confidences == [pytest.approx(0.975)] * 2
    assert any("[97.5 %]" in column for column in three.text_table().columns)
    assert "97.5 % interval" in " ".join(three.sentences())
    assert any(
        "the 2 differences of a figure together hold in 95 % of studies" in note for note in three.method().notes
    )
    assert effects(two)[1].p50_difference is not None
    assert effects(two)[1].p50_difference.confidence == pytest.approx(0.95)
    needed = effects(three)[1].p90_difference
    assert needed is not None
    assert (needed.value, needed.n, needed.needed_n) == (None, 40, 42)
