"""An imported agent against the Bedrock agent that it replaces: the verdict, its evidence, and the remaining work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from loomlib.evals.compare.page import folded, listed, page, quiet
from loomlib.experiments import Gate, StudyConditions
from loomlib.presentation.formats import join, plural
from loomlib.presentation.text import one_line, printable

from ..features import Feature
from .alike_gate import LEAST_ALIKE, AlikeShare, alike_gate, alike_share
from .changes import PairedChange, paired_changes
from .judged_pairs import DIFFERS, JudgedPair, failure_counts
from .rule import AlikeRule

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = (
    "agent", "verdict", "alike [95 %]", "cases", "duration", "time to first text", "cost", "tokens", "no verdict",
    "left to do",
)  # fmt: skip
_ASKED: Final = (
    "Both agents are asked the same cases at about the same time; an answer is compared with the other agent's answer "
    "to the same case and repeat. Both agents really call their functions, so each write happens once for each agent.",
    "Each case starts its own session. On AgentCore, the time of a session's first call includes the start of the "
    "session; Bedrock Agents does not have such a start.",
)
_OPEN_STATES: Final = ("needs you", "lost", "approximated")


@dataclass(frozen=True, kw_only=True)
class AgentParity:
    """Result of comparing an agent with its successor.

    Attributes:
        id: The comparison's id; a comparison that was stopped resumes with it.
        name: The agent's name.
        old: The old agent's designation, such as "Bedrock Agent v7".
        new: The successor's designation, such as "weather (AgentCore)".
        rule: The rule by which two answers behave alike.
        judged: The pairs with the rule's verdicts.
        least: The minimum share of cases that must behave alike.
        features: The old agent's features, each with its outcome; empty if the agent was not imported.
        itself: The share of the old agent's answers that are alike between repeats; None without repeats.
        labels: Provenance labels of both agents.
        conditions: The machine's load during the comparison.
        run_ids: The ids of the stored evaluation runs, by content.
        notes: Notes about the origin of the pairs.
        noun: The unit of comparison: a "case", with repeats; or a "session" of shadow traffic, with its user's prompts.
    """

    id: str
    name: str
    old: str
    new: str
    rule: AlikeRule
    judged: tuple[JudgedPair, ...] = field(repr=False)
    least: float = LEAST_ALIKE
    features: tuple[Feature, ...] = ()
    itself: AlikeShare | None = None
    labels: tuple[str, ...] = ()
    conditions: StudyConditions = field(default_factory=StudyConditions, repr=False)
    run_ids: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    noun: str = "case"

    @cached_property
    def share(self) -> AlikeShare:
        """The share of answers that behave alike."""
        return alike_share(self.judged, noun=self.noun)

    @cached_property
    def gate(self) -> Gate:
        """The verdict on the share."""
        return alike_gate(self.share, self.least)

    @property
    def exit_code(self) -> int:
        """2 if the gate is missed, else 0."""
        return self.gate.exit_code

    @cached_property
    def changes(self) -> tuple[PairedChange, ...]:
        """The changes of duration, time to the first text, cost and tokens."""
        return paired_changes([item.pair for item in self.judged])

    @property
    def differing(self) -> tuple[JudgedPair, ...]:
        """The pairs that differ."""
        return tuple(item for item in self.judged if item.state == DIFFERS)

    @property
    def without_verdict(self) -> tuple[JudgedPair, ...]:
        """The pairs without a verdict."""
        return tuple(item for item in self.judged if not item.is_judged)

    def change(self, name: str) -> PairedChange:
        """Return the change of one figure.

        Args:
            name: "duration", "time to first text", "cost" or "tokens".
        """
        return next(change for change in self.changes if change.name == name)

    def title(self) -> str:
        """Return a title of the comparison: `support · Bedrock Agent v7 → support (AgentCore) · 120 cases, paired`."""
        cases = len({item.pair.case.id for item in self.judged})
        if self.noun != "case":
            sample = f"{plural(len(self.judged), 'prompt')} of {plural(cases, self.noun)}"
            return f"{self.name} · {self.old} → {self.new} · {sample}, paired"
        repeats = max((item.pair.repeat for item in self.judged), default=0) + 1
        times = f", {plural(repeats, 'repeat')} each" if repeats > 1 else ""
        return f"{self.name} · {self.old} → {self.new} · {plural(cases, 'case')}{times}, paired"

    def sentences(self) -> list[str]:
        """Return the verdict, the changes of time and cost, and the remaining work."""
        duration, cost = self.change("duration"), self.change("cost")
        sentences = [self.gate.sentence(), f"{duration.sentence()} {cost.sentence()}"]
        if self.itself is not None and self.itself.judged:
            sentences.append(f"The old agent compared with itself: {self.itself.text()}.")
        return [*sentences, self._left_in_words()]

    def remaining(self) -> list[tuple[str, str]]:
        """Return the remaining work: its subject, and its description."""
        work = [
            (f"{feature.name.replace('_', ' ')} ({feature.label})", feature.reason)
            for state in _OPEN_STATES
            for feature in self.features
            if feature.state == state
        ]
        for case_id, items in self._differing_cases().items():
            parts = join(list(dict.fromkeys(part for item in items for part in item.parts)))
            work.append((f"case {case_id} ({parts} differ)", items[0].reasons[0] if items[0].reasons else ""))
        for kind, count in failure_counts(self.judged).items():
            work.append((f"no verdict ({kind})", f"{plural(count, 'answer')} could not be compared."))
        return work

    def method(self) -> list[str]:
        """Return notes on the method of measurement and its limits."""
        notes = [
            self.rule.sentence(),
            *(_ASKED if self.noun == "case" else ()),
            "Arguments of functions and operations are compared as the types that their schema declares. For "
            "searches, tasks of collaborators and code, whose text the model writes freely, only the tool's name is "
            "compared.",
            "The interval of the share is Wilson's; with repeats, of the effective sample size over cases. The gate is "
            "passed only if the whole interval is at or above the limit. Decide the number of cases beforehand: "
            "adding cases until a gate passes makes a pass by chance more likely.",
            "A collaborator's own calls are not compared; the call to the collaborator is. A tool of the new agent "
            "that has the plain name of the old agent's function counts as that function.",
            "Times of the old agent begin before InvokeAgent is signed and end with the last event of botocore's event "
            "stream; those of the new one are measured at the socket. Both include connecting. The first text of the "
            "new agent is the first byte of its answer; the old one sends its whole answer at once unless streaming is "
            "requested.",
            "Changes of time are medians of the cases' differences, with intervals at order statistics; changes of "
            "cost and tokens are those of the sums, with a jackknife interval over cases. The old agent's cost is that "
            "of its models' tokens; the new one's includes the runtime's CPU and memory if they are known.",
            "Answers that failed on either side are counted by class. They are not part of any share or mean.",
        ]
        if self.rule.uses_embeddings:
            notes.append(
                "Similarity by embeddings ignores word order and cannot tell a yes from a no; only common words of "
                "negation in four languages are recognized. A judge model recognizes more: answers=judge:correctness."
            )
        if self.conditions.is_disturbed:
            notes.append("The machine was overloaded while the agents were asked: read the times with care.")
        return [*notes, *self.notes]

    def row(self) -> tuple[str, ...]:
        """Return the agent's row as text, in the order of `COLUMNS`."""
        estimate = self.share.estimate
        return (
            self.name,
            self.gate.outcome,
            estimate.text("share") if estimate.is_known else f"{self.share.alike} of {self.share.judged}",
            str(self.share.cases),
            *(change.text() for change in self.changes),
            str(self.share.without),
            str(len(self.remaining())),
        )

    def table(self) -> pd.DataFrame:
        """Return one row for each pair: both answers, both tool calls, and the verdict."""
        import pandas as pd

        from .side_by_side import pair_rows

        return pd.DataFrame(pair_rows(self.judged))

    def summary(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            "id": self.id,
            "agent": self.name,
            "old": self.old,
            "new": self.new,
            "rule": self.rule.summary(),
            "gate": self.gate.summary(),
            "changes": [change.summary() for change in self.changes],
            "old_with_itself": None
            if self.itself is None
            else {
                "alike": self.itself.alike,
                "judged": self.itself.judged,
                "estimate": self.itself.estimate.summary(),
            },
            "failures": failure_counts(self.judged),
            "differing": [
                {"case": item.pair.case.id, "repeat": item.pair.repeat, "parts": list(item.parts),
                 "reasons": list(item.reasons)}
                for item in self.differing
            ],
            "remaining": [{"what": task, "why": why} for task, why in self.remaining()],
            "labels": list(self.labels),
            "runs": dict(self.run_ids),
        }  # fmt: skip

    def __str__(self) -> str:
        return printable("\n".join([self.title(), *self.sentences()]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .side_by_side import changes_table, differing_cases, failures_table

        remaining = [f"{task}: {why}" if why else task for task, why in self.remaining()]
        return page(
            self.title(),
            self.sentences(),
            quiet(" · ".join(self.labels)) if self.labels else "",
            changes_table(self.changes),
            differing_cases(self.judged, (self.old, self.new)),
            folded("What is left to do", listed(remaining), is_open=True),
            folded("Without a verdict", failures_table(self.judged)),
            folded("Method", listed(self.method())),
        )

    def _differing_cases(self) -> dict[str, list[JudgedPair]]:
        cases: dict[str, list[JudgedPair]] = {}
        for item in self.differing:
            cases.setdefault(item.pair.case.id, []).append(item)
        return cases

    def _left_in_words(self) -> str:
        urgent = [feature for state in _OPEN_STATES[:2] for feature in self.features if feature.state == state]
        parts = [one_line(feature.reason.rstrip("."), 160) for feature in urgent]
        if (differing := len(self._differing_cases())) > 0:
            parts.append(f"{plural(differing, 'case')} {'differs' if differing == 1 else 'differ'}, shown below")
        if counts := failure_counts(self.judged):
            parts.append("no verdict on " + join([f"{count} ({kind})" for kind, count in counts.items()], most=3))
        similar = [feature.name.replace("_", " ") for feature in self.features if feature.state == "approximated"]
        approximated = f"Approximated: {join(similar)}." if similar else ""
        if parts:
            return f"Needs attention: {'; '.join(parts)}. {approximated}".rstrip()
        return approximated or "Nothing is left to do."
