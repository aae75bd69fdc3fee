"""Pair the cases of two runs: which can be compared, and why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass

from .gathered import CaseScores, EvaluatorResults

WON, LOST, SAME = "won", "lost", "same"

RATE, SCORE = "pass rate", "score"
"""What is compared: passes where the evaluator has a threshold in both runs, else scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """How one case changed in the new run against the baseline.

    Attributes:
        case_id: The case.
        evaluator: The evaluator.
        verdict: "won", "lost" or "same".
        value: Mean of the new run's repeats (for a pass rate the share that passed).
        baseline: The corresponding value of the baseline.
        tags: The case's tags.
        trace_ids: Traces of the new run.
        baseline_trace_ids: Traces of the baseline.
    """

    case_id: str
    evaluator: str
    verdict: str
    value: float
    baseline: float
    tags: tuple[str, ...]
    trace_ids: tuple[str, ...]
    baseline_trace_ids: tuple[str, ...]

    @property
    def difference(self) -> float:
        """New minus baseline."""
        return self.value - self.baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpaired:
    """Ids of the cases that could not be compared by one evaluator.

    Attributes:
        added: Cases only in the new run.
        dropped: Cases only in the baseline.
        edited: Cases whose content differs.
        failed: Cases without a score in the new run.
        failed_before: Cases without a score in the baseline.
        not_applicable: Cases to which the evaluator does not apply in one of the runs.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    failed_before: tuple[str, ...] = ()
    not_applicable: tuple[str, ...] = ()

    def counted(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the reasons that occur, with the cases."""
        reasons = (
            ("only in the new run", self.added),
            ("only in the baseline", self.dropped),
            ("edited in between", self.edited),
            ("without a score in the new run", self.failed),
            ("without a score in the baseline", self.failed_before),
            ("not applicable", self.not_applicable),
        )
        return [(words, ids) for words, ids in reasons if ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """One evaluator's cases in both runs: pairs of new and baseline results, and the unpaired cases."""

    pairs: tuple[tuple[CaseScores, CaseScores], ...]
    unpaired: Unpaired
    measure: str

    def differences(self) -> list[float]:
        """Return new minus baseline for each pair."""
        return [value_of(new, self.measure) - value_of(old, self.measure) for new, old in self.pairs]

    @property
    def is_repeated(self) -> bool:
        """Whether a case was scored more than once in either run."""
        return any(new.scored > 1 or old.scored > 1 for new, old in self.pairs)

    def flips(self, evaluator: str) -> tuple[Flip, ...]:
        """Return how each pair changed."""
        return tuple(_flip(new, old, evaluator, self.measure) for new, old in self.pairs)


def value_of(case: CaseScores, measure: str) -> float:
    """Return a case's rate or value, depending on what is compared."""
    return case.rate if measure == RATE else case.value


def pair(new: EvaluatorResults, baseline: EvaluatorResults) -> Pairing:
    """Pair the cases with equal content and a score in both runs; list the others by reason.

    Args:
        new: The new run's results.
        baseline: The baseline's results.
    """
    measure = RATE if new.has_threshold and baseline.has_threshold else SCORE
    pairs: list[tuple[CaseScores, CaseScores]] = []
    added: list[str] = []
    edited: list[str] = []
    failed: list[str] = []
    failed_before: list[str] = []
    not_applicable: list[str] = []
    for id, case in new.cases.items():
        other = baseline.cases.get(id)
        if other is None:
            added.append(id)
        elif case.case_digest != other.case_digest:
            edited.append(id)
        elif case.scored and other.scored:
            pairs.append((case, other))
        elif not case.is_applicable or not other.is_applicable:
            not_applicable.append(id)
        elif not case.scored:
            failed.append(id)
        else:
            failed_before.append(id)
    unpaired = Unpaired(
        added=tuple(added),
        dropped=tuple(id for id in baseline.cases if id not in new.cases),
        edited=tuple(edited),
        failed=tuple(failed),
        failed_before=tuple(failed_before),
        not_applicable=tuple(not_applicable),
    )
    return Pairing(pairs=tuple(pairs), unpaired=unpaired, measure=measure)


def _flip(new: CaseScores, old: CaseScores, evaluator: str, measure: str) -> Flip:
    value, baseline = value_of(new, measure), value_of(old, measure)
    return Flip(
        case_id=new.case_id,
        evaluator=evaluator,
        verdict=WON if value > baseline else LOST if value < baseline else SAME,
        value=value,
        baseline=baseline,
        tags=new.tags,
        trace_ids=new.trace_ids,
        baseline_trace_ids=old.trace_ids,
    )
