"""Finds stale records: plans whose date has passed, facts that later events replaced, old unchanged records."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Final

from ...aws.memory_shapes import MemoryEvent, MemoryRecord
from ...presentation.formats import plural
from ..displays import safe_id
from .finding import Finding
from .scan import MemoryScan, changed_at
from .statements import StatedFact, agree, stated_facts

UNTOUCHED: Final = timedelta(days=180)
"""The age from which an unchanged record is reported."""
EXTRACTION: Final = timedelta(hours=1)
"""How long extraction may take before a record counts as outdated by a message."""

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>20\d\d)"
_DATES: Final = tuple(
    re.compile(rf"\b{pattern}\b", re.IGNORECASE)
    for pattern in (
        r"(?P<year>20\d\d)-(?P<m>\d\d)-(?P<day>\d\d)",
        rf"{_DAY} (?:of )?{_MONTH},? {_YEAR}",
        rf"{_MONTH} {_DAY},? {_YEAR}",
        rf"(?:in|by|until|till|of|for) {_MONTH},? {_YEAR}",
        rf"(?:in|by|until|till|for) {_YEAR}(?!-\d)",
    )
)
_AHEAD: Final = re.compile(
    r"\b(?:will|plans?|planning|planned|going to|upcoming|next|intends?|wants to|hopes to|scheduled|due|until|till|"
    r"deadline|expires?|appointment|booked|flight|trip|travell?ing|is (?:flying|visiting|getting|moving|starting)|"
    r"reservation|by)\b",
    re.IGNORECASE,
)
_PAST: Final = re.compile(
    r"\b(?:was|were|had|did|used to|born|since|ago|visited|moved|went|travell?ed)\b", re.IGNORECASE
)
_RELATIVE: Final = tuple(
    (re.compile(rf"\b{pattern}\b", re.IGNORECASE), timedelta(days=days))
    for pattern, days in (
        (r"(?:today|tonight|tomorrow|this (?:morning|afternoon|evening))", 2),
        (r"(?:this|next) (?:week|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day)", 15),
        (r"(?:this|next) month", 62),
        (r"(?:this|next) year", 731),
    )
)
_BY_RULE: Final = "inferred (rules on English)"


def find_stale(
    scan: MemoryScan, *, untouched: timedelta = UNTOUCHED, extraction: timedelta = EXTRACTION
) -> Iterator[Finding]:
    """Yield one finding per stale record, and one for all old unchanged records; session summaries are left out.

    Args:
        scan: The memory's records and events.
        untouched: The age from which an unchanged record is reported.
        extraction: How long extraction may take.
    """
    old: list[MemoryRecord] = []
    for namespace, records in scan.namespaces.items():
        owner, place = scan.owners[namespace], safe_id(namespace)
        if owner is not None and owner.session_id:
            continue
        record_values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for fact in (fact for record in records for fact in stated_facts(record.text)):
            record_values[fact.who, fact.attribute].add(fact.value)
        latest = _latest_facts(scan, owner.actor_id if owner else "", scan.now - extraction)
        # Per attribute, not per record: an actor may have thousands of both.
        later = {key: last for key, last in latest.items() if not _agrees_with_any(record_values[key], last[1])}
        for record in records:
            if (date_passed := passed(record.text, changed_at(record), scan.now)) is not None:
                yield _finding(
                    scan, record, f"a record in {place} mentions a plan whose time has passed ({date_passed})"
                )
            elif (replacement := _replacement(record, later)) is not None:
                event, fact = replacement
                description = f"a record in {place} is outdated by a later message: {fact.attribute}"
                yield _finding(scan, record, description, event, fact.sentence)
            elif scan.now - changed_at(record) > untouched:
                old.append(record)
    if old:
        old.sort(key=changed_at)
        yield Finding(
            kind="stale",
            severity="note",
            what=f"{plural(len(old), 'record')} {'has' if len(old) == 1 else 'have'} not changed for more than "
            f"{plural(untouched.days, 'day')}",
            count=len(old),
            evidence=tuple(scan.record_evidence(record) for record in old[:20]),
            fix="ask the actor again, or give records an expiry (recordExpirySpecification)",
        )


def passed(text: str, written_at: datetime, now: datetime) -> str | None:
    """Return the time of a plan that has passed, or None.

    Args:
        text: A record's text.
        written_at: When it was written.
        now: The time to compare with.

    Examples:
        >>> written, now = datetime(2024, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
        >>> passed("The user will fly to Rome on 3 May 2024.", written, now)
        'until 2024-05-03'
    """
    for sentence in re.split(r"(?<=[.!?\n])\s+", text):
        if not _AHEAD.search(sentence) or (_PAST.search(sentence) and "will" not in sentence):
            continue
        ends = [end for end in map(_end, _matches(sentence)) if end is not None]
        # A date that had passed when it was written is not a plan.
        if ends and max(ends) < now.date() and max(ends) >= written_at.date() - timedelta(days=1):
            return f"until {max(ends)}"
        if not ends:
            for pattern, holds in _RELATIVE:
                if (match := pattern.search(sentence)) and now - written_at > holds:
                    return f"“{match[0].lower()}”, written {written_at:%Y-%m-%d}"
    return None


def _matches(sentence: str) -> Iterable[re.Match[str]]:
    for pattern in _DATES:
        yield from pattern.finditer(sentence)


def _end(match: re.Match[str]) -> date | None:
    """Return the last day of a date, month or year."""
    parts = match.groupdict()
    month = parts.get("m") or next(
        (str(n) for n, name in enumerate(_MONTHS, 1) if (parts.get("month") or "-").lower() == name), ""
    )
    year, day = int(parts["year"]), parts.get("day")
    try:
        if not month:
            return date(year, 12, 31)
        if day:
            return date(year, int(month), int(day))
        return (date(year + int(month) // 12, int(month) % 12 + 1, 1)) - timedelta(days=1)
    except ValueError:
        return None


def _latest_facts(
    scan: MemoryScan, actor_id: str, before: datetime
) -> Mapping[tuple[str, str], tuple[MemoryEvent, StatedFact]]:
    """Return the latest fact per attribute from the actor's messages until `before`."""
    latest: dict[tuple[str, str], tuple[MemoryEvent, StatedFact]] = {}
    for event in scan.events_of.get(actor_id, []) if actor_id else []:
        if event.timestamp > before:
            continue
        for fact in (fact for m in event.messages if m.role == "USER" for fact in stated_facts(m.text)):
            last = latest.get((fact.who, fact.attribute))
            if last is None or event.timestamp > last[0].timestamp:
                latest[fact.who, fact.attribute] = (event, fact)
    return latest


def _replacement(
    record: MemoryRecord, later: Mapping[tuple[str, str], tuple[MemoryEvent, StatedFact]]
) -> tuple[MemoryEvent, StatedFact] | None:
    """Return the event and fact that contradict a record and are newer than it."""
    replacement: tuple[MemoryEvent, StatedFact] | None = None
    for own in stated_facts(record.text):
        last = later.get((own.who, own.attribute))
        if last is not None and last[0].timestamp > changed_at(record) + timedelta(seconds=1):
            replacement = last if not agree(own.attribute, own.value, last[1].value) else replacement
    return replacement


def _agrees_with_any(values: set[str], last: StatedFact) -> bool:
    """Return whether one of the values agrees with the latest fact."""
    return last.value in values or any(agree(last.attribute, value, last.value) for value in values)


def _finding(
    scan: MemoryScan, record: MemoryRecord, description: str, event: MemoryEvent | None = None, excerpt: str = ""
) -> Finding:
    evidence = [scan.record_evidence(record), *([scan.event_evidence(event, excerpt)] if event is not None else [])]
    return Finding(
        kind="stale",
        severity="warning",
        what=description,
        certainty=_BY_RULE,
        evidence=tuple(evidence),
        fix=f"update or delete {record.record_id}"
        + ("; check whether extraction failed (memory.failed_extractions())" if event is not None else ""),
    )
