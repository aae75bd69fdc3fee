"""A shortlist holds every nearest vector, whatever the vectors are like, and the index answers the same with it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from loomlib.local.memory.records.index import DIMENSIONS, RecordsIndex
from loomlib.local.memory.records.shortlist import Shortlist
from loomlib.local.memory.records.store import LongTermRecord, RecordsStore, Scope

ROWS = 6_000


def vectors_of(strong: int, *, rows: int = ROWS, seed: int = 1) -> NDArray[np.float32]:
    """Unit vectors that lie in `strong` directions for the most part."""
    chance = np.random.default_rng(seed)
    mixed = chance.standard_normal((rows, strong)) @ chance.standard_normal((strong, DIMENSIONS))
    mixed += 0.3 * chance.standard_normal((rows, DIMENSIONS))
    return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("strong", [3, 24, 100])
@pytest.mark.parametrize("k", [1, 10, 20])
def test_every_nearest_vector_is_on_the_list(strong: int, k: int) -> None:
    vectors = vectors_of(strong)
    vectors[100:140] = vectors[7]  # many alike: ties must all be there
    vectors[5_000:5_010] = 0
    shortlist = Shortlist(vectors)
    is_eligible = np.random.default_rng(2).random(ROWS) < 0.9
    lengths = []
    for question in (vectors[7], vectors[3_000], vectors_of(strong, rows=1, seed=3)[0]):
        rows = shortlist.rows(vectors, question, is_eligible, k)
        if rows is None:
            continue
        scores = vectors @ question
        kth = np.sort(scores[is_eligible])[-k]
        assert set(np.flatnonzero(is_eligible & (scores >= kth))) <= set(rows)
        assert is_eligible[rows].all()
        lengths.append(len(rows))
    assert strong > 24 or lengths, "with few strong directions a list is short enough to be of use"


def test_a_shortlist_of_most_rows_is_none() -> None:
    chance = np.random.default_rng(5).standard_normal((ROWS, DIMENSIONS)).astype(np.float32)
    vectors = chance / np.linalg.norm(chance, axis=1, keepdims=True)
    everything = np.ones(ROWS, dtype=np.bool_)
    assert Shortlist(vectors).rows(vectors, vectors_of(3, rows=1)[0], everything, 10) is None
    assert Shortlist(vectors).rows(vectors, vectors[0], everything, 1_000) is None, "more than the blocks tell"
    assert Shortlist(vectors).rows(vectors, vectors[0], ~everything, 1) is None


def test_a_changed_row_is_listed_as_it_is_now() -> None:
    vectors = vectors_of(3)
    shortlist, everything = Shortlist(vectors), np.ones(ROWS, dtype=np.bool_)
    question = vectors_of(100, rows=1, seed=9)[0]
    vectors[4_321] = question  # unlike all that the directions were made of
    shortlist.put(4_321, vectors[4_321])
    rows = shortlist.rows(vectors, question, everything, 1)
    assert rows is None or 4_321 in rows


def test_the_index_of_a_large_memory_finds_what_a_plain_scan_finds_through_changes(tmp_path: Path) -> None:
    vectors = vectors_of(16, rows=2 * ROWS + 200)
    with closing(RecordsStore(tmp_path)) as store:
        index, rows_by_id = RecordsIndex(store), dict[str, int]()

        def put(record_id: str, at: int) -> None:
            record = LongTermRecord(
                record_id=record_id, namespace="/a", strategy_id="s", text="text", created_at=1, updated_at=1
            )
            store.put("m", record, vectors[at].tobytes())
            rows_by_id[record_id] = at

        def check(question: NDArray[np.float32]) -> None:
            expected = sorted(
                (-round(float(vectors[at] @ question), 5), record_id) for record_id, at in rows_by_id.items()
            )[:10]
            matches = index.nearest("m", question, Scope(None, "/a"), k=10)
            assert [(-round(score, 5), record_id) for record_id, score in matches] == expected

        with store.transaction():
            for number in range(ROWS):
                put(f"r{number:05d}", number)
        check(vectors[17])
        with store.transaction():
            for number in range(100):
                put(f"r{number:05d}", 2 * ROWS + number)  # changed
            for number in range(100, 200):
                store.remove("m", f"r{number:05d}")
                del rows_by_id[f"r{number:05d}"]
        check(vectors[2 * ROWS + 17])
        check(vectors[150])
        with store.transaction():
            for number in range(ROWS, 2 * ROWS):
                put(f"r{number:05d}", number)  # past twice as many
        check(vectors[ROWS + 17])
