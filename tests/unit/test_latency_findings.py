"""Findings are seen when they are there, and not when they are not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from latency_calls import calls, failed

from loomlib.experiments import StudyFinding
from loomlib.latency import Measurement, Scenario
from loomlib.latency.findings import find
from loomlib.latency.floor import Floor
from loomlib.latency.summaries import summarize

STEADY = [float(duration_ms) for duration_ms in np.random.default_rng(3).lognormal(3, 0.08, 24)]


def findings(measurements: Sequence[Measurement], floor: Floor | None = None) -> dict[str, StudyFinding]:
    floor = floor or Floor(durations_ms=(0.5,) * 31)
    return {finding.kind: finding for finding in find(measurements, summarize(measurements, floor))}


def test_a_steady_study_has_no_findings() -> None:
    measurements = calls(
        cold=[duration_ms + 300 for duration_ms in STEADY], warm=STEADY, sticky=STEADY[::-1], warm_starts=[1.0] * 24
    )
    assert findings(measurements) == {}


def test_chance_alone_rarely_gives_a_finding() -> None:
    false_positives = 0
    for seed in range(100):
        samples = np.random.default_rng(seed).lognormal(3, 0.3, (3, 20)).tolist()
        # How wide an interval is, is no chance: 20 such calls know their p90 badly.
        false_positives += bool(findings(calls(cold=samples[0], warm=samples[1], sticky=samples[2])).keys() - {"width"})
    assert false_positives <= 8


def test_failures_come_first_with_their_share_and_a_message() -> None:
    findings_by_kind = findings(
        [*calls(warm=STEADY), failed(90, Scenario.COLD, "agent_error", "ImportError: no module")]
    )
    assert next(iter(findings_by_kind)) == "failures"
    assert "1 agent_error (cold)" in findings_by_kind["failures"].evidence
    assert "ImportError" in findings_by_kind["failures"].evidence


def test_a_drift_is_reported_with_both_halves() -> None:
    findings_by_kind = findings(calls(warm=[10.0 + k / 3 + (k % 3) / 10 for k in range(24)]))
    assert findings_by_kind["drift"].title == "The warm calls became slower while the study ran"
    assert "99 % interval" in findings_by_kind["drift"].evidence


def test_a_slow_first_call_of_a_long_lived_session_is_seen() -> None:
    findings_by_kind = findings(calls(sticky=[60.0, *STEADY]))
    assert "60 ms against a median of" in findings_by_kind["first sticky call"].evidence


def test_two_groups_are_reported_as_a_mixture() -> None:
    findings_by_kind = findings(calls(cold=[300.0 + k for k in range(8)] + [2000.0 + k for k in range(8)]))
    assert findings_by_kind["groups"].evidence.startswith(
        "8 up to 307 ms, 8 from 2 s on, none between: the slower are 50 % of them"
    )


def test_a_lone_slow_call_is_an_outlier_and_no_group() -> None:
    findings_by_kind = findings(calls(warm=[*STEADY, 400.0]))
    assert set(findings_by_kind) == {"outliers"}
    assert "400 ms at position 24" in findings_by_kind["outliers"].evidence


def test_new_connections_in_some_calls_are_reported() -> None:
    measurements = calls(warm=STEADY)
    measurements[3] = replace(measurements[3], connect_ms=9.0, connection_reused=False)
    assert "1 warm call of 24 opened a new connection" in findings(measurements)["connections"].title


def test_starts_that_are_not_known_tell_what_to_do() -> None:
    assert "run the study again" in findings(calls(cold=STEADY, start_state="not_found_yet"))["starts"].advice
    assert "Agent invoked - Start time" in findings(calls(cold=STEADY, start_state="no_start_line"))["starts"].advice


def test_a_clock_that_is_five_seconds_off_is_reported() -> None:
    findings_by_kind = findings(calls(warm=STEADY, warm_starts=[5002.0] * 24))
    assert findings_by_kind["clocks"].title == "The agent's clock is ahead of this machine's"
    assert findings(calls(warm=STEADY, warm_starts=[-4998.0] * 24))["clocks"].title.startswith(
        "The agent's clock is be"
    )


def test_a_harness_that_is_much_of_the_result_is_reported() -> None:
    assert "floor 9 ms" in findings(calls(warm=STEADY), Floor(durations_ms=(9.0,) * 31))["floor"].evidence


def test_calls_made_again_are_reported() -> None:
    measurements = calls(warm=STEADY)
    measurements[5] = replace(measurements[5], attempt=2)
    assert findings(measurements)["resumed"].evidence == "positions 5"


def test_a_wide_interval_says_how_many_calls_would_make_it_narrow() -> None:
    samples = np.random.default_rng(3).lognormal(5, 0.4, (2, 40)).tolist()
    findings_by_kind = findings(calls(warm=samples[0], sticky=STEADY))
    assert re.fullmatch(r"p90 is known only within ±\d+(\.\d)? %", findings_by_kind["width"].title)
    assert re.fullmatch(
        r"warm ±.+ % of 40 calls, about [\d\u202f]+ calls would give ±10 %", findings_by_kind["width"].evidence
    )
