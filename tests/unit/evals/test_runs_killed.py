"""Runs whose process is killed at any moment: nothing that was kept is lost or asked again."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from forked_process import ForkedProcess
from killed_run import COUNT

from loomlib.evals.runs import EvalRun
from loomlib.store import Store

HERE = Path(__file__).parent
PACE_S = 0.005
AT_ONCE = 4


def kill_somewhere(url: str, folder: Path, kills: int, seed: int) -> tuple[int, Counter[str]]:
    """Start the run again and again, each process killed at a moment of its own; how many were, and what was asked."""
    rng, kill_count = random.Random(seed), 0
    with ForkedProcess(HERE / "killed_run.py", "main", url, folder / "asked", PACE_S) as run:
        for _ in range(kills):
            answered_before, asked_before = answers(url), questions(folder)
            # Between the first new answer and some later one, so that the kill hits the work and not the start.
            target = asked_before + AT_ONCE + rng.randint(0, max(1, COUNT // kills))
            run.start()
            run.run_until(lambda: questions(folder) > target)  # noqa: B023
            time.sleep(rng.uniform(0.0, 0.003))
            kill_count += run.kill()
            assert answers(url) >= answered_before
        run.start()
        assert run.finish() == 0
    return kill_count, Counter((folder / "asked").read_text().split())


def questions(folder: Path) -> int:
    """Return how many questions were asked so far; it costs less than counting the stored answers."""
    log = folder / "asked"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def answers(url: str) -> int:
    with Store.open(url) as store:
        return len(store.eval_answers.results("run"))


def check(url: str, kill_count: int, question_counts: Counter[str]) -> None:
    with Store.open(url) as store:
        run = EvalRun.load(store, "run")
        outcomes = run.outcomes()
        assert run.state == "complete"
        assert len({(outcome.case_id, outcome.evaluator) for outcome in outcomes}) == len(outcomes) == 2 * COUNT
        assert {outcome.value for outcome in outcomes} == {1.0}
        assert len(run.rows()) == COUNT
        assert run.summary()["says"].scored == COUNT
    assert set(question_counts) == {f"{n}+{n}" for n in range(COUNT)}
    # Of each killed process, only what was under way or waited to be written: fewer than twice what is asked at once.
    assert sum(question_counts.values()) - COUNT <= (2 * AT_ONCE - 1) * kill_count


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_five_kills_lose_nothing_and_ask_nothing_again_that_was_kept(store_url: str, tmp_path: Path) -> None:
    kill_count, question_counts = kill_somewhere(store_url, tmp_path, 5, seed=1)
    assert kill_count > 0
    check(store_url, kill_count, question_counts)


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills_lose_nothing_and_ask_nothing_again_that_was_kept(
    store_url: str, tmp_path: Path, seed: int
) -> None:
    kill_count, question_counts = kill_somewhere(store_url, tmp_path, 10, seed=100 + seed)
    check(store_url, kill_count, question_counts)
