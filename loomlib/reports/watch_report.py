"""The report of a watch: changes in the stored nights of an agent, and each figure with its change points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from loomlib.latency.watch import Change, FigureHistory, WatchResult
from loomlib.latency.watch.drawing import nights_drawing
from loomlib.latency.watch.method import METHOD_NOTES
from loomlib.presentation.formats import percent
from loomlib.presentation.html import fragment
from loomlib.statistics.gates import MISSED, PASSED, UNCLEAR

from .displays import Listing, Verdict

FORMAT = "loom.watch/1"


def first_day(text: str) -> date | None:
    """Return the day of a parameter such as "2026-11-13"; None for an empty one.

    Args:
        text: The parameter.

    Raises:
        ValueError: The text is not a day.
    """
    try:
        return date.fromisoformat(text.strip()) if text.strip() else None
    except ValueError:
        raise ValueError(f"{text!r} must be a day such as 2026-11-13") from None


def allowed_share(percentage: float) -> float:
    """Return a limit in percent as a share.

    Args:
        percentage: The limit, such as 10 for 10 %.
    """
    return percentage / 100


def watch_verdict(result: WatchResult) -> Verdict:
    """Return the answer as a box: missed with a regression, unclear with too few nights.

    Args:
        result: The watch.
    """
    sentences = result.sentences()
    outcome = {2: MISSED, 1: UNCLEAR}.get(result.exit_code, PASSED)
    text = {
        MISSED: "Gate missed: the agent became worse by more than is allowed and has not recovered.",
        UNCLEAR: "Gate unclear: there are too few nights to find a change.",
        PASSED: "Gate passed: no regression.",
    }[outcome]
    return Verdict(
        title=result.title(),
        sentences=sentences,
        gates=[(outcome, text)],
        summary={
            "format": FORMAT,
            **result.summary(),
            "gates": [{"outcome": outcome, "sentence": text}],
            "histories": [_history(history) for history in result.histories],
        },
    )


def watch_notes(result: WatchResult) -> Listing:
    """Return the limits, how changes are found, and the limitations.

    Args:
        result: The watch.
    """
    limits = result.limits
    allowed = (
        f"Allowed: {percent(limits.max_slower)} slower, {percent(limits.max_cost_increase)} more expensive, "
        f"pass rates and scores lower by {percent(limits.max_drop)}."
    )
    return Listing(items=[("", allowed, ""), *(("", note, "") for note in METHOD_NOTES)])


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchDrawings:
    """A drawing of each watched figure that has nights: its nights, levels, change points and versions."""

    result: WatchResult

    def __str__(self) -> str:
        return (
            "\n".join(f"{history.figure.title}: {len(history.values)} nights" for history in self._drawn())
            or "No night is stored."
        )

    __repr__ = __str__

    def _drawn(self) -> Sequence[FigureHistory]:
        """Return the histories with a night, those that changed first."""
        changed = [change.figure for change in (*self.result.regressions, *self.result.changes, *self.result.earlier)]
        order = list(dict.fromkeys([*changed, *(history.figure for history in self.result.histories)]))
        by_figure = {history.figure: history for history in self.result.histories if history.at}
        return [by_figure[figure] for figure in order if figure in by_figure]

    def _repr_html_(self) -> str:
        return str(
            fragment(
                "loomlib.reports:watch.html.j2",
                drawings=[
                    (history.figure.title, [change.sentence() for change in self._changes(history)],
                     nights_drawing(history, self.result))
                    for history in self._drawn()
                ],
            )
        )  # fmt: skip

    def _changes(self, history: FigureHistory) -> list[Change]:
        return [change for change in (*self.result.changes, *self.result.earlier) if change.figure == history.figure]


def watch_drawings(result: WatchResult) -> WatchDrawings:
    """Return the history of every figure as drawings.

    Args:
        result: The watch.
    """
    return WatchDrawings(result=result)


def _history(history: FigureHistory) -> dict[str, object]:
    return {
        "title": history.figure.title,
        "unit": history.figure.kind,
        "at": [at.isoformat() for at in history.at],
        "values": list(history.values),
        "versions": list(history.versions),
    }
