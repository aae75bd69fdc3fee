"""An estimate: a value with its confidence interval and sample size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..presentation import formats
from ..presentation.formats import TOO_SMALL, NumberKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Estimate of one quantity from a sample, in the quantity's own unit (milliseconds unless its name says otherwise).

    Attributes:
        value: The estimate; None when the sample is too small or does not vary.
        low: Lower end of the confidence interval.
        high: Upper end of the confidence interval.
        n: Sample size.
        confidence: Confidence level of the interval, such as 0.95.
        method: Name of the method.
        reason: Why there is no value; None when there is one.
        needed_n: Smallest sample size that would give a value, when that is the reason.
        open_above: Whether the sample is too small to bound the quantity above: it may well be larger than `high`.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    confidence: float
    method: str
    reason: str | None = None
    needed_n: int | None = None
    open_above: bool = False

    def __post_init__(self) -> None:
        if self.value is None:
            if self.low is not None or self.high is not None or not self.reason:
                raise ValueError("an estimate without a value has no interval and needs a reason")
        elif self.low is None or self.high is None or not self.low <= self.value <= self.high:
            raise ValueError(f"the interval {self.low}…{self.high} does not contain the value {self.value}")

    @classmethod
    def missing(cls, reason: str, *, n: int, confidence: float, method: str, needed_n: int | None = None) -> Estimate:
        """Return an estimate without a value.

        Args:
            reason: Why there is none.
            n: Sample size.
            confidence: Confidence level of the interval.
            method: Name of the method.
            needed_n: Smallest sample size that would give a value.
        """
        return cls(
            value=None, low=None, high=None, n=n, confidence=confidence, method=method, reason=reason, needed_n=needed_n
        )

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Estimate:
        """Return the estimate of a stored `summary()`."""
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__})

    @property
    def is_known(self) -> bool:
        """True when there is a value."""
        return self.value is not None

    @property
    def interval(self) -> str:
        """The interval as text without a unit, `311–326`; empty when there is no value."""
        return self.interval_text()

    def interval_text(self, kind: NumberKind = "number") -> str:
        """Format the interval alone: `311–326`, or `311–≥326` when the sample is too small to bound it above.

        Args:
            kind: What the estimate measures; decides scale and decimals (see `presentation.formats`).
        """
        if self.value is None:
            return ""
        return formats.interval(self.low, self.high, kind, of=self.value, open_above=self.open_above)

    def text(self, kind: NumberKind = "number") -> str:
        """Format the estimate with unit and interval, `318 ms [311–326]`, or say why there is no value.

        Args:
            kind: What the estimate measures; decides unit, scale and decimals (see `presentation.formats`).
        """
        if self.value is None:
            return self.reason or TOO_SMALL
        return formats.estimate(self.value, self.low, self.high, kind, open_above=self.open_above)

    def __str__(self) -> str:
        return self.text()

    def summary(self) -> dict[str, object]:
        """Return the estimate as JSON-ready values."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "confidence": self.confidence,
            "method": self.method,
            "reason": self.reason,
            "needed_n": self.needed_n,
            "open_above": self.open_above,
            "text": str(self),
        }
