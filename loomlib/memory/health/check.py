"""All checks of a memory's health, in one look."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ...redaction import DEFAULT_RULES, Redactor
from ..reading import MemoryReader
from .contradictions import find_contradictions
from .duplicates import find_duplicates
from .finding import KINDS, SEVERITIES, Finding
from .growth import find_growth, growth_of, memory_prices
from .leaks import find_leaks, tenant_of
from .presidio import presidio_finder
from .report import HealthReport
from .scan import SCANNED, scan_memory
from .sensitive import find_sensitive
from .stale import EXTRACTION, UNTOUCHED, find_stale
from .strategies import find_unused


def check_health(
    reader: MemoryReader,
    *,
    records: int | None = SCANNED,
    events: int | None = SCANNED,
    allow: Collection[str] = (),
    redactor: Redactor | None = None,
    presidio: bool = False,
    untouched: timedelta = UNTOUCHED,
    extraction: timedelta = EXTRACTION,
    tenant: Callable[[str], str] = tenant_of,
    prices: Mapping[str, Any] | None = None,
    retrievals: int | None = None,
    now: datetime | None = None,
    progress: Callable[[str], None] | None = None,
    labels: tuple[str, ...] = (),
) -> HealthReport:
    """A memory's health. At most so many `records` and `events` are read (None: all, in memory).

    `allow` names personal data that may be there ("email"); `redactor` brings rules of one's own, `presidio` its
    recognisers beside them. `untouched` is when an unchanged record is old, `extraction` how long extraction may take.
    `tenant` tells an actor's tenant from its id. `retrievals` a month are for the cost.
    """
    rules = redactor or Redactor(DEFAULT_RULES)
    if presidio:
        rules = Redactor(rules.rules, finders=(*rules.finders, presidio_finder()), placeholder=rules.placeholder)
    at = now or datetime.now(UTC)
    scan = scan_memory(reader, now=at, redactor=rules, records=records, events=events, progress=progress)
    growth = growth_of(scan, memory_prices(prices), retrievals=retrievals)
    found: list[Finding] = []
    for what, look in (
        ("leaks", lambda: find_leaks(scan, tenant=tenant)),
        ("secrets and personal data", lambda: find_sensitive(scan, allow=allow)),
        ("contradictions", lambda: find_contradictions(scan)),
        ("stale records", lambda: find_stale(scan, untouched=untouched, extraction=extraction)),
        ("duplicates", lambda: find_duplicates(scan)),
        ("strategies", lambda: find_unused(scan, reader, extraction=extraction)),
        ("growth", lambda: find_growth(growth)),
    ):
        if progress is not None:
            progress(f"looking for {what} in {len(scan.records):,} records and {len(scan.events):,} events")
        found += look()
    found.sort(key=lambda each: (SEVERITIES.index(each.severity), KINDS.index(each.kind)))
    return HealthReport(
        memory_id=reader.memory.memory_id,
        name=reader.memory.name,
        checked_at=at,
        events=len(scan.events),
        records=len(scan.records),
        actors=len(scan.actors),
        findings=tuple(found),
        growth=growth,
        skipped=tuple(
            f"{each} beyond the first {limit:,} ({each}=None reads all)"
            for each, limit in (("records", records), ("events", events))
            if limit is not None and each in scan.truncated
        ),
        labels=labels,
    )
