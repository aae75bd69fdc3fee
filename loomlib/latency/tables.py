"""A latency study as tables: one row for each scenario, or one for each call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from loomlib.experiments import StudyTable
from loomlib.presentation.formats import number
from loomlib.statistics.estimates import Estimate

from .measurements import FOUND, NOT_FOUND_YET, Measurement
from .result import StudyResult
from .summaries import ScenarioSummary
from .theme import SCENARIO_STYLES

if TYPE_CHECKING:
    import pandas as pd


COLUMNS: Final = (
    "scenario",
    "n",
    "p50 [95 %] ms",
    "p90 [95 %] ms",
    "p99 [95 %] ms",
    "TTFT p50 ms",
    "start p50 ms",
    "failed",
    "harness floor ms",
)


def table(result: StudyResult) -> StudyTable:
    """Return the summary as text: a row for each scenario and for each kind of calls of a mixture.

    The runtime's platform version is shown where it is known.
    """
    summary = result.estimates()
    floor = summary.floor
    floor_text = number(floor.value) if floor.value is not None else str(floor)
    corrected = summary.clocks is not None and not summary.clocks.allows_agreement
    rows = [
        (row, SCENARIO_STYLES[scenario.scenario])
        for scenario in summary.scenarios
        for row in (_row(scenario, floor_text, corrected=corrected), *_part_rows(scenario, floor_text))
    ]
    platform = [("platform", result.platform_version)] if result.platform_version else []
    return StudyTable(
        columns=[*COLUMNS, *(name for name, _ in platform)],
        rows=[(*row, *(value for _, value in platform)) for row, _ in rows],
        marks=[(look.colour, look.mark) for _, look in rows],
    )


def measurements_frame(measurements: Sequence[Measurement]) -> pd.DataFrame:
    """Return every call in order. Durations in milliseconds; what was not measured is missing, never 0."""
    from loomlib.presentation.text_frame import TextFrame

    names = (
        "position", "block", "scenario", "state", "duration_ms", "ttft_ms", "connect_ms", "connection_reused",
        "start_latency_ms", "start_state", "garbage_collection_ms", "started_process", "failure", "error_message",
        "attempt", "started_at", "session_id", "invocation_id",
    )  # fmt: skip
    rows = [[call.scenario.value if name == "scenario" else getattr(call, name) for name in names]
            for call in measurements]  # fmt: skip
    frame = TextFrame(rows, columns=list(names)).set_index("position")
    numeric = ["duration_ms", "ttft_ms", "connect_ms", "start_latency_ms", "garbage_collection_ms"]
    return frame.astype(dict.fromkeys(numeric, "float64"))


def _row(scenario: ScenarioSummary, floor: str, *, corrected: bool) -> tuple[str, ...]:
    failed = ", ".join(f"{count} {name}" for name, count in scenario.failures.items())
    first_byte = scenario.ttft_p50
    return (
        f"{scenario.scenario}{' (mixture)' if scenario.mixture else ''}",
        number(scenario.n, 0),
        _cell(scenario.p50),
        _cell(scenario.p90),
        _cell(scenario.p99),
        number(first_byte.value) if first_byte.value is not None else str(first_byte),
        _start(scenario, corrected=corrected),
        f"{scenario.failed} ({failed})" if failed else "0",
        floor,
    )


def _part_rows(scenario: ScenarioSummary, floor: str) -> list[tuple[str, ...]]:
    """Return a row for each kind of calls of a mixture, its share in the first cell."""
    if scenario.mixture is None:
        return []
    return [
        (
            f"{scenario.scenario}, {part.label}: {part.share.text('share')}",
            number(part.n, 0),
            _cell(part.p50),
            _cell(part.p90),
            _cell(part.p99),
            number(part.ttft_p50.value) if part.ttft_p50.value is not None else str(part.ttft_p50),
            "–",
            "–",
            floor,
        )
        for part in (scenario.mixture.slow, scenario.mixture.fast)
    ]


def _cell(estimate: Estimate) -> str:
    if estimate.value is None and estimate.needed_n:
        return f"{estimate} ({estimate.n} of {estimate.needed_n})"
    return str(estimate)


def _start(scenario: ScenarioSummary, *, corrected: bool) -> str:
    found_count = scenario.start_states.get(FOUND, 0)
    if scenario.start.value is not None:
        missing = scenario.n - found_count
        notes = [f"{missing} not found"] * bool(missing) + ["clocks disagree, corrected"] * corrected
        return number(scenario.start.value) + (f" ({', '.join(notes)})" if notes else "")
    if not scenario.n:
        return "–"
    states = [state for state in scenario.start_states if state != FOUND]
    if found_count or not states:
        return str(scenario.start)
    return "not found yet" if NOT_FOUND_YET in states else states[0].replace("_", " ")
