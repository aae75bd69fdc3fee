"""Bad files: one error lists every problem with its line, field and fix; hostile files do no harm."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.errors import InvalidEvalSetError
from loomlib.evals import EvalCase, EvalSet, Turn


def problems_of(text, **options):
    with pytest.raises(InvalidEvalSetError) as caught:
        EvalSet.read(text, **options)
    return caught.value.problems


def test_all_problems_are_reported_together_with_their_lines():
    text = """{
 "loom_evalset": 1,
 "cases": [
  {"id": "a", "turns": [{"prompt": 7}]},
  {"id": "b", "turns": [
    {"prompt": "x", "expected_tools": [
      {"name": ""}]}],
   "tagz": ["t"]},
  {"id": "c"}
 ]
}"""
    assert problems_of(text) == (
        "line 4, cases[0].turns[0].prompt: this is 7; put a string here, in double quotes",
        "line 7, cases[1].turns[0].expected_tools[0].name: it is empty; give the tool's name",
        "line 8, cases[1].tagz: unknown field; did you mean 'tags'?",
        "line 9, cases[2]: it has neither turns nor a scenario; give it one of the two",
    )


def test_a_message_lists_ten_problems_and_counts_the_rest():
    text = "\n".join(json.dumps({"id": str(n), "turns": [{"prompt": n}]}) for n in range(25))
    with pytest.raises(InvalidEvalSetError, match="25 problems") as caught:
        EvalSet.read(text)
    assert len(caught.value.problems) == 10
    assert caught.value.problems[9].startswith("line 10, turns[0].prompt")
    assert "and 15 more" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"loom_evalset": 1,\n "cases": [\n  {"id": "a",}]}', "line 3"),
        ('{"loom_evalset": 1,\r\n "cases": [\r\n  {"id" "a"}]}', "line 3"),
        ('{"cases": [{"id": "a",\n "turns": ["x"],\n "metadata": {"n": NaN}}]}', "line 3, cases[0].metadata.n: NaN"),
        ('{"cases": [{"id": "a",\n "turns": ["x"],\n "id": "b"}]}', "line 3, cases[0].id: this key occurs twice"),
        ('{"loom_evalset": 1, "cases": [\n{"id": "a", "turns": ["x"]},\n{"id": "a", "turns": ["y"]}]}', "line 3"),
        ('{"cases": [{"id": "a", "turns": ["x"]}]}', 'it is missing; add "loom_evalset": 1'),
        ('{"id":"a","turns":["x"]}\n\n{"id":"a","turns":["y"]}', "line 3, id: the id 'a' is already used in line 1"),
        ('{"id":"a","turns":["x"]}\n{"id":"b","turns":["y"]', "line 2"),
        ('{"loom_evalset": 2, "cases": []}', "this is version 2"),
        ('{"loom_evalset": 1, "cases": [{"id": "a", "turns": ["x"], "metadata": {"n": 1e999}}]}', "inf is not a JSON"),
        ('{"eval_cases": [{"eval_id": "a", "conversation": [{"user_content": {},\n"rubrix": 1}]}]}', "line 2"),
        ('{"scenarios": [\n{"scenario_id": "a", "turns": []}]}', "there is none"),
        ('{"cases": [{"name": "a"}], "evaluators": []}', "cases[0].input: it is missing"),
        ('{"criteria": {}}', "read the eval set beside it"),
        ('{"evaluationInput": {}}', "a request to AgentCore's Evaluate"),
        ("[1, 2]", "not one of cases"),
        ('id,prompt\na,x\na,"y\nz"\n', "line 3, cases[1].id"),
        ("id,prompt\na,x,y\n", "line 2: this row has 3 cells"),
        ("prompt,reference_steps\nx,1\n\"y\nz\",many\n", "line 3, rows[1].reference_steps"),
        ("prompt,turn,id\nx,1,a\ny,3,a\n", "line 3, rows[1].turn"),
        ("prompt,metadata\nx,{bad\n", "line 2"),
    ],
)  # fmt: skip
def test_a_fault_is_reported_with_its_place(text, said):
    assert said in problems_of(text)[0]


@pytest.mark.parametrize("key", ["1.0", "null", "true", "7"])
def test_a_duplicate_key_is_reported_before_a_key_that_is_not_text(key):
    text = f'{{"loom_evalset": 1, "cases": [{{"id": "a", "id": "b"}}, {{{key}: 1, {key}: NaN}}]}}'
    assert problems_of(text) == ("line 1, cases[0].id: this key occurs twice in one object; keep one of the two",)


def test_a_fault_in_the_configuration_of_adk_names_that_file(tmp_path):
    path = tmp_path / "a.evalset.json"
    path.write_text('{"eval_cases": [{"eval_id": "a", "conversation": [{"user_content": {"parts": []}}]}]}')
    (tmp_path / "test_config.json").write_text('{"criteria": {\n"tool_trajectory_avg_score": {"match_type": "SOME"}}}')
    with pytest.raises(InvalidEvalSetError, match=r"(?s)line 2.*EXACT|test_config"):
        EvalSet.read(path)


@pytest.mark.parametrize("source", ["no/such/file.json", "", ".", "a\0b.json", "x" * 5000])
def test_what_is_no_file_is_an_error_in_words(source):
    with pytest.raises(InvalidEvalSetError):
        EvalSet.read(source)


@pytest.mark.parametrize("depth", [150, 5000, 200_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_is_refused(depth, opening):
    closing = "]" if opening == "[" else "}"
    deep = opening * depth + "1" + closing * depth
    problems_of(f'{{"loom_evalset": 1, "cases": [{{"id": "a", "turns": ["x"], "metadata": {{"m": {deep}}}}}]}}')
    problems_of(deep)


def test_broken_encodings_are_reported_with_their_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id":"a","turns":["x"]}\n{"id":"b\xff","turns":["x"]}\n')
    assert "line 2: this is not UTF-8" in problems_of(path)[0]
    path.write_bytes(b'{"loom_evalset": 1,\n "cases": [\n {"id":"b\xff","turns":["x"]}]}\n')
    assert "line 3: this is not UTF-8" in problems_of(path)[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text", ['{"prompt": "é"}\n{"prompt": "b"}\n', "prompt\né\nb\n", '[{"prompt": "é"},\n{"prompt": "b"}]']
)
def test_byte_order_marks_and_line_ends_do_not_matter(tmp_path, encoding, end, text):
    path = tmp_path / "a.txt"
    path.write_bytes(text.replace("\n", end).encode(encoding))
    assert [case.prompt for case in EvalSet.read(path)] == ["é", "b"]


def test_huge_texts_null_bytes_and_unusual_ids_read_back(tmp_path):
    case = EvalCase(id="../../etc/passwd\0", turns=(Turn(prompt="x" * 10_000_000 + "\0<script>\x1b[31m"),))
    for name in ("a.json", "a.jsonl", "a.csv"):
        EvalSet(name="a", cases=(case,)).write(tmp_path / name, strict=True)
        assert EvalSet.read(tmp_path / name).cases == (case,)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.csv", "a.json", "a.jsonl"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["cases", "id", "turns", "prompt", "eval_cases", "eval_id", "conversation", "user_content", "parts", "text",
             "scenarios", "scenario_id", "input", "evaluators", "loom_evalset", "data", "query", "name", "metadata",
             "intermediate_data", "invocation_events", "content", "tool_uses", "expected_tools", "rubrics",
             "expected_trajectory", "actor_profile", "scenario", "function_call", "session_input", "turn"]
        ), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(
    st.text() | st.builds(json.dumps, JSON),
    st.sampled_from([None, "loom", "adk", "strands", "agentcore", "jsonl", "csv"]),
)
def test_whatever_the_text_says_it_is_a_set_or_an_error_in_words(text, form):
    with suppress(InvalidEvalSetError):
        assert EvalSet.read("\n" + text, form).name
