"""When two answers behave alike: the rule, what it compares, and what it leaves without a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from new_store import new_store
from parity_pairs import answer, failed, pair, use

from loomlib.errors import EvalError, EvalInterruptedError, PluginError
from loomlib.evals import Budget, EvalSet
from loomlib.evals.targets.functions import CallableTarget
from loomlib.evals.values.answers import CaseAnswer, TurnAnswer
from loomlib.imports.bedrock_agents.parity.agent_parity import AgentParity
from loomlib.imports.bedrock_agents.parity.measuring import ParitySubject, judge_recorded, measure_parity
from loomlib.imports.bedrock_agents.parity.names import ToolNames
from loomlib.imports.bedrock_agents.parity.pairs import AnswerPair, pairs_with_itself
from loomlib.imports.bedrock_agents.parity.prompts import cases_of
from loomlib.imports.bedrock_agents.parity.rule import AlikeRule
from loomlib.store import Store

PARIS = use("get_weather", city="Paris")
ROME = use("get_weather", city="Rome")
TEXT = "In Paris it is sunny with 21 degrees."


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with new_store(tmp_path) as opened:
        yield opened


def parity(store: Store, *pairs: AnswerPair, names: ToolNames | None = None, **options: Any) -> AgentParity:
    subject = ParitySubject(
        name="weather", old="Bedrock Agent v1", new="weather on AgentCore", names=names or ToolNames()
    )
    return judge_recorded(pairs, subject, store=store, **options)


def state_of(store: Store, old: CaseAnswer, new: CaseAnswer, **options: Any) -> str:
    return parity(store, pair("one", old, new), **options).judged[0].state


def test_a_budget_that_ends_a_comparison_gives_no_verdict_and_the_rest_is_asked_later(store: Store) -> None:
    cases = EvalSet.from_rows([{"prompt": f"{number}"} for number in range(12)], name="numbers")
    subject = ParitySubject(name="numbers", old="old", new="new")

    def target(name: str, text: str) -> CallableTarget:
        return CallableTarget(
            lambda prompt: {"text": text if int(prompt) >= 8 else "same", "input_tokens": 10, "output_tokens": 10},
            name=name,
        )

    def measured(**options: Any) -> AgentParity:
        rule = AlikeRule(answers=("exact",), tools="ignored")
        old, new = target("old", "one"), target("new", "two")
        return measure_parity(old, new, cases, subject, store=store, rule=rule, **options)

    with pytest.raises(EvalInterruptedError, match="budget") as stopped:
        measured(parity_id="parity-1", budget=Budget(tokens=100))
    assert 'parity_id="parity-1"' in stopped.value.try_
    resumed = measured(parity_id="parity-1")
    assert (len(resumed.judged), resumed.exit_code) == (12, 2)


def test_the_default_rule_wants_the_same_tools_numbers_and_meaning(store: Store) -> None:
    judged = {
        item.pair.case.id: item
        for item in parity(
            store,
            pair("same", answer(TEXT, PARIS), answer("Paris is sunny, it is 21 degrees there.", PARIS)),
            pair("number", answer(TEXT, PARIS), answer(TEXT.replace("21", "12"), PARIS)),
            pair("arguments", answer(TEXT, PARIS), answer(TEXT, ROME)),
            pair("topic", answer(TEXT, PARIS), answer("Please give me your order number; 21 items are left.", PARIS)),
            pair("further call", answer(TEXT, PARIS), answer(TEXT, PARIS, ROME)),
            pair("no call", answer(TEXT, PARIS), answer(TEXT)),
        ).judged
    }
    assert {id: item.state for id, item in judged.items()} == {
        "same": "alike", "number": "differs", "arguments": "differs", "topic": "differs", "further call": "differs",
        "no call": "differs",
    }  # fmt: skip
    assert {id: item.parts for id, item in judged.items() if item.parts} == {
        "number": ("answer",), "arguments": ("tools",), "topic": ("answer",), "further call": ("tools",),
        "no call": ("tools",),
    }  # fmt: skip
    assert "missing 21" in judged["number"].reasons[0]


@pytest.mark.parametrize(
    ("old", "new", "state"),
    [
        (
            "I've cancelled your booking for the Hotel Lux.",
            "I could not cancel your booking for the Hotel Lux.",
            "differs",
        ),
        (
            "I've cancelled your booking for the Hotel Lux.",
            "I couldn't cancel your booking for the Hotel Lux.",
            "differs",
        ),
        (
            "Your booking for the Hotel Lux was not cancelled.",
            "I did not cancel your booking for the Hotel Lux.",
            "alike",
        ),
        ("Die Buchung wurde storniert.", "Die Buchung wurde leider nicht storniert.", "differs"),
        ("Note the hotel's knot garden.", "Note the knot garden of the hotel.", "alike"),
    ],
)
def test_an_answer_that_denies_is_not_alike_to_one_that_does_not(store: Store, old: str, new: str, state: str) -> None:
    assert state_of(store, answer(old), answer(new)) == state


@pytest.mark.parametrize(
    ("tools", "states"),
    [("exact", "differs differs"), ("in_order", "differs differs"), ("any_order", "alike differs"),
     ("names", "alike alike"), ("ignored", "alike alike")],
)  # fmt: skip
def test_the_order_and_the_arguments_count_as_the_rule_says(store: Store, tools: Any, states: str) -> None:
    old = answer(TEXT, PARIS, ROME)
    rule = AlikeRule(tools=tools)
    swapped, other = answer(TEXT, ROME, PARIS), answer(TEXT, PARIS, use("get_weather", city="Oslo"))
    actual = [item.state for item in parity(store, pair("a", old, swapped), pair("b", old, other), rule=rule).judged]
    assert actual == states.split()


def test_an_argument_can_be_compared_loosely(store: Store) -> None:
    old, new = answer(TEXT, use("note", text="Call back!")), answer(TEXT, use("note", text="call  back!"))
    assert state_of(store, old, new) == "differs"
    assert state_of(store, old, new, rule=AlikeRule(arguments={"text": "normalized"})) == "alike"


def test_unknown_tool_calls_and_failures_have_no_verdict(store: Store) -> None:
    unknown = CaseAnswer(turns=(TurnAnswer(text=TEXT, tools=None, tools_state="not_found"),))
    result = parity(
        store,
        pair("no trace", answer(TEXT, PARIS), unknown),
        pair("throttled", answer(TEXT, PARIS), failed("throttle")),
        pair("both", failed("return_control"), failed("timeout")),
        pair("known", answer(TEXT, PARIS), answer(TEXT, PARIS)),
    )
    assert [item.state for item in result.judged] == ["not judged", "failed", "failed", "alike"]
    assert result.summary()["failures"] == {
        "tools: no_trajectory": 1, "new: throttle": 1, "old: return_control": 1, "new: timeout": 1,
    }  # fmt: skip
    assert (result.share.alike, result.share.judged, result.share.without) == (1, 1, 3)
    assert result.change("duration").change.n == 0
    assert state_of(store, answer(TEXT, PARIS), unknown, rule=AlikeRule(tools="ignored")) == "alike"
    assert state_of(store, unknown, answer(TEXT, PARIS)) == "alike", "unknown calls of the old agent expect none"


def test_searches_tasks_and_questions_are_compared_by_name(store: Store) -> None:
    names = ToolNames(searches={"KB1": "search_rules"}, collaborators={"billing": "billing"})
    old = answer(TEXT, use("search_rules", query="refunds"), use("billing", task="Refund order 1"))
    new = answer(TEXT, use("search_rules", query="how do refunds work"), use("billing", message="Refund it"))
    assert state_of(store, old, new, names=names) == "alike"
    assert state_of(store, old, answer(TEXT, use("search_rules", query="x")), names=names) == "differs"


def test_judging_again_uses_the_stored_verdicts(store: Store) -> None:
    pairs = [pair(f"c{n}", answer(TEXT, PARIS), answer(TEXT, PARIS)) for n in range(3)]
    first = parity(store, *pairs, parity_id="shadow-1")
    again = parity(store, *pairs, parity_id="shadow-1")
    assert again.summary() == first.summary()
    more = parity(store, *pairs, pair("c3", answer(TEXT, PARIS), answer(TEXT, ROME)), parity_id="shadow-2")
    assert [item.state for item in more.judged] == ["alike"] * 3 + ["differs"]


def test_nothing_answered_is_unclear_and_says_so(store: Store) -> None:
    result = parity(store, pair("one", failed("timeout"), failed("timeout")))
    assert (result.gate.outcome, result.exit_code) == ("unclear", 0)
    assert "nothing could be judged" in result.sentences()[0]
    assert "timeout happened" in result._repr_html_()


def test_hostile_answers_reach_the_page_as_text(store: Store) -> None:
    text = "<script>alert(1)</script> \x1b[31m"
    page = parity(
        store, pair("<b>id</b>", answer(text, use("<i>tool</i>", a="<u>")), answer("21", PARIS))
    )._repr_html_()
    for markup in ("<script>", "<i>tool", "<u>", "<b>id", "\x1b"):
        assert markup not in page


def test_the_old_agent_is_compared_with_its_next_repeat() -> None:
    pairs = [pair("a", answer(str(n)), answer("x"), n) for n in range(3)] + [pair("b", answer("9"), answer("x"))]
    assert [(item.old.text, item.new.text) for item in pairs_with_itself(pairs)] == [("0", "1"), ("1", "2")]


def test_a_rule_that_cannot_decide_is_refused() -> None:
    with pytest.raises(EvalError, match="no such comparison of tool calls"):
        AlikeRule(tools="alphabetical")  # type: ignore[arg-type]
    with pytest.raises(EvalError, match="at least one evaluator"):
        AlikeRule(answers=())
    thresholds = [item.threshold for item in AlikeRule(answers=("rouge1:0.5", "judge:correctness")).evaluators()[:2]]  # type: ignore[attr-defined]
    assert thresholds == [0.5, 0.75], "an evaluator that would only score gets a threshold"
    with pytest.raises(PluginError, match="embeding"):
        AlikeRule(answers=("embeding",)).evaluators()
    assert "in any order" in AlikeRule().sentence()
    assert "Tool calls are not compared" in AlikeRule(tools="ignored").sentence()


def test_cases_come_from_prompts_and_text_files(tmp_path: Path) -> None:
    file = tmp_path / "support.txt"
    file.write_text("# prompts\n\nHello\nHello\nWhere is it?\n")
    assert [case.prompt for case in cases_of(file)] == ["Hello", "Where is it?"]
    assert cases_of(file).name == "support"
    assert [case.id for case in cases_of(["Hello"])] == [cases_of(file).cases[0].id], "an id follows from the prompt"
    with pytest.raises(EvalError, match="no such file"):
        cases_of(str(tmp_path / "none.txt"))
