"""What runs do the quick way is what the plain way gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from eval_runs import Adder, Says, case_of
from hypothesis import given
from hypothesis import strategies as st

import loomlib as loom
from loomlib.evals import CaseAnswer, EvalCase, EvalSet, NotApplicable, Score
from loomlib.evals.compare.gathered import gather
from loomlib.evals.runs.assignment import EvaluatorAssignment
from loomlib.evals.runs.outcome_rows import read_gathered, read_outcomes
from loomlib.evals.values.canonical import case_digests, case_from_text, case_to_text, cases_to_texts
from loomlib.evals.values.digests import canonical_text, digest_of_text
from loomlib.evals.values.fast_json import ascii_encoder
from loomlib.store import Store

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec=None)), inner),
    max_leaves=20,
)


@given(value=plain, sort_keys=st.booleans())
def test_the_quick_encoder_writes_what_json_writes(value: Any, sort_keys: bool) -> None:
    quick = ascii_encoder(repr, sort_keys=sort_keys)
    assert quick(value) == json.dumps(value, sort_keys=sort_keys, separators=(",", ":"))
    assert quick({"a": {1}}) == '{"a":"{1}"}'


def test_the_quick_encoder_refuses_what_json_refuses() -> None:
    round_about: dict[str, Any] = {}
    round_about["again"] = round_about
    with pytest.raises(ValueError, match="Circular reference"):
        canonical_text(round_about)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        canonical_text(deep)


@given(tags=st.lists(st.text()), metadata=st.dictionaries(st.text(), st.integers()), steps=st.none() | st.integers(0))
def test_a_cases_digest_is_that_of_its_text_however_it_is_made(
    tags: list[str], metadata: dict[str, int], steps: int | None
) -> None:
    def made() -> EvalCase:
        case = case_of(1)
        return EvalCase(
            id="c", turns=case.turns, tags=tuple(tags), metadata=metadata, reference_steps=steps, source="here"
        )

    text = case_to_text(made())
    assert made().digest == digest_of_text(text) == case_from_text(text).digest
    assert case_digests([made()]) == [made().digest]
    new_case = made()
    assert cases_to_texts([new_case]) == [text]
    assert new_case.digest == made().digest


def test_what_is_gathered_from_the_store_is_what_its_outcomes_give(store: Store) -> None:
    def parts(case: EvalCase, answer: CaseAnswer) -> Any:
        """Wholes, parts behind a whole, "not applicable", failures and several labels, by the case's number."""
        number = int(case.id.split()[1])
        if number % 5 == 0:
            return NotApplicable("nothing to say")
        if number % 5 == 1:
            return [Score(value=0.25, part="a"), Score(value=2.0, part="b", labels=("marked",))]
        if number % 5 == 2:
            return ValueError("planned")
        return Score(value=number / 20, passed=number % 2 == 0, labels=("marked", f"label {number % 3}"))

    evalset = EvalSet(name="sums", cases=tuple(case_of(place) for place in range(20)))
    target = Adder(["agent_error"] * 3)
    run = loom.evaluate(target, evalset, [Says(), Says("parts", parts)], 2, store=store)
    row = store.eval_runs.get(run.id)
    assert row is not None
    bench = EvaluatorAssignment.read(row.design)
    outcomes = list(read_outcomes(store, run.id, evalset, bench))
    assert {outcome.state for outcome in outcomes} == {"scored", "not_applicable", "judge_failed", "answer_failed"}
    gathered, expected = read_gathered(store, run.id, evalset, bench), gather(outcomes)
    assert gathered == expected
    assert list(gathered) == list(expected)
    assert [list(results.labels) for results in gathered.values()] == [
        list(results.labels) for results in expected.values()
    ]


def test_a_store_in_memory_has_one_connection_and_that_is_enough() -> None:
    with Store.open("sqlite://") as store:
        run = loom.evaluate(Adder(), EvalSet(name="sums", cases=(case_of(1), case_of(2))), Says(), store=store)
        assert run.summary()["says"].scored == 2
        assert len(run.outcomes()) == 2
