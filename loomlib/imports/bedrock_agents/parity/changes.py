"""Changes of time, tokens and cost from the old agent to its successor, paired by case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from loomlib.evals.values.answers import CaseAnswer
from loomlib.presentation.formats import NumberKind, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import estimate_paired_difference, estimate_percentile
from loomlib.statistics.ratios import estimate_ratio

from .pairs import AnswerPair

ChangeName = Literal["duration", "time to first text", "cost", "tokens"]
Read = Callable[[CaseAnswer], float | None]

_MEDIAN: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedChange:
    """The change of one figure, on the cases that both agents answered.

    Attributes:
        name: The figure.
        kind: Its unit.
        old: The median of the old agent's cases.
        new: The median of the successor's.
        change: New minus old, the median of the cases' differences (milliseconds); for cost and tokens the share by
            which the sum changed (−0.31 is −31 %).
        is_share: Whether `change` is a share.
        left_out: Number of cases that both answered but whose figure is unknown for either agent.
    """

    name: ChangeName
    kind: NumberKind
    old: Estimate
    new: Estimate
    change: Estimate
    is_share: bool
    left_out: int = 0

    @property
    def direction(self) -> int:
        """−1 if the whole interval is below zero, 1 if it is above, 0 if it contains zero or is not known."""
        if self.change.low is None or self.change.high is None:
            return 0
        return -1 if self.change.high < 0 else 1 if self.change.low > 0 else 0

    def text(self) -> str:
        """Return the change with its interval, such as `−800 ms [−1100 to −500]`."""
        return signed_text(self.change, "share" if self.is_share else self.kind)

    def sentence(self) -> str:
        """Return the change in one sentence, such as `Faster: median −800 ms [−1100 to −500]`."""
        more = f"; unknown for {plural(self.left_out, 'case')}" if self.left_out else ""
        if not self.change.n and self.left_out:
            return f"{self.name.capitalize()} unknown for {plural(self.left_out, 'case')}."
        if not self.change.is_known:
            return f"{self.name.capitalize()}: {self.change.reason}{more}."
        if self.is_share:
            return f"{self.name.capitalize()} {self.text()}{more}."
        word = {-1: "faster", 1: "slower", 0: "no difference found"}[self.direction]
        if self.name != "duration":
            return f"{self.name.capitalize()} {word}: median {self.text()}{more}."
        return f"{word.capitalize()}: median {self.text()}{more}."

    def summary(self) -> dict[str, Any]:
        """Return the change as JSON values."""
        return {
            "name": self.name,
            "unit": "share" if self.is_share else self.kind,
            "old": self.old.summary(),
            "new": self.new.summary(),
            "change": self.change.summary(),
            "left_out": self.left_out,
            "sentence": self.sentence(),
        }


def signed_text(estimate: Estimate, kind: NumberKind) -> str:
    """Return a change with its sign and its interval."""
    text = estimate.text(kind)
    return f"+{text}" if estimate.value is not None and estimate.value > 0 else text


def paired_changes(pairs: Sequence[AnswerPair]) -> tuple[PairedChange, ...]:
    """Return the changes of duration, time to the first text, cost and tokens.

    Each case counts once, with the mean of its repeats that both agents answered.

    Args:
        pairs: The pairs.
    """
    return (
        _difference(pairs, "duration", lambda answer: answer.duration_ms),
        _difference(pairs, "time to first text", _first_text),
        _share(pairs, "cost", "USD", lambda answer: answer.cost),
        _share(pairs, "tokens", "number", lambda answer: answer.tokens),
    )


def _first_text(answer: CaseAnswer) -> float | None:
    return answer.turns[0].ttft_ms if answer.turns else None


def _difference(pairs: Sequence[AnswerPair], name: ChangeName, read: Read) -> PairedChange:
    old, new, left_out = _by_case(pairs, read)
    return PairedChange(
        name=name,
        kind="ms",
        old=estimate_percentile(old, _MEDIAN),
        new=estimate_percentile(new, _MEDIAN),
        change=estimate_paired_difference(new, old),
        is_share=False,
        left_out=left_out,
    )


def _share(pairs: Sequence[AnswerPair], name: ChangeName, kind: NumberKind, read: Read) -> PairedChange:
    old, new, left_out = _by_case(pairs, read)
    return PairedChange(
        name=name,
        kind=kind,
        old=estimate_percentile(old, _MEDIAN),
        new=estimate_percentile(new, _MEDIAN),
        change=_relative(new, old),
        is_share=True,
        left_out=left_out,
    )


def _relative(new: Sequence[float], old: Sequence[float]) -> Estimate:
    method = "change of the sum, jackknife over cases"
    if old and min(old) <= 0:
        return Estimate.missing("nothing to compare with", n=len(old), confidence=0.95, method=method)
    ratio = estimate_ratio(new, old)
    if ratio.value is None or ratio.low is None or ratio.high is None:
        return Estimate.missing(
            ratio.reason or "", n=ratio.n, confidence=ratio.confidence, method=method, needed_n=ratio.needed_n
        )
    return Estimate(
        value=ratio.value - 1, low=ratio.low - 1, high=ratio.high - 1, n=ratio.n, confidence=ratio.confidence,
        method=method,
    )  # fmt: skip


def _by_case(pairs: Iterable[AnswerPair], read: Read) -> tuple[list[float], list[float], int]:
    """Return each case's means for both agents, and the number of cases without both means."""
    values: dict[str, list[tuple[float, float]]] = {}
    for pair in pairs:
        if not pair.is_answered:
            continue
        case_values = values.setdefault(pair.case.id, [])
        old, new = read(pair.old), read(pair.new)
        if old is not None and new is not None:
            case_values.append((old, new))
    complete_cases = [case_values for case_values in values.values() if case_values]
    means = [
        tuple(sum(side) / len(case_values) for side in zip(*case_values, strict=True)) for case_values in complete_cases
    ]
    return [old for old, _ in means], [new for _, new in means], len(values) - len(complete_cases)
