"""Cases of two runs brought together: which ones can be compared, and why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass

from .gathered import CaseResult, EvaluatorResults

WON, LOST, SAME = "won", "lost", "same"

RATE, SCORE = "pass rate", "score"
"""What a comparison is about: passes and failures where the evaluator sets a bar in both runs, else the scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """How one case stands in the new run against the baseline: "won", "lost" or "same", by what is compared.

    `value` and `baseline` are the means of its repeats (for a pass rate the share that passed). The traces lead to what
    the agent did in either run.
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
    """Case ids that one evaluator could not compare.

    `added` and `dropped` are in one run only; `edited` say something else in the two; `failed` and `failed_before` have
    no score in the new run or the baseline though they should; `not_applicable` have nothing to judge in one of them.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    failed_before: tuple[str, ...] = ()
    not_applicable: tuple[str, ...] = ()

    def counted(self) -> list[tuple[str, tuple[str, ...]]]:
        """What there is, in words, with the cases."""
        named = (
            ("only in the new run", self.added),
            ("only in the baseline", self.dropped),
            ("edited in between", self.edited),
            ("without a score in the new run", self.failed),
            ("without a score in the baseline", self.failed_before),
            ("not applicable", self.not_applicable),
        )
        return [(words, ids) for words, ids in named if ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """One evaluator's cases in both runs: the new run's results beside the baseline's, and the rest."""

    pairs: tuple[tuple[CaseResult, CaseResult], ...]
    unpaired: Unpaired
    measure: str

    def differences(self) -> list[float]:
        """New minus baseline for each pair, in what is compared."""
        return [value_of(new, self.measure) - value_of(old, self.measure) for new, old in self.pairs]

    @property
    def is_repeated(self) -> bool:
        """True when a case was scored more than once in either run."""
        return any(new.scored > 1 or old.scored > 1 for new, old in self.pairs)

    def flips(self, evaluator: str) -> tuple[Flip, ...]:
        """Every pair and how it went."""
        return tuple(_flip(new, old, evaluator, self.measure) for new, old in self.pairs)


def value_of(case: CaseResult, measure: str) -> float:
    """A case's number in what is compared."""
    return case.rate if measure == RATE else case.value


def pair(new: EvaluatorResults, baseline: EvaluatorResults) -> Pairing:
    """The cases that say the same in both runs and have a score in both; all others by reason."""
    measure = RATE if new.has_bar and baseline.has_bar else SCORE
    pairs: list[tuple[CaseResult, CaseResult]] = []
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


def _flip(new: CaseResult, old: CaseResult, evaluator: str, measure: str) -> Flip:
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
