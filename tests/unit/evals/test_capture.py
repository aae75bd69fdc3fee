"""What took place becomes cases: cleaned, named by what was asked, sampled the same every night."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from eval_runs import sums
from hypothesis import given, settings
from hypothesis import strategies as st

import loomlib as loom
from loomlib.agents.payloads import make_payload
from loomlib.errors import EvalError
from loomlib.evals import EvalCase, EvalSet, ExpectedTool, ToolUse, Turn
from loomlib.evals.capture import CapturedTurn, Collection, Conversation, asked_key, capture_into, collect_cases
from loomlib.evals.capture.conversation import turn_of_row
from loomlib.evals.runs import EvalRun
from loomlib.evals.values.canonical import case_to_text
from loomlib.redaction import DEFAULT_RULES, Redactor
from loomlib.redaction.rule import rule
from loomlib.telemetry import Trajectory

EMPTY = EvalSet(name="captured", cases=())


def said(prompt: str, answer: str = "fine", *, session: str = "s", **more: object) -> Conversation:
    turn = CapturedTurn(prompt=prompt, answer=answer, **more)  # type: ignore[arg-type]
    return Conversation(turns=(turn,), session_id=session, agent_name="shop")


def test_a_conversation_becomes_a_case_that_expects_what_the_agent_did() -> None:
    tools = (ToolUse(name="add", arguments={"a": 1}, result=3), ToolUse(name="guess"))
    evalset = EMPTY.capture(said("1 + 2?", "3", tools=tools, invocation_id=7, trace_id="ab"), tags=["sums"])
    case = evalset.cases[0]
    assert case.turns == (
        Turn(
            prompt="1 + 2?",
            expected_answer="3",
            expected_tools=(ExpectedTool(name="add", arguments={"a": 1}), ExpectedTool(name="guess")),
        ),
    )
    assert case.tags == ("captured", "sums")
    assert case.id.startswith("captured-")
    assert case.metadata["captured"] == {"agent": "shop", "session_id": "s", "invocations": [7], "traces": ["ab"]}
    assert not EMPTY.cases


def test_without_expectation_the_answer_is_reported_and_not_expected() -> None:
    case = EMPTY.capture(said("1 + 2?", "4", tools=()), expected=False).cases[0]
    assert (case.expected_answer, case.expected_tools) == (None, None)
    assert case.metadata["captured"]["answers"] == ["4"]


def test_a_turn_that_failed_expects_nothing_and_says_what_went_wrong() -> None:
    case = EMPTY.capture(said("go", failure="agent_error", error="boom of ann@example.org")).cases[0]
    assert case.turns == (Turn(prompt="go"),)
    assert case.metadata["captured"]["failures"] == ["agent_error"]
    assert case.metadata["captured"]["errors"] == ["boom of [email 1]"]


def test_a_secret_that_an_errors_cut_goes_through_and_one_in_a_sessions_id_are_redacted() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    case = EMPTY.capture(said("go", session="of ann@example.org", error="x" * 485 + f" {key} ok")).cases[0]
    assert case.metadata["captured"]["errors"] == [("x" * 485 + " [aws access key 1] ok")[:500]]
    assert case.metadata["captured"]["session_id"] == "of [email 1]"


def test_what_rules_find_is_in_no_part_of_the_case_and_one_value_stays_one() -> None:
    turns = (
        CapturedTurn(
            prompt="I am ann@example.org, mail bob@example.org",
            answer="mailed bob@example.org for ann@example.org",
            tools=(ToolUse(name="send", arguments={"to": ["bob@example.org"], "token": "hush"}),),
        ),
        CapturedTurn(prompt="again", payload={"prompt": "again", "card": 4111111111111111}, answer="ok"),
    )
    case = EMPTY.capture(Conversation(turns=turns, session_id="s")).cases[0]
    text = case_to_text(case)
    assert not any(word in text for word in ("ann@", "bob@", "hush", "4111"))
    assert case.turns[0].prompt == "I am [email 1], mail [email 2]"
    assert case.turns[0].expected_answer == "mailed [email 2] for [email 1]"
    tool = (case.turns[0].expected_tools or ())[0]
    assert tool.arguments == {"to": ["[email 2]"], "token": "[secret 1]"}
    assert case.metadata["captured"]["redacted"] == {"card": 1, "email": 5, "secret": 1}


def test_other_rules_or_none_can_be_given() -> None:
    conversation = said("order C-123456 of ann@example.org")
    own = rule("order", r"C-[0-9]{6}")
    assert EMPTY.capture(conversation, redact=(*DEFAULT_RULES, own)).cases[0].prompt == "order [order 1] of [email 1]"
    assert EMPTY.capture(conversation, redact=Redactor([own])).cases[0].prompt == "order [order 1] of ann@example.org"
    assert EMPTY.capture(conversation, redact=[]).cases[0].prompt == "order C-123456 of ann@example.org"


def test_a_session_of_several_invocations_is_one_case_of_several_turns() -> None:
    case = EMPTY.capture([said("one"), said("two")]).cases[0]
    assert [turn.prompt for turn in case.turns] == ["one", "two"]
    with pytest.raises(EvalError, match="2 sessions"):
        EMPTY.capture([said("one"), said("two", session="other")])


def test_what_is_asked_already_is_not_taken_twice_and_a_corrected_expectation_stays() -> None:
    evalset = EMPTY.capture(said("What is  2+2?", "5"))
    mended = evalset.with_cases(replace(evalset.cases[0], turns=(Turn(prompt="What is 2+2?", expected_answer="4"),)))
    again = mended.capture(said("what is 2+2?", "5"))
    assert again.cases == mended.cases
    assert again.notes == (f"not captured again: {mended.cases[0].id} has the same request",)
    assert again.capture(said("WHAT IS 2+2?")).notes == again.notes
    newer = again.capture(said("what is 2+2?", "four"), replace_known=True)
    assert [case.id for case in newer.cases] == [mended.cases[0].id]
    assert newer.cases[0].expected_answer == "four"


def test_a_file_gets_a_case_once_and_the_redactions_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    conversation = said("Write to ann@example.org", "Done")
    look = capture_into(file, conversation, write=False)
    assert look.is_new
    assert not file.exists()
    result = capture_into(file, conversation, tags=["mail"])
    assert dict(result.redactions) == {"email": 1}
    assert result.sentence() == f"{result.case.id} is case 1 of orders.json; redacted: 1 × email."
    assert [case.id for case in EvalSet.read(file)] == [result.case.id]
    again = capture_into(file, said("write to  ann@example.org", "Sent"))
    assert not again.is_new
    assert again.case.turns[0].expected_answer == "Done"
    assert again.sentence() == f"orders.json is unchanged: {result.case.id} has the same request."
    capture_into(file, said("Write to ann@example.org", "Sent"), replace_known=True)
    assert EvalSet.read(file).cases[0].turns[0].expected_answer == "Sent"


def test_the_id_is_made_of_what_is_asked_and_of_nothing_else() -> None:
    first, second = (EMPTY.capture(said("hello", answer, session=answer)).cases[0] for answer in ("a", "b"))
    assert first.id == second.id
    assert first.asked_digest == second.asked_digest
    assert EMPTY.capture(said("hello!")).cases[0].id != first.id
    assert EMPTY.capture(said("hello"), id="greeting").cases[0].id == "greeting"


def test_a_trajectory_without_words_cannot_be_captured_and_reports_it() -> None:
    with pytest.raises(EvalError, match="request is unknown"):
        EMPTY.capture(Trajectory(agent_name="shop", steps=(), final_answer=None))
    with pytest.raises(TypeError, match="str"):
        EMPTY.capture("hello")


def test_a_payload_is_asked_again_as_it_was_sent_where_that_is_known() -> None:
    payload = {"prompt": "hi", "state": {"x": 1}}
    plain = turn_of_row(prompt="hi", answer="a", payload_digest=make_payload("hi").digest)
    assert (plain.payload, plain.note) == (None, "")
    body = json.dumps({"question": "hi"})
    whole = turn_of_row(prompt=body, answer="a", payload_digest=make_payload(None, {"question": "hi"}).digest)
    assert whole.payload == {"question": "hi"}
    lost = turn_of_row(prompt="hi", answer="a", payload_digest=make_payload(None, payload).digest)
    assert lost.payload is None
    assert "not stored" in lost.note


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=3), st.text())
def test_any_words_can_be_captured_and_written_down(prompts: list[str], answer: str) -> None:
    turns = tuple(CapturedTurn(prompt=prompt, answer=answer) for prompt in prompts)
    case = EMPTY.capture(Conversation(turns=turns)).cases[0]
    assert len(case.turns) == len(prompts)
    assert len(case.digest) == 32


# Production flowing back.


def traffic(count: int, *, failed: Sequence[int] = ()) -> list[Conversation]:
    return [
        said(f"question {n}", session=f"session-{n}", failure="timeout" if n in failed else None) for n in range(count)
    ]


def test_all_failures_and_a_tenth_of_the_successes_are_taken() -> None:
    collection = collect_cases(EMPTY, traffic(1000, failed=range(0, 1000, 50)))
    kinds = [entry.kind for entry in collection.taken]
    assert kinds.count("failure") == 20
    assert 70 <= kinds.count("success") <= 130
    assert len(collection.looked_at) == 1000
    assert {case.tags for case in collection.evalset.cases} == {("captured", "failure"), ("captured", "success")}
    assert all(case.expected_answer is None for case in collection.evalset.where(tags=["failure"]))
    assert all(case.expected_answer == "fine" for case in collection.evalset.where(tags=["success"]))


def test_the_next_night_picks_the_same_and_adds_only_what_is_new() -> None:
    first = collect_cases(EMPTY, traffic(300, failed=[3]))
    again = collect_cases(first.evalset, traffic(300, failed=[3]))
    assert again.evalset == first.evalset
    assert not again.taken
    more = collect_cases(first.evalset, traffic(400, failed=[3, 350]))
    assert more.evalset.cases[: len(first.evalset)] == first.evalset.cases
    assert "question 350" in [case.prompt for case in more.evalset.cases]
    assert [entry.session_id for entry in collect_cases(EMPTY, traffic(300), seed=1).taken] != [
        entry.session_id for entry in collect_cases(EMPTY, traffic(300)).taken
    ]


def test_shares_are_nested_so_that_a_larger_one_keeps_what_a_smaller_one_took() -> None:
    small, large = (
        {entry.session_id for entry in collect_cases(EMPTY, traffic(300), successes=share).taken}
        for share in (0.1, 0.4)
    )
    assert small < large


def test_one_question_is_one_case_however_often_it_was_asked() -> None:
    conversations = [said("Same  question?", session=str(n)) for n in range(50)] + [said("same question?", session="x")]
    collection = collect_cases(EMPTY, conversations, successes=1.0)
    assert len(collection.evalset) == 1
    assert sum("has the same request" in entry.why for entry in collection.looked_at) == 50


def test_a_failure_is_recognized_by_an_error_a_predicate_or_an_evaluator() -> None:
    conversations = [
        said("a", "sorry"),
        said("b", "", session="b"),
        said("c", "short", session="c"),
        said("d", "fine", session="d"),
    ]
    conversations.append(said("e", failure="throttle", session="e"))

    async def long_enough(answer: str, case: EvalCase) -> bool:
        return len(answer) != 5

    def breaks(answer: str, case: EvalCase) -> bool:
        raise RuntimeError("no judge")

    def is_failure(conversation: Conversation) -> bool | str:
        answer = conversation.turns[-1].answer
        return "apologised" if answer == "sorry" else answer == ""

    collection = collect_cases(
        EMPTY, conversations, successes=0.0, is_failure=is_failure, evaluators=[long_enough, breaks, "exact"]
    )
    assert [entry.why for entry in collection.looked_at] == [
        "apologised",
        "is_failure returned true",
        "long_enough 0.000",
        "answered; not in the sample of 0 %",
        "failed: throttle",
    ]
    assert [case.prompt for case in collection.evalset] == ["a", "b", "c", "e"]


def test_cases_that_did_not_pass_in_a_stored_run_are_collected(tmp_path: Path) -> None:
    def agent(prompt: str) -> str:
        if prompt == "3+3":
            raise RuntimeError("planned")
        return "2"

    database = f"sqlite:///{tmp_path / 'loom.db'}"
    loom.evaluate(agent, sums(5), ["exact"], run_id="night", store=database)
    collection = collect_cases(EvalSet(name="own", cases=()), EvalRun.load(database, "night"), successes=1.0)
    why = {
        case.turns[0].prompt: entry.why for case, entry in zip(collection.evalset, collection.looked_at, strict=True)
    }
    assert why == {
        "0+0": "exact did not pass (0.000)",
        "1+1": "answered",
        "2+2": "exact did not pass (0.000)",
        "3+3": "failed: exception",
        "4+4": "exact did not pass (0.000)",
    }
    assert [case.turns[0].expected_answer for case in collection.evalset] == [None, "2", None, None, None]
    combined = collect_cases(
        collection.evalset, [said("another"), EvalRun.load(database, "night")], failures=1.0, successes=1
    )
    assert [entry.taken for entry in combined.looked_at] == [True, False, False, False, False, False]


def test_questions_of_loom_itself_do_not_flow_back() -> None:
    own_conversation = replace(said("a"), labels=("local AgentCore", "evaluation"))
    assert collect_cases(EMPTY, [own_conversation], successes=1.0).looked_at == ()


def test_tools_are_looked_up_for_what_is_taken_only() -> None:
    counts: list[int] = []

    def complete(conversations: Sequence[Conversation]) -> list[Conversation]:
        counts.append(len(conversations))
        return [
            replace(conversation, turns=tuple(replace(t, tools=(ToolUse(name="look"),)) for t in conversation.turns))
            for conversation in conversations
        ]

    collection = collect_cases(EMPTY, traffic(200), complete=complete)
    assert counts == [len(collection.taken)]
    assert all(case.expected_tools == (ExpectedTool(name="look"),) for case in collection.evalset)


def test_the_report_of_a_collection_is_text_a_table_and_escaped_html() -> None:
    collection: Collection = collect_cases(EMPTY, traffic(20, failed=[1]), is_failure=lambda conversation: "<b>x</b>")
    assert collection.sentence().startswith("20 of 20 conversations became cases: 20 of 20 failures")
    assert len(collection.table()) == 20
    assert "<b>x" not in collection._repr_html_()
    assert str(collection).count("\n") == 20


def test_shares_outside_zero_and_one_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        collect_cases(EMPTY, [], successes=10)


def test_a_request_is_identified_by_its_words_its_payload_and_its_state() -> None:
    one = EvalCase(id="1", turns=(Turn(prompt="Hi  there"),))
    assert asked_key(one) == asked_key(EvalCase(id="2", turns=(Turn(prompt=" hi there "),)))
    assert asked_key(one) != asked_key(replace(one, initial_state={"x": 1}))
