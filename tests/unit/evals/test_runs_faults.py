"""Runs of evaluations where somebody else's code, the store or the traces misbehave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from eval_runs import Adder, Says, sums

import loomlib as loom
from loomlib.evals import Score
from loomlib.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'loom.db'}") as opened:
        yield opened


def test_a_verdict_in_numpys_words_is_stored_as_it_was_meant(store: Store) -> None:
    verdict = Score(value=0.0, passed=np.bool_(False))  # pyright: ignore[reportArgumentType]
    run = loom.evaluate(Adder(), sums(1), Says("judge", verdict), store=store)
    assert [each.passed for each in run.outcomes()] == [False]


def test_of_several_scores_without_a_part_none_is_lost(store: Store) -> None:
    verdict = [Score(value=1.0), Score(value=0.5), Score(value=0.0)]
    run = loom.evaluate(Adder(), sums(1), Says("judge", verdict), store=store)
    found = {each.part or "": each.value for each in run.outcomes()}
    assert found == {"": 0.5, "part 1": 1.0, "part 2": 0.5, "part 3": 0.0}
