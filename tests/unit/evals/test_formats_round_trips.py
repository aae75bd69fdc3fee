"""Every form reads back what it wrote: all of it, or all but exactly the fields that it listed as lost."""

import copy
import json
from dataclasses import replace

import pytest
from format_cases import FULL, eval_sets
from hypothesis import HealthCheck, given, settings

from loomlib.errors import LoomError
from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn
from loomlib.evals.formats import FORMATS, from_frame, read, render, to_frame
from loomlib.evals.formats.files import _configured, _read
from loomlib.evals.formats.native import case_fields, set_fields
from loomlib.evals.formats.source import Source
from loomlib.evals.values.canonical import case_from_text, case_to_text

SLOW = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
FOREIGN = ("csv", "adk", "strands", "agentcore")


def read_again(rendered, form, name):
    again = _read(Source(name, "text", None, "".join(rendered.parts)), form)
    return _configured(again, Source("", "config", None, rendered.config)) if rendered.config else again


def without(document, path):
    """Removes a field, of every turn and tool where the path leads through them."""
    first, *rest = path.split(".")
    if not rest:
        document.pop(first, None)
        return
    inner = document.get(first)
    for item in inner if isinstance(inner, list) else [inner]:
        if isinstance(item, dict):
            without(item, ".".join(rest))


def plain_case(case):
    document = json.loads(json.dumps(case_fields(case)))
    for owner, name in ((document, "session_tools"), *((turn, "expected_tools") for turn in document.get("turns", ()))):
        if name in owner:
            owner[name] = [t if isinstance(t, dict) else {"name": t} for t in owner[name]]
    return document


def stripped(evalset, losses):
    head = set_fields(evalset)
    head.pop("notes", None)
    documents = {case.id: plain_case(case) for case in evalset.cases}
    for loss in losses:
        for document in [documents[id] for id in loss.cases] or [head]:
            without(document, loss.field)
            if loss.field == "scenario":
                without(document, "turns")
    return head, documents


@pytest.mark.parametrize("form", ["loom", "jsonl"])
@SLOW
@given(evalset=eval_sets())
def test_looms_own_forms_lose_nothing(form, evalset):
    rendered = render(evalset, form)
    assert not rendered.losses
    again = read_again(rendered, form, "other")
    assert again == evalset
    assert again.digest == evalset.digest
    assert all(case_from_text(case_to_text(case)).digest == case.digest for case in evalset)
    assert "".join(render(again, form).parts) == "".join(render(evalset, form).parts)


@pytest.mark.parametrize("form", FOREIGN)
@SLOW
@given(evalset=eval_sets())
def test_other_forms_lose_exactly_what_they_list(form, evalset):
    rendered = render(evalset, form)
    again = read_again(rendered, form, evalset.name)
    assert stripped(again, rendered.losses) == stripped(evalset, rendered.losses)
    for loss in rendered.losses:
        assert loss.reason
        for id in loss.cases:
            assert again[id] != evalset[id]
    for case in evalset:
        if not any(case.id in loss.cases for loss in rendered.losses):
            assert again[case.id] == case


@pytest.mark.parametrize("form", FOREIGN)
@SLOW
@given(evalset=eval_sets())
def test_what_has_been_through_a_form_once_loses_nothing_the_second_time(form, evalset):
    once = read_again(render(evalset, form), form, evalset.name)
    assert not render(once, form).losses


@SLOW
@given(evalset=eval_sets())
def test_a_data_frame_loses_nothing(evalset):
    assert from_frame(to_frame(evalset)) == evalset


@SLOW
@given(evalset=eval_sets())
def test_a_table_keeps_every_case(evalset):
    assert {loss.cases for loss in render(evalset, "csv").losses} <= {()}


def test_agentcore_names_which_fields_it_drops():
    losses = render(FULL, "agentcore").losses
    assert "turns.expected_tools.arguments" not in losses.fields  # of two turns it can keep no tools apart
    assert "turns.expected_tools" in losses.fields
    one = EvalSet(name="one", cases=(EvalCase(id="one", turns=FULL.cases[0].turns[:1]),))
    assert render(one, "agentcore").losses.fields == (
        "turns.expected_texts",
        "turns.expected_tools.arguments",
        "turns.expected_tools.matchers",
        "turns.expected_tools.result",
        "turns.rubrics",
    )
    assert "not their arguments" in str(render(one, "agentcore").losses)


def test_what_is_expected_of_a_whole_conversation_stays_so_in_agentcores_form():
    path = (ExpectedTool(name="lookup"), ExpectedTool(name="close"))
    talk = EvalCase(id="talk", turns=(Turn(prompt="a", expected_answer="b"), Turn(prompt="c")), session_tools=path)
    evalset = EvalSet(name="talks", cases=(talk, replace(talk, id="none", session_tools=())))
    rendering = render(evalset, "agentcore")
    assert not rendering.losses
    again = read_again(rendering, "agentcore", "talks")
    assert again == evalset
    assert again.digest == evalset.digest
    assert (
        len({case.digest for case in (talk, replace(talk, session_tools=None), replace(talk, session_tools=()))}) == 3
    )
    assert len({case.asked_digest for case in (talk, replace(talk, session_tools=None))}) == 1
    with_arguments = replace(talk, session_tools=(ExpectedTool(name="lookup", arguments={"id": 7}),))
    losses = render(EvalSet(name="talks", cases=(with_arguments,)), "agentcore").losses
    assert losses.fields == ("session_tools.arguments",)
    assert render(evalset, "adk").losses.fields == ("session_tools",)


def test_every_form_can_write_a_set_that_holds_everything():
    for form in FORMATS:
        losses = render(FULL, form).losses
        assert losses.format == form
        assert bool(losses) == (form not in ("loom", "jsonl"))


@pytest.mark.parametrize("name", ["set.json", "set.jsonl", "set.csv", "set.evalset.json"])
def test_a_file_reads_back_by_its_content_whatever_it_is_called(tmp_path, name):
    simple = EvalSet(name="set", cases=(EvalCase(id="a", turns=(Turn(prompt="1+1?", expected_answer="2"),)),))
    assert not simple.write(tmp_path / name, strict=True)
    (tmp_path / "renamed").mkdir()
    other = tmp_path / "renamed" / "set.txt"
    (tmp_path / name).rename(other)
    assert EvalSet.read(other) == simple


def test_strict_writing_of_what_would_be_lost_writes_nothing(tmp_path):
    with pytest.raises(LoomError, match="only the first turn is written"):
        FULL.write(tmp_path / "orders.csv", "strands", strict=True)
    assert not list(tmp_path.iterdir())


def test_writing_keeps_the_old_file_when_it_fails(tmp_path):
    path = tmp_path / "set.json"
    FULL.write(path)
    before = path.read_bytes()
    bad = EvalSet(name="bad", cases=(EvalCase(id="a", turns=(Turn(prompt="x"),), metadata={"when": float("nan")}),))
    with pytest.raises(ValueError, match=r"'a' cannot be written: metadata\.when: nan"):
        bad.write(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["set.json"]


def test_one_edited_case_changes_only_its_own_lines():
    text = "".join(render(FULL, "loom").parts)
    edited = copy.copy(FULL.cases[1].__dict__) | {"tags": ("new",)}
    edited.pop("digest", None)
    other = "".join(render(FULL.with_cases(EvalCase(**edited)), "loom").parts)
    assert len(set(other.splitlines()) ^ set(text.splitlines())) <= 4
    assert read(text) == FULL
