"""What changed between two stored latency studies: each figure's difference with its interval, by scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from loomlib.presentation.formats import milliseconds, percent
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import DIFFERENCE_METHOD, bounded_from, difference_of

from .scenarios import Scenario
from .summaries import ScenarioSummary, StudySummary

if TYPE_CHECKING:
    import pandas as pd

SHARE_METHOD: Final = "Newcombe's score interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioChange:
    """The change of one scenario, after minus before.

    Attributes:
        scenario: The scenario.
        before: Its estimates in the earlier study.
        after: Its estimates in the later study.
        p50: Difference of the medians, in milliseconds.
        p90: Difference of the 90th percentiles, in milliseconds.
        failures: Difference of the shares of failed calls.
    """

    scenario: Scenario
    before: ScenarioSummary
    after: ScenarioSummary
    p50: Estimate
    p90: Estimate
    failures: Estimate

    def sentence(self) -> str:
        """Return whether the scenario became slower or faster, by how much, and with which interval."""
        texts = [_of_duration(f"{self.scenario} calls at {name}", *item) for name, item in self._figures()]
        if _excludes_zero(self.failures):
            word = "more" if (self.failures.value or 0) > 0 else "less"
            texts.append(
                f"{self.scenario} calls fail {word} often by {percent(abs(self.failures.value or 0))} of the calls "
                f"(95 % interval {self.failures.interval_text('share')} %)"
            )
        return "; ".join(texts)

    def _figures(self) -> list[tuple[str, tuple[Estimate, Estimate]]]:
        return [("p50", (self.p50, self.before.p50)), ("p90", (self.p90, self.before.p90))]

    def summary(self) -> dict[str, Any]:
        """Return the change as JSON-ready values."""
        return {
            "scenario": self.scenario.value,
            "p50_before_ms": self.before.p50.summary(),
            "p50_after_ms": self.after.p50.summary(),
            "p50_difference_ms": self.p50.summary(),
            "p90_before_ms": self.before.p90.summary(),
            "p90_after_ms": self.after.p90.summary(),
            "p90_difference_ms": self.p90.summary(),
            "failure_share_difference": self.failures.summary(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyChanges:
    """The changes from one stored study to another.

    Attributes:
        before: Title of the earlier study.
        after: Title of the later study.
        scenarios: The changes of the scenarios that both have.
        caveats: What else differs between the studies, or limits the comparison.
    """

    before: str
    after: str
    scenarios: tuple[ScenarioChange, ...]
    caveats: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Return what changed in each scenario, and what limits the comparison."""
        texts = [f"{change.sentence()}." for change in self.scenarios]
        return [*(text[0].upper() + text[1:] for text in texts), *self.caveats]

    def table(self) -> pd.DataFrame:
        """Return a row for each scenario and figure: before, after and the difference, with intervals."""
        import pandas as pd

        rows = [
            {
                "scenario": change.scenario.value,
                "figure": name,
                "before [95 %] ms": str(before),
                "after [95 %] ms": str(after),
                "difference [95 %] ms": _cell(difference),
            }
            for change in self.scenarios
            for name, before, after, difference in (
                ("p50", change.before.p50, change.after.p50, change.p50),
                ("p90", change.before.p90, change.after.p90, change.p90),
            )
        ]
        return pd.DataFrame(rows).set_index("scenario") if rows else pd.DataFrame({"scenario": []})

    def summary(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        return {
            "before": self.before,
            "after": self.after,
            "scenarios": [change.summary() for change in self.scenarios],
            "sentences": self.sentences(),
        }

    def __str__(self) -> str:
        return " ".join(self.sentences())


def find_changes(
    before: StudySummary, after: StudySummary, *, titles: tuple[str, str], caveats: Sequence[str] = ()
) -> StudyChanges:
    """Compare the estimates of two studies.

    The samples are independent. Intervals follow from those of both studies, so a study that ended early by its rule
    keeps the wider intervals that hold then.

    Args:
        before: Estimates of the earlier study.
        after: Estimates of the later study.
        titles: Titles of both.
        caveats: What limits the comparison.
    """
    earlier = {item.scenario: item for item in before.scenarios}
    return StudyChanges(
        before=titles[0],
        after=titles[1],
        scenarios=tuple(_change(earlier[item.scenario], item) for item in after.scenarios if item.scenario in earlier),
        caveats=tuple(caveats),
    )


def _change(before: ScenarioSummary, after: ScenarioSummary) -> ScenarioChange:
    return ScenarioChange(
        scenario=after.scenario,
        before=before,
        after=after,
        p50=difference_of(before.p50, after.p50, method=DIFFERENCE_METHOD, needed_n=bounded_from(0.5)),
        p90=difference_of(before.p90, after.p90, method=DIFFERENCE_METHOD, needed_n=bounded_from(0.9)),
        failures=difference_of(before.failure_share, after.failure_share, method=SHARE_METHOD, needed_n=1),
    )


def _of_duration(subject: str, difference: Estimate, before: Estimate) -> str:
    if difference.value is None:
        return (
            f"the change of {subject} is unknown ({difference.n} answered in one study, {difference.needed_n} needed)"
        )
    bounds = f"95 % interval {difference.interval_text('ms')}"
    if not _excludes_zero(difference):
        return f"{subject} show no change ({milliseconds(difference.value)}, {bounds})"
    word = "more" if difference.value > 0 else "less"
    share = f", {percent(abs(difference.value) / before.value)} of the earlier value" if before.value else ""
    return f"{subject} take {milliseconds(abs(difference.value))} {word} ({bounds}{share})"


def _excludes_zero(difference: Estimate) -> bool:
    if difference.low is None or difference.high is None:
        return False
    return difference.low > 0 or difference.high < 0


def _cell(difference: Estimate) -> str:
    needed = f" ({difference.n} of {difference.needed_n})" if difference.value is None and difference.needed_n else ""
    return f"{difference}{needed}"
