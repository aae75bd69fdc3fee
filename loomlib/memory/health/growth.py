"""How a memory grows, and what it costs by dated list prices."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from importlib import resources
from typing import Any, Final

from .finding import Finding, MemoryEvidence
from .scan import MemoryScan, changed_at

_MONTH: Final = timedelta(days=30)
_BUILT_IN: Final = frozenset({"SEMANTIC", "SUMMARIZATION", "USER_PREFERENCE", "EPISODIC"})
_ENOUGH: Final = 100
_FAST: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPrices:
    """Dollars; `as_of` is when they held. CHECK THEM: list prices change."""

    events_per_1000: Decimal
    built_in_records_per_1000_months: Decimal
    own_records_per_1000_months: Decimal
    retrievals_per_1000: Decimal
    as_of: date
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Events and records of the last 30 days and the 30 before; dollars a month at this pace.

    `retrievals` are those told (`memory.health(retrievals=...)`), for the service counts none; None: unknown, and so
    not in the cost. `is_least` where not all was read.
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
        """What the events of the last 30 days cost."""
        return self.prices.events_per_1000 * self.events / 1000

    @property
    def records_usd(self) -> Decimal:
        """What holding the records costs a month."""
        built_in = self.prices.built_in_records_per_1000_months * self.built_in_records
        return (built_in + self.prices.own_records_per_1000_months * self.own_records) / 1000

    @property
    def retrievals_usd(self) -> Decimal | None:
        """What the retrievals cost, where their number is known."""
        return None if self.retrievals is None else self.prices.retrievals_per_1000 * self.retrievals / 1000

    @property
    def month_usd(self) -> Decimal:
        """All that is known of a month's cost."""
        return self.events_usd + self.records_usd + (self.retrievals_usd or Decimal(0))

    def sentence(self) -> str:
        """In words, with the prices' date."""
        least = "at least " if self.is_least else ""
        beside = "" if self.retrievals is not None else " without retrievals, which nobody counts"
        held = self.built_in_records + self.own_records
        return (
            f"30 days brought {least}{self.events:,} events and {self.records:,} records; {held:,} records held · "
            f"{least}${self.month_usd:.4f} a month{beside} (list prices of {self.prices.as_of}; check them)"
        )

    def row(self) -> dict[str, Any]:
        """As a table has it."""
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


def memory_prices(given: Mapping[str, Any] | None = None) -> MemoryPrices:
    """The dated list prices, with `given` in their place ("events_per_1000": 0.2)."""
    said = tomllib.loads((resources.files("loomlib.memory.health") / "prices.toml").read_text("utf-8"))
    unknown = set(given or {}) - set(MemoryPrices.__slots__)
    if unknown:
        raise ValueError(f"there is no price {', '.join(sorted(unknown))}: {', '.join(MemoryPrices.__slots__)}")
    said.update(given or {})
    amounts = {name: Decimal(str(said[name])) for name in MemoryPrices.__slots__ if "per_1000" in name}
    return MemoryPrices(**amounts, as_of=said["as_of"], source=str(said["source"]))


def growth_of(scan: MemoryScan, prices: MemoryPrices, *, retrievals: int | None = None) -> Growth:
    """How the memory grew up to now."""
    types = {each.strategy_id: each.type for each in scan.memory.strategies}
    built_in = sum(types.get(each.strategy_id) in _BUILT_IN for each in scan.records)
    events, records = [each.timestamp for each in scan.events], [changed_at(each) for each in scan.records]
    return Growth(
        events=sum(scan.now - each <= _MONTH for each in events),
        events_before=sum(_MONTH < scan.now - each <= 2 * _MONTH for each in events),
        records=sum(scan.now - each <= _MONTH for each in records),
        records_before=sum(_MONTH < scan.now - each <= 2 * _MONTH for each in records),
        built_in_records=built_in,
        own_records=len(scan.records) - built_in,
        retrievals=retrievals,
        prices=prices,
        is_least=bool(scan.truncated),
    )


def find_growth(growth: Growth) -> Iterator[Finding]:
    """A finding where records or events double by the month."""
    for name, now, before in (
        ("events", growth.events, growth.events_before),
        ("records", growth.records, growth.records_before),
    ):
        if before >= _ENOUGH and now >= _FAST * before:
            yield Finding(
                kind="growth",
                severity="note",
                what=f"{name} grew from {before:,} to {now:,} in 30 days",
                count=now,
                evidence=(MemoryEvidence(id="", what="growth", said=growth.sentence()),),
                fix="shorten eventExpiryDuration, expire records, or find who writes so much (memory.actors())",
            )
