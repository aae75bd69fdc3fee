"""Records that held once: plans whose date has passed, what later events have replaced, what nothing has touched."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Final

from ...aws.memory_shapes import MemoryEvent, MemoryRecord
from ..displays import safe_id
from .finding import Finding
from .scan import MemoryScan, changed_at
from .statements import StatedFact, agree, stated_facts

UNTOUCHED: Final = timedelta(days=180)
"""After how long an unchanged record is worth a look."""
EXTRACTION: Final = timedelta(hours=1)
"""How long extraction may take before a record is said to lag behind what was said."""

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>20\d\d)"
_DATES: Final = tuple(
    re.compile(rf"\b{each}\b", re.IGNORECASE)
    for each in (
        r"(?P<year>20\d\d)-(?P<m>\d\d)-(?P<day>\d\d)",
        rf"{_DAY} (?:of )?{_MONTH},? {_YEAR}",
        rf"{_MONTH} {_DAY},? {_YEAR}",
        rf"(?:in|by|until|till|of|for) {_MONTH},? {_YEAR}",
        rf"(?:in|by|until|till|for) {_YEAR}",
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
    """One finding a record, and one for all that nothing has touched for long. A session's summary is history."""
    old: list[MemoryRecord] = []
    for namespace, records in scan.namespaces.items():
        owner, place = scan.owners[namespace], safe_id(namespace)
        if owner is not None and owner.session_id:
            continue
        known: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for each in (each for record in records for each in stated_facts(record.text)):
            known[each.who, each.attribute].add(each.value)
        said = _said_last(scan, owner.actor_id if owner else "", scan.now - extraction)
        # Once for each attribute, not for each record: an actor may have thousands of both.
        later = {key: last for key, last in said.items() if not _holds(known[key], last[1])}
        for record in records:
            if (why := passed(record.text, changed_at(record), scan.now)) is not None:
                yield _finding(scan, record, f"a record in {place} speaks of a time that has passed ({why})")
            elif (found := _replaced(record, later)) is not None:
                event, stated = found
                what = f"a record in {place} was replaced by what was said later, and stayed: {stated.attribute}"
                yield _finding(scan, record, what, event, stated.said)
            elif scan.now - changed_at(record) > untouched:
                old.append(record)
    if old:
        old.sort(key=changed_at)
        yield Finding(
            kind="stale",
            severity="note",
            what=f"{len(old):,} records have not changed for more than {untouched.days} days",
            count=len(old),
            evidence=tuple(scan.of_record(each) for each in old[:20]),
            fix="ask the actor again, or give records an expiry (recordExpirySpecification)",
        )


def passed(text: str, written: datetime, now: datetime) -> str | None:
    """Which time of a plan has passed, if one has.

    >>> written, now = datetime(2024, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    >>> passed("The user will fly to Rome on 3 May 2024.", written, now)
    'until 2024-05-03'
    """
    for sentence in re.split(r"(?<=[.!?\n])\s+", text):
        if not _AHEAD.search(sentence) or (_PAST.search(sentence) and "will" not in sentence):
            continue
        ends = [each for each in map(_end, _matches(sentence)) if each is not None]
        # What was past when it was written is no plan.
        if ends and max(ends) < now.date() and max(ends) >= written.date() - timedelta(days=1):
            return f"until {max(ends)}"
        if not ends:
            for pattern, holds in _RELATIVE:
                if (found := pattern.search(sentence)) and now - written > holds:
                    return f"“{found[0].lower()}”, written {written:%Y-%m-%d}"
    return None


def _matches(sentence: str) -> Iterable[re.Match[str]]:
    for pattern in _DATES:
        yield from pattern.finditer(sentence)


def _end(match: re.Match[str]) -> date | None:
    """The last day that a date means."""
    named = match.groupdict()
    month = named.get("m") or next(
        (str(n) for n, each in enumerate(_MONTHS, 1) if (named.get("month") or "-").lower() == each), ""
    )
    year, day = int(named["year"]), named.get("day")
    try:
        if not month:
            return date(year, 12, 31)
        if day:
            return date(year, int(month), int(day))
        return (date(year + int(month) // 12, int(month) % 12 + 1, 1)) - timedelta(days=1)
    except ValueError:
        return None


def _said_last(
    scan: MemoryScan, actor_id: str, before: datetime
) -> Mapping[tuple[str, str], tuple[MemoryEvent, StatedFact]]:
    """What the actor's own messages state of each attribute, by the newest event of which extraction is through."""
    found: dict[tuple[str, str], tuple[MemoryEvent, StatedFact]] = {}
    for event in scan.events_of.get(actor_id, []) if actor_id else []:
        if event.timestamp > before:
            continue
        for stated in (each for m in event.messages if m.role == "USER" for each in stated_facts(m.text)):
            last = found.get((stated.who, stated.attribute))
            if last is None or event.timestamp > last[0].timestamp:
                found[stated.who, stated.attribute] = (event, stated)
    return found


def _replaced(
    record: MemoryRecord, later: Mapping[tuple[str, str], tuple[MemoryEvent, StatedFact]]
) -> tuple[MemoryEvent, StatedFact] | None:
    """What was said after the record was written, and says otherwise."""
    found: tuple[MemoryEvent, StatedFact] | None = None
    for mine in stated_facts(record.text):
        last = later.get((mine.who, mine.attribute))
        if last is not None and last[0].timestamp > changed_at(record) + timedelta(seconds=1):
            found = last if not agree(mine.attribute, mine.value, last[1].value) else found
    return found


def _holds(values: set[str], last: StatedFact) -> bool:
    """Whether one of the values agrees with what was said last."""
    return last.value in values or any(agree(last.attribute, each, last.value) for each in values)


def _finding(
    scan: MemoryScan, record: MemoryRecord, what: str, event: MemoryEvent | None = None, said: str = ""
) -> Finding:
    evidence = [scan.of_record(record), *([scan.of_event(event, said)] if event is not None else [])]
    return Finding(
        kind="stale",
        severity="warning",
        what=what,
        certainty=_BY_RULE,
        evidence=tuple(evidence),
        fix=f"update or delete {record.record_id}"
        + ("; look whether extraction failed (memory.failed_extractions())" if event is not None else ""),
    )
