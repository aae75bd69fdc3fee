"""Levels 2 and 3: how the answer came about, against brute force and the cases that other libraries get wrong."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import answer_of, case_of, expected, judged, path_score, used, whole

from loomlib.evals import ExpectedTool, NotApplicable, ToolUse, Turn, TurnAnswer
from loomlib.evals.matching.alignment import align
from loomlib.evals.matching.assignment import assign
from loomlib.evals.matching.matchers import arguments_match, json_equal, matcher
from loomlib.evals.matching.tool_matching import ToolMatching
from loomlib.evals.values.judge_error import JudgeFailedError
from loomlib.evals.views.alignment import alignment_html

NAMES = st.lists(st.sampled_from("abc"), max_size=6)


def met(match: str, expected_path: str, actual_path: str) -> float:
    return path_score(f"trajectory:{match}", list(expected_path), list(actual_path)).value


@pytest.mark.parametrize(
    ("match", "wanted", "came", "value"),
    [
        # what strands_evals' helpers answer otherwise: 1.0, 0.5, and a division by zero
        ("exact", "abc", "a", 0.0),
        ("any_order", "ss", "ss", 1.0),
        ("exact", "", "", 1.0),
        # and their relatives
        ("exact", "a", "abc", 0.0), ("exact", "", "a", 0.0), ("exact", "a", "", 0.0), ("exact", "aab", "aba", 0.0),
        ("in_order", "", "ab", 1.0), ("in_order", "ab", "", 0.0), ("in_order", "ss", "s", 0.0),
        ("in_order", "ss", "sxs", 1.0), ("in_order", "ab", "axb", 1.0), ("in_order", "ab", "ba", 0.0),
        ("any_order", "", "", 1.0), ("any_order", "ss", "s", 0.0), ("any_order", "ss", "sxs", 1.0),
        ("any_order", "ab", "ba", 1.0), ("any_order", "aab", "abb", 0.0), ("any_order", "ab", "", 0.0),
        # ADK's documented examples: [T1, T2, T3] expected
        ("exact", "123", "123", 1.0), ("exact", "123", "1243", 0.0),
        ("in_order", "123", "142536", 1.0), ("in_order", "123", "1245", 0.0), ("in_order", "123", "132", 0.0),
        ("any_order", "123", "214536", 1.0), ("any_order", "123", "1452", 0.0),
    ],
)  # fmt: skip
def test_paths_are_compared_as_multisets_and_in_full(match: str, wanted: str, came: str, value: float) -> None:
    assert met(match, wanted, came) == value


@settings(deadline=None)
@given(NAMES, NAMES)
def test_every_match_is_that_of_brute_force(wanted: list[str], came: list[str]) -> None:
    one, other = "".join(wanted), "".join(came)
    orders = {"".join(order) for order in permutations(other, len(one))} if len(one) <= len(other) else set()
    places = (
        [dict.fromkeys(order) for order in permutations(range(len(other)), len(one))] if len(one) <= len(other) else []
    )
    in_order = any(list(p) == sorted(p) and "".join(other[i] for i in p) == one for p in places)
    assert met("exact", one, other) == float(one == other)
    assert met("any_order", one, other) == float(one in orders)
    assert met("in_order", one, other) == float(in_order)


@settings(deadline=None)
@given(NAMES, NAMES)
def test_matches_imply_each_other_and_exact_is_symmetric(wanted: list[str], came: list[str]) -> None:
    one, other = "".join(wanted), "".join(came)
    assert met("exact", one, other) <= met("in_order", one, other) <= met("any_order", one, other)
    assert met("exact", one, other) == met("exact", other, one)
    assert met("any_order", one, "".join(reversed(other))) == met("any_order", one, other)


@settings(deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=4))
def test_an_assignment_is_as_large_as_any(fits: list[list[bool]]) -> None:
    assignment = assign(len(fits), 4, lambda i, j: fits[i][j])
    assert len(set(assignment.values())) == len(assignment)
    assert all(fits[i][j] for i, j in assignment.items())
    best = max(sum(fits[i][j] for i, j in enumerate(order[: len(fits)])) for order in permutations(range(4)))
    assert len(assignment) == best


def test_the_call_that_fits_less_is_not_robbed_of_its_only_partner() -> None:
    any_search = ExpectedTool(name="search")
    this_search = ExpectedTool(name="search", arguments={"q": "a"})
    tool_uses = [ToolUse(name="search", arguments={"q": "a"}), ToolUse(name="search", arguments={"q": "b"})]
    assert path_score("trajectory:any_order", [any_search, this_search], tool_uses).value == 1.0


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ("", 0.0),
        ("arguments=False", 1.0),
        ("arguments={'date': 'ignore'}", 1.0),
        ("arguments={'date': 'regex:^2026-'}", 1.0),
        ("arguments={'date': 'regex:^2025-'}", 0.0),
        ("arguments={'city': 'normalized', 'date': 'present'}", 1.0),
    ],
)
def test_arguments_count_do_not_count_or_count_by_field(options: str, value: float) -> None:
    expected_tool = ExpectedTool(name="weather", arguments={"city": "Paris"})
    tool_use = ToolUse(name="weather", arguments={"city": "Paris", "date": "2026-11-22"})
    assert path_score(f"trajectory({options})", [expected_tool], [tool_use]).value == value


@pytest.mark.parametrize("spec", ["contains", "regex", "normalized", "one_of", "numeric:1", "exact"])
def test_a_matcher_for_all_tools_applies_only_where_it_has_something_to_compare_with(spec: str) -> None:
    matcher_of_field = f"trajectory(arguments={{'date': '{spec}'}})"
    with_date = ToolUse(name="weather", arguments={"city": "Paris", "date": "now"})
    only_city = ExpectedTool(name="weather", arguments={"city": "Paris"})
    assert path_score(matcher_of_field, [only_city], [with_date]).value == 0.0
    assert path_score(matcher_of_field, ["weather"], [with_date]).value == 1.0
    own_matcher = ExpectedTool(name="weather", matchers={"date": "regex:^n"})
    assert path_score(matcher_of_field, [own_matcher], [with_date]).value == 1.0


@pytest.mark.parametrize(
    ("spec", "wanted", "came", "fits"),
    [
        ("exact", 1, 1.0, True), ("exact", 1, True, False), ("exact", [1, {"a": None}], [1, {"a": None}], True),
        ("contains", "b", "abc", True), ("contains", 2, [1, 2.0], True), ("contains:x", None, "abc", False),
        ("normalized", "New York", "new  york.", True), ("numeric:0.5", "3", 3.4, True),
        ("numeric:10%", 100, 109, True), ("numeric:10%", 100, 111, False),
        ("numeric", 3, "three", False), ("numeric", 1, True, False),
        ("one_of", ["a", "b"], "b", True), ("one_of:a|b", None, "c", False), ("ignore", 1, 2, True),
    ],
)  # fmt: skip
def test_matchers(spec: str, wanted: object, came: object, fits: bool) -> None:
    assert matcher(spec)(wanted, came) is fits


def test_a_matcher_that_does_not_exist_or_has_nothing_to_compare_with_reports_it() -> None:
    with pytest.raises(ValueError, match="the matchers are exact, ignore"):
        matcher("fuzzy")
    with pytest.raises(ValueError, match="write contains:"):
        arguments_match(None, {"q": "contains"}, {"q": "x"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(JSON, JSON)
def test_json_equality_is_that_of_its_text(a: object, b: object) -> None:
    import json

    assert json_equal(a, b) == (json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)) == json_equal(b, a)


def test_json_equality_knows_no_depth() -> None:
    one: list[object] = []
    other: list[object] = []
    for _ in range(50_000):
        one, other = [one], [other]
    assert json_equal(one, other)


def test_who_does_not_know_the_path_does_not_call_it_wrong() -> None:
    case = case_of(Turn(prompt="p", expected_tools=expected("a")), forbidden_tools=("b",), reference_steps=1)
    unknown = answer_of(TurnAnswer(text="", tools=None, tools_state="not_found_yet"))
    for name in (
        "trajectory",
        "trajectory_edit",
        "tool_used",
        "forbidden_tools",
        "redundant_calls",
        "efficiency",
        "tool_calls",
    ):
        with pytest.raises(JudgeFailedError, match="not_found_yet") as caught:
            judged(name, case, unknown)
        assert caught.value.kind == "no_trajectory"


def test_arguments_that_nobody_recorded_matter_only_where_they_decide() -> None:
    expected_tools = [ExpectedTool(name="a", arguments={"x": 1})]
    with pytest.raises(JudgeFailedError, match="recorded") as caught:
        path_score("trajectory", expected_tools, [ToolUse(name="a")])
    assert caught.value.kind == "no_trajectory"
    assert path_score("trajectory", expected_tools, [ToolUse(name="b")]).value == 0.0
    assert path_score("trajectory(arguments=False)", expected_tools, [ToolUse(name="a")]).value == 1.0
    assert path_score("trajectory", ["a"], [ToolUse(name="a")]).value == 1.0


def test_a_case_that_expects_nothing_takes_no_part_and_an_empty_expectation_does() -> None:
    used_one = answer_of(TurnAnswer(text="", tools=used("a")))
    for name in ("trajectory", "trajectory_edit", "tool_used", "forbidden_tools", "efficiency", "tool_calls"):
        assert isinstance(judged(name, case_of(Turn(prompt="p")), used_one), NotApplicable), name
    assert judged("trajectory", case_of(Turn(prompt="p", expected_tools=())), used_one).value == 0.0


def test_turns_are_judged_one_by_one_or_as_one_conversation() -> None:
    case = case_of(Turn(prompt="1", expected_tools=()), Turn(prompt="2", expected_tools=expected("a", "b")))
    answer = answer_of(TurnAnswer(text="", tools=used("a")), TurnAnswer(text="", tools=used("b")))
    assert [(s.part, s.value) for s in judged("trajectory", case, answer)] == [
        ("", 0.0),
        ("turn 1", 0.0),
        ("turn 2", 0.0),
    ]
    assert judged("trajectory(over='conversation')", case, answer).value == 1.0


def test_no_calls_beside_the_expected_ones_can_be_asked_for() -> None:
    assert path_score("trajectory(match='ANY_ORDER', extra=False)", "ab", "ba").value == 1.0
    assert path_score("trajectory(match='ANY_ORDER', extra=False)", "ab", "bca").value == 0.0


@settings(deadline=None)
@given(NAMES, NAMES)
def test_the_edit_distance_is_levenshteins_and_the_alignment_loses_no_call(wanted: list[str], came: list[str]) -> None:
    def distance(a: str, b: str) -> int:
        row = list(range(len(b) + 1))
        for i, one in enumerate(a, 1):
            last, row = row, [i]
            for j, other in enumerate(b, 1):
                row.append(min(last[j - 1] + (one != other), last[j] + 1, row[-1] + 1))
        return row[-1]

    alignment = align(expected(*wanted), used(*came))
    reverse = align(expected(*came), used(*wanted))
    assert alignment.distance == distance("".join(wanted), "".join(came)) == reverse.distance
    assert sorted(r.expected_step for r in alignment.rows if r.expected_step) == list(range(1, len(wanted) + 1))
    assert sorted(r.actual_step for r in alignment.rows if r.actual_step) == list(range(1, len(came) + 1))
    assert (alignment.differs_at is None) == (wanted == came)
    assert 0 <= alignment.similarity <= 1
    assert alignment.similarity == path_score("trajectory_edit", wanted, came).value


def test_an_alignment_shows_where_the_paths_part() -> None:
    expected_tools = expected(ExpectedTool(name="find", arguments={"id": 7}), "price", "mail")
    tool_uses = (ToolUse(name="find", arguments={"id": 8}), *used("mail", "price", "search"))
    alignment = align(expected_tools, tool_uses)
    assert [row.kind for row in alignment.rows] == ["changed", "moved", "kept", "extra"] or [
        row.kind for row in alignment.rows
    ] == ["changed", "kept", "moved", "extra"]
    assert alignment.differs_at == 1
    assert alignment.sentence().startswith(
        "The paths differ from step 1: expected find(id=7), got find(id=8) (1 changed"
    )
    assert str(alignment).splitlines()[1].startswith("~ changed   1   1  find(id=7)")


def test_what_an_agent_called_its_tool_is_never_markup_or_a_terminal_code() -> None:
    alignment = align(expected("a"), used("<script>alert(1)</script>", "\x1b[31m\ud800"))
    page, text = alignment._repr_html_(), str(alignment)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page + text
    assert "\ud800" not in page + text
    assert page == alignment_html(alignment.table(), alignment.sentence())


def test_a_long_detour_is_aligned_in_bounded_time() -> None:
    alignment = align(expected(*("a" * 30)), used(*("b" * 20_000)))
    assert (alignment.distance, alignment.count("missing"), alignment.count("extra")) == (20_000, 30, 20_000)


def test_few_differences_of_long_paths_are_found() -> None:
    middle = [f"tool {step % 7}" for step in range(600)]
    alignment = align(expected("first", *middle, "last"), used("other", *middle, "end"))
    assert (alignment.distance, alignment.count("kept")) == (2, 600)
    alignment = align(expected("first", *middle, "last"), used(*middle, "end", "end"))
    assert (alignment.distance, alignment.count("kept")) == (3, 600)


def test_the_use_of_single_tools() -> None:
    assert path_score("tool_used:b", "", "ab").value == 1.0
    assert path_score("tool_used", "ab", "bb").value == 0.5
    case = case_of(Turn(prompt="p"))
    twice = answer_of(TurnAnswer(text="", tools=used("a", "a")))
    assert (
        judged("tool_used(tool='a', at_most=1)", case, twice).rationale == "a was called 2 times; required: at most 1"
    )
    assert judged("tool_used(tool='a', arguments={'x': 1})", case, twice).value == 0.0


def test_forbidden_tools_are_those_of_the_case_and_of_the_evaluator() -> None:
    case = case_of(Turn(prompt="p"), forbidden_tools=("refund",))
    answer = answer_of(TurnAnswer(text="", tools=used("find", "delete_order")))
    assert judged("forbidden_tools", case, answer).value == 1.0
    score = judged("forbidden_tools:delete_*", case, answer)
    assert (score.value, score.details["calls"]) == (0.0, ["call 2: delete_order()"])


def test_a_call_is_redundant_when_it_brings_nothing_new() -> None:
    def call(result: object, status: str = "success", **arguments: object) -> ToolUse:
        return ToolUse(name="get", arguments=arguments, result=result, status=status)

    def share(*calls: ToolUse) -> float:
        return judged("redundant_calls", case_of(Turn(prompt="p")), answer_of(TurnAnswer(text="", tools=calls))).value

    assert share() == 1.0
    assert share(call("x", id=1), call("x", id=1.0)) == 0.5
    assert share(call("x", id=1), call("x", id=2)) == 1.0
    assert share(call("pending", id=1), call("done", id=1)) == 1.0
    assert share(call(None, "error", id=1), call("x", id=1)) == 1.0
    assert share(call(None, "error", id=1), call(None, "error", id=1)) == 0.5


def test_efficiency_is_measured_against_the_reference() -> None:
    case = case_of(Turn(prompt="p", expected_tools=expected("a", "b", "c")), reference_tokens=100)
    detour = TurnAnswer(text="", tools=used(*("a" * 25)), input_tokens=150, output_tokens=50)
    total, steps, tokens = judged("efficiency", case, answer_of(detour))
    assert (steps.part, steps.value, tokens.part, tokens.value) == ("steps", 3 / 25, "tokens", 0.5)
    assert (total.value, total.passed) == ((3 / 25 + 0.5) / 2, False)
    assert total.rationale == "25 steps, reference 3; 200 tokens, reference 100"
    assert whole(judged("efficiency:steps", case, answer_of(TurnAnswer(text="", tools=used("a"))))).value == 1.0
    with pytest.raises(JudgeFailedError, match="tokens"):
        judged("efficiency", case, answer_of(TurnAnswer(text="", tools=used("a"))))


def test_each_call_is_judged_alone() -> None:
    expected_tools = expected(ExpectedTool(name="find", arguments={"id": 7}, result="shipped"), "mail", "never")
    tool_uses = (
        ToolUse(name="search", arguments={}, status="error"),
        ToolUse(name="find", arguments={"id": 7}, result="shipped", status="success", duration_ms=50),
        ToolUse(name="mail", arguments={}, status="success", duration_ms=5_000),
    )
    case = case_of(Turn(prompt="p", expected_tools=expected_tools))
    total, first, second, third = judged(
        "tool_calls(time_limit_ms=1000)", case, answer_of(TurnAnswer(text="", tools=tool_uses))
    )
    assert first.part == "call 1: search"
    assert first.details == {"chosen": False, "status": False}
    assert second.details == {"chosen": True, "arguments": True, "result": True, "status": True, "time": True}
    assert third.details == {"chosen": True, "status": True, "time": False}
    assert third.rationale == "mail(): the call exceeded its time limit"
    assert total.value == pytest.approx((0 + 1 + 2 / 3) / 3)
    scores = judged("tool_calls:chosen", case, answer_of(TurnAnswer(text="", tools=tool_uses)))
    assert [score.value for score in scores] == [pytest.approx(2 / 3), 0.0, 1.0, 1.0]


def test_the_lucky_guess_passes_on_its_answer_and_fails_on_its_path() -> None:
    case = case_of(Turn(prompt="Weather in Tokyo?", expected_answer="Sunny", expected_tools=expected("get_weather")))
    guess = answer_of(TurnAnswer(text="Sunny", tools=()))
    assert judged("exact", case, guess).passed is True
    assert judged("trajectory", case, guess).passed is False


def test_a_matching_says_at_once_that_its_matcher_does_not_exist() -> None:
    with pytest.raises(ValueError, match="There is no matcher"):
        ToolMatching({"a": "fuzzy"})


@pytest.mark.parametrize("match", ["EXACT", "IN_ORDER", "ANY_ORDER"])
def test_tools_that_are_expected_of_the_conversation_are_compared_over_all_turns(match):
    case = case_of(Turn(prompt="a"), Turn(prompt="b"), session_tools=expected("look", "book"))
    right = answer_of(TurnAnswer(text="", tools=used("look")), TurnAnswer(text="", tools=used("book")))
    other = answer_of(TurnAnswer(text="", tools=used("look", "look")), TurnAnswer(text="", tools=used("pay")))
    choice = f"trajectory:{match}"
    assert whole(judged(choice, case, right)).passed
    assert whole(judged(choice, case, other)).value == 0.0
    assert whole(judged("trajectory_edit", case, other)).value == pytest.approx(1 / 3)
    assert whole(judged("tool_used", case, other)).value == 0.5
    assert whole(judged("efficiency:steps", case, other)).value == pytest.approx(2 / 3)
    unknown = answer_of(TurnAnswer(text="", tools=used("look")), TurnAnswer(text=""))
    with pytest.raises(JudgeFailedError):
        judged(choice, case, unknown)


def test_each_call_is_judged_by_what_the_conversation_expects_where_no_turn_says_more():
    case = case_of(Turn(prompt="a"), Turn(prompt="b"), session_tools=expected("look", "book"))
    answer = answer_of(TurnAnswer(text="", tools=used("pay", "book")), TurnAnswer(text="", tools=used("look")))
    scores = judged("tool_calls:chosen", case, answer)
    assert [part.value for part in scores[1:]] == [0.0, 1.0, 1.0]


def test_turns_that_expect_tools_themselves_are_compared_turn_by_turn():
    case = case_of(Turn(prompt="a", expected_tools=expected("look")), Turn(prompt="b"), session_tools=expected("book"))
    answer = answer_of(TurnAnswer(text="", tools=used("look")), TurnAnswer(text="", tools=used("book")))
    assert whole(judged("trajectory", case, answer)).passed
    assert not whole(judged("trajectory(over='conversation')", case, answer)).passed
