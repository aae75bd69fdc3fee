"""Amounts of money with unknown parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

from loomlib.presentation.formats import money

QUANTUM = Decimal("1e-15")
"""Amounts are rounded to this once, when they are created; from then on, sums are exact in any order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """The known part of a sum, and how many of its items have no known price or quantity.

    Unknown items add nothing to `known`, so it is never zero for lack of data: `state` tells whether it is complete.

    Attributes:
        known: The known sum.
        unknown: How many items are unknown.
        is_estimate: Whether a quantity was estimated, counted afterwards or simulated.
        currency: ISO 4217 code.
    """

    known: Decimal = Decimal(0)
    unknown: int = 0
    is_estimate: bool = False
    currency: str = "USD"

    def __post_init__(self) -> None:
        if not self.known.is_finite() or self.known < 0 or self.unknown < 0:
            raise ValueError(f"an amount must be finite and not negative: {self.known}, {self.unknown} unknown")

    @property
    def state(self) -> str:
        """`known`, `partial` (at least `known`), or `unknown`."""
        if not self.unknown:
            return "known"
        return "partial" if self.known else "unknown"

    @property
    def value(self) -> float | None:
        """The figure for a table or a chart; None when unknown."""
        return None if self.state == "unknown" else float(self.known)

    def __add__(self, other: Amount) -> Amount:
        if self.currency != other.currency:
            raise ValueError(f"cannot add amounts in {self.currency} and {other.currency}")
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
        text = f"at least {figure} ({self.unknown} unknown)" if self.unknown else figure
        return f"{text}, estimated" if self.is_estimate else text


def amount_of(
    quantity: Decimal, price: Decimal, *, per: int, is_estimate: bool = False, currency: str = "USD"
) -> Amount:
    """Return the amount for a quantity.

    Args:
        quantity: How much was used.
        price: The price of `per` units.
        per: The number of units that the price is for.
        is_estimate: Whether the quantity is an estimate.
        currency: ISO 4217 code.
    """
    return Amount(known=(quantity * price / per).quantize(QUANTUM), is_estimate=is_estimate, currency=currency)


def total(amounts: Iterable[Amount], *, currency: str = "USD") -> Amount:
    """Return the sum of amounts; zero for none."""
    items = list(amounts)
    return reduce(Amount.__add__, items[1:], items[0]) if items else Amount(currency=currency)
