"""The gate: missed, passed, or unclear; and since when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from new_store import new_store

from loomlib.latency import StudyResult
from loomlib.latency.design import StudyDesign
from loomlib.store import PlannedMeasurement, Store, StudyRow

BEGAN = datetime(2026, 11, 1, 3, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


def night(store: Store, day: int, warm_ms: Sequence[float], *, prompt: str = "2+2?", arn: str = "arn:x") -> StudyResult:
    """A stored study of that day whose warm calls took so long."""
    key = f"night-{day}-{prompt}-{arn}"
    store.studies.create(
        StudyRow(
            id=key,
            scope="aws",
            agent_arn=arn,
            design=StudyDesign(cold=0, warm=len(warm_ms), sticky=0, prompt=prompt).stored(),
            state="complete",
            created_at=BEGAN + timedelta(days=day),
            environment={"qualifier": "DEFAULT"},
        )
    )
    places = range(len(warm_ms))
    store.measurements.plan(key, [PlannedMeasurement(position=k, block=k, scenario="warm") for k in places])
    for place in places:
        store.measurements.record(key, place, "done", duration_ms=warm_ms[place], ttft_ms=warm_ms[place])
    return StudyResult.load(store, key)


FAST = [800.0 + k for k in range(20)]
SLOW = [1000.0 + k for k in range(20)]


def test_a_gate_is_missed_when_the_whole_interval_lies_above_the_limit(store: Store) -> None:
    verdict = night(store, 1, SLOW).gate(900)
    assert (verdict.outcome, verdict.is_missed) == ("missed", True)
    assert verdict.by_ms == pytest.approx(117.6, abs=0.1)
    assert verdict.confidence == pytest.approx(1.0)
    assert verdict.sentence().startswith("Gate missed by 118 ms: p90 of warm calls 1.02 s (95 % interval ")
    assert verdict.sentence().endswith("confidence over 99 %, since 2 Nov 2026 03:00 UTC.")


def test_a_gate_is_passed_when_the_whole_interval_lies_below_the_limit(store: Store) -> None:
    assert night(store, 1, FAST).gate(900).outcome == "passed"


def test_a_flaky_night_is_unclear_and_raises_no_alarm(store: Store) -> None:
    verdict = night(store, 1, [*FAST[:-2], 1500.0, 1600.0]).gate(900)
    assert (verdict.outcome, verdict.is_missed) == ("unclear", False)
    assert 0 < (verdict.confidence or 0) < 1
    assert "contains the limit of 900 ms" in verdict.sentence()


@pytest.mark.parametrize("calls", [1, 3, 9])
def test_a_gate_that_every_single_call_misses_is_missed_however_few_they_are(store: Store, calls: int) -> None:
    verdict = night(store, 1, [5000.0] * calls).gate(900)
    assert verdict.is_missed
    which = "the only answered warm call misses" if calls == 1 else f"all {calls} answered warm calls miss"
    assert verdict.sentence() == f"Gate missed: {which} the limit of 900 ms, since 2 Nov 2026 03:00 UTC."


def test_an_undecided_gate_states_how_many_calls_it_needs(store: Store) -> None:
    verdict = night(store, 1, [800.0 + 10 * k for k in range(12)]).gate(905)
    assert verdict.outcome == "unclear"
    needed = verdict.summary()["needed_n"]
    assert needed > 12
    assert f"about {needed} warm calls are needed to decide (there are 12)" in verdict.sentence()
    # As many calls of the same kind decide it.
    again = night(store, 2, [800.0 + 120 * k / (2 * needed) for k in range(2 * needed)]).gate(920)
    assert again.outcome == "passed"


def test_a_few_calls_of_which_one_meets_the_limit_are_unclear(store: Store) -> None:
    verdict = night(store, 1, [5000.0] * 8 + [800.0]).gate(900)
    assert verdict.outcome == "unclear"
    assert verdict.sentence() == "Gate unclear: 9 answered warm calls, 10 are needed to judge the limit of 900 ms."


def test_a_missed_gate_states_since_when_by_the_studies_before_it(store: Store) -> None:
    night(store, 1, SLOW)
    night(store, 2, FAST)
    night(store, 3, SLOW)
    night(store, 4, SLOW[:3])  # too few calls to say anything
    night(store, 5, SLOW, prompt="another question")
    night(store, 6, FAST, arn="arn:another")
    night(store, 7, SLOW)
    night(store, 9, FAST)  # a later study
    verdict = night(store, 8, SLOW).gate(900)
    assert verdict.since == BEGAN + timedelta(days=3)
    assert verdict.studies == 3
    assert verdict.sentence().endswith("3 studies in a row.")


def test_a_limit_of_nothing_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="above 0"):
        night(store, 1, FAST).gate(0)
    with pytest.raises(ValueError, match="tepid"):
        night(store, 2, FAST).gate(900, scenario="tepid")
