"""Runs all health checks of a memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ...presentation.formats import number, plural
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
from .withdrawn import find_withdrawn


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
    """Check a memory's health.

    Args:
        reader: Reads the memory.
        records: The maximum number of records to read; None for all. They are held in memory.
        events: The maximum number of events to read; None for all. They are held in memory.
        allow: Kinds of personal data that are allowed, such as "email".
        redactor: Redaction rules of your own; the default rules when left out.
        presidio: Whether to use Presidio's recognizers as well.
        untouched: The age from which an unchanged record is reported.
        extraction: How long extraction may take.
        tenant: Returns the tenant of an actor id.
        prices: Prices that replace list prices (fields of `MemoryPrices`).
        retrievals: Retrievals a month, for the cost; the service does not count them.
        now: The time of the check.
        progress: Called with a sentence while it runs.
        labels: Provenance labels of the report.
    """
    rules = redactor or Redactor(DEFAULT_RULES)
    if presidio:
        rules = Redactor(rules.rules, finders=(*rules.finders, presidio_finder()), placeholder=rules.placeholder)
    checked_at = now or datetime.now(UTC)
    scan = scan_memory(reader, now=checked_at, redactor=rules, records=records, events=events, progress=progress)
    growth = growth_of(scan, memory_prices(prices), retrievals=retrievals)
    findings: list[Finding] = []
    for subject, check in (
        ("leaks", lambda: find_leaks(scan, tenant=tenant)),
        ("secrets and personal data", lambda: find_sensitive(scan, allow=allow)),
        ("contradictions", lambda: find_contradictions(scan)),
        ("stale records", lambda: find_stale(scan, untouched=untouched, extraction=extraction)),
        ("withdrawn facts", lambda: find_withdrawn(scan, extraction=extraction)),
        ("duplicates", lambda: find_duplicates(scan)),
        ("unused strategies", lambda: find_unused(scan, reader, extraction=extraction)),
        ("growth", lambda: find_growth(growth)),
    ):
        if progress is not None:
            progress(
                f"checking {plural(len(scan.records), 'record')} and {plural(len(scan.events), 'event')} for {subject}"
            )
        findings += check()
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), KINDS.index(finding.kind)))
    return HealthReport(
        memory_id=reader.memory.memory_id,
        name=reader.memory.name,
        checked_at=checked_at,
        events=len(scan.events),
        records=len(scan.records),
        actors=len(scan.actors),
        findings=tuple(findings),
        growth=growth,
        skipped=tuple(
            f"{kind} beyond the first {number(limit)} ({kind}=None reads all)"
            for kind, limit in (("records", records), ("events", events))
            if limit is not None and kind in scan.truncated
        ),
        labels=labels,
    )
