"""Latency studies whose process is killed at random moments: no measurement is lost, none is made twice."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from forked_process import ForkedProcess
from killed_study import CALLS

from loomlib.store import Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")


def lines(file: Path) -> int:
    """How many calls were made so far."""
    return file.read_bytes().count(b"\n") if file.exists() else 0


def done(url: str) -> dict[int, object]:
    with Store.open(url) as store:
        return {row.position: row for row in store.measurements.list("killed", ["done"])}


def test_five_kills_of_a_study_lose_no_measurement_and_make_none_twice(store_url: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    killed = kill_at_random(store_url, notes, 5, random.Random(1))
    assert killed > 0
    check(store_url, notes, killed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills_of_studies_lose_no_measurement_and_make_none_twice(
    store_url: str, tmp_path: Path, seed: int
) -> None:
    notes = tmp_path / "notes"
    killed = kill_at_random(store_url, notes, 10, random.Random(100 + seed))
    check(store_url, notes, killed)


def kill_at_random(url: str, notes: Path, kills: int, rng: random.Random) -> int:
    """Start the study again and again, each process killed at a moment of its own; return how many were."""
    kill_count, previous = 0, dict[int, object]()
    with ForkedProcess(Path(__file__).with_name("killed_study.py"), "run", url, notes) as study:
        for _ in range(kills):
            target = lines(notes) + rng.randint(0, max(1, CALLS // kills))
            study.start()
            study.run_until(lambda: lines(notes) > target)  # noqa: B023
            time.sleep(rng.uniform(0.0, 0.01))
            kill_count += study.kill()
            current = done(url)
            assert {position: current[position] for position in previous} == previous, (
                "what was measured stays as it was"
            )
            previous = current
        study.start()
        assert study.finish() == 0
    return kill_count


def check(url: str, notes: Path, killed: int) -> None:
    with Store.open(url) as store:
        study = store.studies.get("killed")
        rows = store.measurements.list("killed")
        timed = [row for row in store.invocations.list(limit=None) if "timed" in row.labels]
    assert study is not None
    assert study.state == "complete"
    assert {row.position: row.state for row in rows} == dict.fromkeys(range(CALLS), "done")
    ended = Counter(label for row in timed if row.status == "complete" for label in row.labels if "position:" in label)
    assert ended == Counter({f"position:{position}": 1 for position in range(CALLS)}), "no call was answered twice"
    ids = {row.id for row in timed if row.status == "complete"}
    assert {row.invocation_id for row in rows} == ids
    call_counts = Counter(notes.read_text().split())
    assert set(call_counts) == set(ended)
    # Of each killed process, only the call that was under way is made again.
    assert sum(call_counts.values()) - CALLS <= killed
