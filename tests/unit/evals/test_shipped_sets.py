"""The sets that ship with Loom: found by name, and with the substance that they claim."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import pytest

from loomlib import evals
from loomlib.errors import InvalidEvalSetError
from loomlib.evals import EvalSet
from loomlib.evals.formats import render
from loomlib.evals.formats.shipped import shipped_names, shipped_path
from loomlib.evals.registry import make_evaluator

NAMES = ("assistant", "calculator", "writer")
BLUEPRINTS = Path(evals.__file__).parent.parent / "blueprints"


def test_the_shipped_sets_are_found_by_name() -> None:
    assert shipped_names() == NAMES
    assert list(evals.shipped_sets()) == list(NAMES)
    for name, evalset in evals.shipped_sets().items():
        assert EvalSet.read(name) == evalset
        assert evalset.name == name


def test_a_file_of_the_same_name_goes_before_a_shipped_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("calculator").write_text('{"loom_evalset": 1, "name": "mine", "cases": [{"id": "a", "turns": ["Hi"]}]}')
    assert EvalSet.read("calculator").name == "mine"
    assert shipped_path("../sets/calculator") is None
    with pytest.raises(InvalidEvalSetError, match="no such eval set"):
        EvalSet.read("no_such_set")
    with pytest.raises(InvalidEvalSetError, match="did you mean 'calculator'"):
        EvalSet.read("calculater")


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_set_has_substance(name: str) -> None:
    evalset = EvalSet.read(name)
    tags = Counter(tag for case in evalset for tag in case.tags)
    assert len(evalset) >= 40
    assert {"trap:lucky_guess", "trap:detour", "trap:wrong_argument", "refusal", "multi_turn", "hard"} <= set(tags)
    assert sum(len(case.turns) > 1 for case in evalset) == tags["multi_turn"] >= 3
    assert len({case.asked_digest for case in evalset}) == len(evalset)
    assert all(case.tags for case in evalset)
    assert tags["hard"] <= len(evalset) // 20
    for case in evalset.where(tags=["hard"]):
        assert case.metadata["scripted_model"].startswith("Fails: ")


@pytest.mark.parametrize("name", NAMES)
def test_every_case_of_a_shipped_set_can_be_judged(name: str) -> None:
    evalset = EvalSet.read(name)
    assert (BLUEPRINTS / str(evalset.metadata["blueprint"]) / "agent.py").is_file()
    for choice in (*evalset.evaluators, *(own_choice for case in evalset for own_choice in case.evaluators)):
        assert pickle.dumps(make_evaluator(choice).digest)
    for case in evalset:
        is_expecting = case.expected_tools is not None or any(turn.expected_answer for turn in case.turns)
        assert is_expecting or case.evaluators, case.id


def test_a_set_is_written_as_it_lies_in_the_package() -> None:
    for name in NAMES:
        path = shipped_path(name)
        assert path is not None

        assert "".join(render(EvalSet.read(name)).parts) == path.read_text("utf-8")
