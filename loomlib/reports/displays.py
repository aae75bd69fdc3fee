"""Displays of a report's notebook: the verdict in a box, findings and notes as lists. Static HTML, text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.presentation.html import fragment

from .summary import SUMMARY_MIME

if TYPE_CHECKING:
    from loomlib.experiments import Gate, StudyRecord
    from loomlib.latency.scenario_parts import ScenarioParts

_COLOURS = {
    "missed": "var(--jp-error-color1,#b71c1c)",
    "unclear": "var(--jp-warn-color1,#8d5a00)",
    "passed": "var(--jp-success-color1,#2e7d32)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A report's answer: a box for a reader and `summary` for a program (MIME type `SUMMARY_MIME`).

    `gates` are `(outcome, sentence)` with the outcome "passed", "missed" or "unclear"; a missed one comes first.
    """

    title: str
    sentences: Sequence[str]
    gates: Sequence[tuple[str, str]] = ()
    summary: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def __str__(self) -> str:
        missed = [sentence for outcome, sentence in self.gates if outcome == "missed"]
        others = [sentence for outcome, sentence in self.gates if outcome != "missed"]
        return "\n".join([self.title, *missed, *self.sentences, *others])

    def _repr_html_(self) -> str:
        missed = [gate for gate in self.gates if gate[0] == "missed"]
        others = [gate for gate in self.gates if gate[0] != "missed"]
        values = {"title": self.title, "sentences": self.sentences, "missed": missed, "others": others}
        return str(fragment("loomlib.reports:verdict.html.j2", colours=_COLOURS, **values))

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {"text/plain": str(self), "text/html": self._repr_html_(), SUMMARY_MIME: dict(self.summary)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list of items, each with a title, a text and a piece of advice (title and advice may be empty)."""

    items: Sequence[tuple[str, str, str]]
    nothing: str = "Nothing."

    def __str__(self) -> str:
        return "\n".join(" ".join(filter(None, item)) for item in self.items) or self.nothing

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return str(fragment("loomlib.reports:listing.html.j2", items=self.items, nothing=self.nothing))


def verdict(result: StudyRecord, *gates: Gate, inside: ScenarioParts | None = None) -> Verdict:
    """Return the verdict of a study with its gates, and the study's summary for programs.

    Examples:
        >>> verdict(result, result.gate(900, "warm"))

    Args:
        result: The study's result.
        gates: Verdicts on the study's figures.
        inside: The parts that are slower in a cold session (`result.inside(traces)`), for a latency study.
    """
    more = {} if inside is None else {"inside": inside.summary()}
    return Verdict(
        title=result.title(),
        sentences=[*result.sentences(), *([inside.sentence()] if inside is not None and inside.extra else [])],
        gates=[(gate.outcome, gate.sentence()) for gate in gates],
        summary={
            **result.summary(),
            "table": result.table().reset_index().to_dict("records"),
            "gates": [gate.summary() for gate in gates],
            **more,
        },
    )


def findings(result: StudyRecord) -> Listing:
    """Return the findings as a list, each with its evidence."""
    return Listing(
        items=[(f"{finding.title}.", finding.evidence, finding.advice) for finding in result.findings()],
        nothing="No findings.",
    )


def method(result: StudyRecord) -> Listing:
    """Return how a study was conducted, and its limitations."""
    how = result.method()
    return Listing(items=[*(("", note, "") for note in how.notes), *(("Limit:", limit, "") for limit in how.limits)])
