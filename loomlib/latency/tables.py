"""A study as DataFrames: one row a scenario, and one row a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loomlib.presentation.formats import number
from loomlib.statistics.estimates import Estimate

from .measurements import Measurement
from .starts import FOUND, NOT_FOUND_YET
from .summaries import ScenarioSummary, StudySummary

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
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


def summary_rows(summary: StudySummary) -> list[tuple[str, ...]]:
    """The summary as text, one row a scenario in the order of `COLUMNS`."""
    floor = summary.floor
    shown = number(floor.value) if floor.value is not None else str(floor)
    corrected = summary.clocks is not None and not summary.clocks.allows_agreement
    return [_row(each, shown, corrected=corrected) for each in summary.scenarios]


def summary_table(summary: StudySummary) -> pd.DataFrame:
    """The summary as a DataFrame of text, for reading; `StudyResult.summary()` has the same as numbers."""
    import pandas as pd

    return pd.DataFrame(summary_rows(summary), columns=list(COLUMNS)).set_index("scenario")


def calls_table(measurements: Sequence[Measurement]) -> pd.DataFrame:
    """Every call in the order of the plan. Durations in milliseconds; what was not measured is missing, never 0."""
    from loomlib.presentation.text_frame import TextFrame

    names = (
        "position", "block", "scenario", "state", "duration_ms", "ttft_ms", "connect_ms", "connection_reused",
        "start_latency_ms", "start_state", "failure", "error_message", "attempt", "started_at", "session_id",
        "invocation_id",
    )  # fmt: skip
    rows = [[str(value) if (value := getattr(each, name)) and name == "scenario" else value for name in names]
            for each in measurements]  # fmt: skip
    table = TextFrame(rows, columns=list(names)).set_index("position")
    numeric = ["duration_ms", "ttft_ms", "connect_ms", "start_latency_ms"]
    return table.astype(dict.fromkeys(numeric, "float64"))


def _row(each: ScenarioSummary, floor: str, *, corrected: bool) -> tuple[str, ...]:
    failed = ", ".join(f"{count} {name}" for name, count in each.failures.items())
    return (
        each.scenario.value,
        number(each.n, 0),
        _cell(each.p50),
        _cell(each.p90),
        _cell(each.p99),
        number(each.ttft_p50.value) if each.ttft_p50.value is not None else str(each.ttft_p50),
        _start(each, corrected=corrected),
        f"{each.failed} ({failed})" if failed else "0",
        floor,
    )


def _cell(estimate: Estimate) -> str:
    if estimate.value is None and estimate.needed_n:
        return f"{estimate} ({estimate.n} of {estimate.needed_n})"
    return str(estimate)


def _start(each: ScenarioSummary, *, corrected: bool) -> str:
    found = each.start_states.get(FOUND, 0)
    if each.start.value is not None:
        missing = each.n - found
        doubts = [f"{missing} not found"] * bool(missing) + ["clocks disagree, corrected"] * corrected
        return number(each.start.value) + (f" ({', '.join(doubts)})" if doubts else "")
    if not each.n:
        return "–"
    states = [state for state in each.start_states if state != FOUND]
    if found or not states:
        return str(each.start)
    return "not found yet" if NOT_FOUND_YET in states else states[0].replace("_", " ")
