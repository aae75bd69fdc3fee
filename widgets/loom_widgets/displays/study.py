"""A latency study: the conclusion, each scenario with its interval, each call as a dot, and a table of calls."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from loomlib.latency import Scenario, StudyResult
from loomlib.latency.figures import floor_note

from ..kit.texts import well_formed
from .display import Display, small_table
from .rows import flat

_MOST_DOTS: Final = 1_000  # dots of one scenario
_QUANTILES: Final = ("p50", "p90", "p99")


class StudyDisplay(Display):
    """A stored study, complete or not."""

    called: ClassVar[str] = "Latency study"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.displays", "study.js")

    def fill(self) -> Mapping[str, Any]:
        """Return the whole study."""
        result: StudyResult = self.value
        estimates = result.estimates()
        self.title = f"Latency of {result.agent_name}"
        method, table = result.method(), result.text_table()
        load = f"from loomlib import StudyResult\n\nresult = StudyResult.load(bench.context.store, {result.study_id!r})"
        self.show_code(f"{load}\nresult.sentences()\n\n# the same again:\n{method.run_again}")
        dots: dict[str, list[list[float]]] = {item.value: [] for item in Scenario}
        for call in result.calls:
            if call.is_done and call.duration_ms is not None:
                dots[call.scenario.value].append([call.position + 1, call.duration_ms])
        return {
            "heading": well_formed(result.title()),
            "sentences": result.sentences(),
            "summary": small_table(table.columns, table.rows),
            "floor": floor_note(result.floor),
            "dots": [
                {"name": name, "points": points[:: max(1, -(-len(points) // _MOST_DOTS))]}
                for name, points in dots.items()
                if points
            ],
            "intervals": [
                {
                    "scenario": item.scenario.value, "quantile": name, "value": estimate.value, "low": estimate.low,
                    "high": estimate.high, "open": estimate.open_above,
                }
                for item in estimates.scenarios
                for name in _QUANTILES
                if (estimate := getattr(item, name)).value is not None
            ],
            "findings": [
                {"title": finding.title, "evidence": well_formed(finding.evidence), "advice": finding.advice}
                for finding in result.findings()
            ],
            "notes": [*method.notes, *method.limits],
            "calls": self.put_frame("calls", flat(result.measurements()), f"{load}\ntable = result.measurements()"),
        }  # fmt: skip
