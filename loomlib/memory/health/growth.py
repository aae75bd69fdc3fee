"""A memory's growth, and its cost at dated list prices."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from importlib import resources
from typing import Any, Final

from ...presentation.formats import join, money, number, plural
from .finding import Finding, MemoryEvidence
from .scan import MemoryScan, changed_at

_MONTH: Final = timedelta(days=30)
_BUILT_IN: Final = frozenset({"SEMANTIC", "SUMMARIZATION", "USER_PREFERENCE", "EPISODIC"})
_ENOUGH: Final = 100
_FAST: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPrices:
    """List prices in US dollars as of a date. Check them before relying on a figure.

    Attributes:
        events_per_1000: Per 1000 events.
        built_in_records_per_1000_months: Per 1000 records of built-in strategies, per month.
        own_records_per_1000_months: Per 1000 records of custom strategies and month.
        retrievals_per_1000: Per 1000 retrievals.
        as_of: Date of the prices.
        source: Where they are from.
    """

    events_per_1000: Decimal
    built_in_records_per_1000_months: Decimal
    own_records_per_1000_months: Decimal
    retrievals_per_1000: Decimal
    as_of: date
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Events and records of the last 30 days and the 30 days before, and the monthly cost at this rate.

    Attributes:
        events: Events of the last 30 days.
        events_before: Events of the 30 days before.
        records: Records of the last 30 days.
        records_before: Records of the 30 days before.
        built_in_records: Stored records of built-in strategies.
        own_records: Other stored records.
        retrievals: Retrievals a month (`memory.health(retrievals=...)`), which the service does not count; None leaves
            them out of the cost.
        prices: The prices.
        is_least: Whether figures are lower bounds because not everything was read.
    """

    events: int
    events_before: int
    records: int
    records_before: int
    built_in_records: int
    own_records: int
    retrievals: int | None
    prices: MemoryPrices
    is_least: bool = False

    @property
    def events_usd(self) -> Decimal:
        """Cost of the events of the last 30 days."""
        return self.prices.events_per_1000 * self.events / 1000

    @property
    def records_usd(self) -> Decimal:
        """Cost of storing the records for a month."""
        built_in = self.prices.built_in_records_per_1000_months * self.built_in_records
        return (built_in + self.prices.own_records_per_1000_months * self.own_records) / 1000

    @property
    def retrievals_usd(self) -> Decimal | None:
        """Cost of the retrievals; None when their number is unknown."""
        return None if self.retrievals is None else self.prices.retrievals_per_1000 * self.retrievals / 1000

    @property
    def month_usd(self) -> Decimal:
        """Sum of the known costs of a month."""
        return self.events_usd + self.records_usd + (self.retrievals_usd or Decimal(0))

    def sentence(self) -> str:
        """Describe growth and cost in a sentence, with the date of the prices."""
        least = "at least " if self.is_least else ""
        without = "" if self.retrievals is not None else " without retrievals, whose number is unknown"
        stored = plural(self.built_in_records + self.own_records, "record")
        return (
            f"{least}{plural(self.events, 'event')} and {plural(self.records, 'record')} in the last 30 days; "
            f"{stored} stored · {least}{money(self.month_usd)} a month{without} "
            f"(list prices of {self.prices.as_of}; check them)"
        )

    def row(self) -> dict[str, Any]:
        """Return growth and cost as a table row."""
        return {
            "events_30_days": self.events,
            "events_30_days_before": self.events_before,
            "records_30_days": self.records,
            "records_30_days_before": self.records_before,
            "records_held": self.built_in_records + self.own_records,
            "events_usd": float(self.events_usd),
            "records_usd_month": float(self.records_usd),
            "retrievals_usd": None if self.retrievals_usd is None else float(self.retrievals_usd),
            "month_usd": float(self.month_usd),
            "prices_as_of": self.prices.as_of,
        }


def memory_prices(own: Mapping[str, Any] | None = None) -> MemoryPrices:
    """Return the list prices.

    Args:
        own: Prices that replace them, such as `{"events_per_1000": 0.2}`.

    Raises:
        ValueError: `own` has an unknown name, or a price that is not a number of at least 0.
    """
    prices = tomllib.loads((resources.files("loomlib.memory.health") / "prices.toml").read_text("utf-8"))
    unknown = set(own or {}) - set(MemoryPrices.__slots__)
    if unknown:
        raise ValueError(
            f"there is no price {join(sorted(unknown), 'or')}; use {join(list(MemoryPrices.__slots__), 'or')}"
        )
    prices.update(own or {})
    amounts = {name: _amount(name, prices[name]) for name in MemoryPrices.__slots__ if "per_1000" in name}
    return MemoryPrices(**amounts, as_of=prices["as_of"], source=str(prices["source"]))


def _amount(name: str, price: object) -> Decimal:
    try:
        amount = Decimal(str(price))
    except InvalidOperation:
        amount = Decimal("nan")
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{name} must be a price in US dollars of at least 0, not {price!r}")
    return amount


def growth_of(scan: MemoryScan, prices: MemoryPrices, *, retrievals: int | None = None) -> Growth:
    """Compute growth and cost of a memory.

    Args:
        scan: The memory's records and events.
        prices: The prices.
        retrievals: Retrievals a month; None when unknown.
    """
    types = {strategy.strategy_id: strategy.type for strategy in scan.memory.strategies}
    built_in = sum(types.get(record.strategy_id) in _BUILT_IN for record in scan.records)
    events, records = [event.timestamp for event in scan.events], [changed_at(record) for record in scan.records]
    return Growth(
        events=sum(scan.now - at <= _MONTH for at in events),
        events_before=sum(_MONTH < scan.now - at <= 2 * _MONTH for at in events),
        records=sum(scan.now - at <= _MONTH for at in records),
        records_before=sum(_MONTH < scan.now - at <= 2 * _MONTH for at in records),
        built_in_records=built_in,
        own_records=len(scan.records) - built_in,
        retrievals=retrievals,
        prices=prices,
        is_least=bool(scan.truncated),
    )


def find_growth(growth: Growth) -> Iterator[Finding]:
    """Yield a finding when events or records doubled within a month."""
    for name, now, before in (
        ("events", growth.events, growth.events_before),
        ("records", growth.records, growth.records_before),
    ):
        if before >= _ENOUGH and now >= _FAST * before:
            yield Finding(
                kind="growth",
                severity="note",
                what=f"{name} of 30 days grew from {number(before)} to {number(now)}",
                count=now,
                evidence=(MemoryEvidence(id="", what="growth", excerpt=growth.sentence()),),
                fix="shorten eventExpiryDuration, give records an expiry, or find the actors that write the most "
                "(memory.actors())",
            )
