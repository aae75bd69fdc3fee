"""An amount of money that carries what is not known about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

from ...presentation.formats import money

SMALLEST = Decimal("1e-15")
"""Amounts are rounded to this once, when they are made; from then on sums are exact, in any order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What is known of a sum, and how many of its items have no known price or quantity.

    `is_estimate`: a quantity was estimated, counted afterwards or simulated. Unknown items add nothing to `known` and
    are never zero: `state` says whether the figure is the whole.
    """

    known: Decimal = Decimal(0)
    unknown: int = 0
    is_estimate: bool = False
    currency: str = "USD"

    def __post_init__(self) -> None:
        if not self.known.is_finite() or self.known < 0 or self.unknown < 0:
            raise ValueError(f"no amount: {self.known} with {self.unknown} unknown")

    @property
    def state(self) -> str:
        """`known`, `partial` (at least `known`), or `unknown`."""
        if not self.unknown:
            return "known"
        return "partial" if self.known else "unknown"

    @property
    def value(self) -> float | None:
        """The figure for a table or a chart: None where it is unknown."""
        return None if self.state == "unknown" else float(self.known)

    def __add__(self, other: Amount) -> Amount:
        if self.currency != other.currency:
            raise ValueError(f"{self.currency} and {other.currency} cannot be added")
        return Amount(
            known=self.known + other.known,
            unknown=self.unknown + other.unknown,
            is_estimate=self.is_estimate or other.is_estimate,
            currency=self.currency,
        )

    def __str__(self) -> str:
        if self.state == "unknown":
            return f"unknown ({self.unknown} items)" if self.unknown > 1 else "unknown"
        figure = money(self.known, self.currency)
        told = f"at least {figure} ({self.unknown} unknown)" if self.unknown else figure
        return f"{told}, estimated" if self.is_estimate else told


def amount_of(
    quantity: Decimal, price: Decimal, *, per: int, is_estimate: bool = False, currency: str = "USD"
) -> Amount:
    """`quantity` at `price` for each `per` of it."""
    return Amount(known=(quantity * price / per).quantize(SMALLEST), is_estimate=is_estimate, currency=currency)


def total(amounts: Iterable[Amount], *, currency: str = "USD") -> Amount:
    """The sum of amounts; of none, nothing."""
    found = list(amounts)
    return reduce(Amount.__add__, found[1:], found[0]) if found else Amount(currency=currency)
