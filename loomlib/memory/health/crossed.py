"""Records that lie with one actor and are another's: by the events they were told to come from, by what they name, or
by who said it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...aws.memory_shapes import MemoryEvent, MemoryRecord
from ...embeddings import MODEL_NAME, embed
from .finding import Finding, MemoryEvidence
from .scan import MemoryScan
from .statements import plain_words, statement_text

SAID_FROM: Final = 0.8
"""The least cosine of a record and another actor's sentence, while nothing that its own actor said comes near."""
OWN_BELOW: Final = 0.5
_LONG_ID: Final = 5  # characters: "anna" is a word that many say, "anna-7f3" is an actor
_MOST_SENTENCES: Final = 40_000
_FEWEST_WORDS: Final = 3
_AT_ONCE: Final = 256
_SENTENCE: Final = re.compile(r"(?<=[.!?\n])\s+")


def find_crossed(scan: MemoryScan, tenant: Callable[[str], str]) -> Iterator[Finding]:
    """One finding for each pair of actors and each way in which it is known."""
    pairs: defaultdict[tuple[str, str, str], list[MemoryEvidence]] = defaultdict(list)
    named = _named(scan)
    unexplained: list[tuple[MemoryRecord, str]] = []
    for name, records in scan.namespaces.items():
        owner = scan.owners[name]
        if owner is None or not owner.actor_id:
            continue
        whose = owner.actor_id
        for record in records:
            told = [scan.actor_of_event[each] for each in record.stated_sources if each in scan.actor_of_event]
            if wrong := [each for each in told if each != whose]:
                pairs[whose, wrong[0], "told"].append(scan.of_record(record))
            elif named is not None and (other := _names_another(named, record.text, whose)):
                pairs[whose, other, "named"].append(scan.of_record(record))
            elif not told and not owner.session_id:
                unexplained.append((record, whose))
    for record, whose, event, said in _said_by_another(scan, unexplained):
        pairs[whose, event.actor_id, "said"] += [scan.of_record(record), scan.of_event(event, said)]
    for (whose, other, how), evidence in pairs.items():
        yield _finding(whose, other, how, evidence, tenant)


def _finding(
    whose: str, other: str, how: str, evidence: Sequence[MemoryEvidence], tenant: Callable[[str], str]
) -> Finding:
    records = [each for each in evidence if each.what == "record"]
    many = f"{len(records):,} records" if len(records) != 1 else "a record"
    why = {
        "told": f"came from events of {other}",
        "named": f"name{'s' if len(records) == 1 else ''} {other}",
        "said": f"say{'s' if len(records) == 1 else ''} what {other} said and {whose} did not",
    }[how]
    return Finding(
        kind="leak",
        severity="problem" if how == "told" else "warning",
        what=f"{many} in the namespaces of {whose} {why}",
        count=len(records),
        certainty="told"
        if how == "told"
        else "inferred" + (f" ({MODEL_NAME}, from {SAID_FROM:g} on)" * (how == "said")),
        evidence=tuple(evidence),
        fix="look who wrote "
        + ("them" if len(records) != 1 else "it")
        + f", move to the namespace of {other} or delete; then memory.check_isolation() for the way it came",
        crosses_tenants=bool(tenant(whose) and tenant(other)) and tenant(whose) != tenant(other),
    )


def _named(scan: MemoryScan) -> re.Pattern[str] | None:
    """Ids of actors that no text holds by chance."""
    ids = [each for each in scan.actors if len(each) >= _LONG_ID and re.search(r"[\d_:/-]", each)]
    if not ids:
        return None
    some = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    return re.compile(rf"(?<![\w:/-])(?:{some})(?![\w:/-])")


def _names_another(named: re.Pattern[str], text: str, whose: str) -> str | None:
    return next((found[0] for found in named.finditer(text) if found[0] != whose), None)


def _said_by_another(
    scan: MemoryScan, records: Sequence[tuple[MemoryRecord, str]]
) -> Iterator[tuple[MemoryRecord, str, MemoryEvent, str]]:
    """Only where all that was said could be read, and the record's own actor said something at all."""
    if "events" in scan.truncated or len(scan.events_of) < 2:
        return
    possible = [(r, w) for r, w in records if w in scan.events_of and len(plain_words(r.text)) >= _FEWEST_WORDS]
    said = [
        (event, part.strip())
        for event in scan.events
        for message in event.messages
        if message.role == "USER"
        for part in _SENTENCE.split(message.text)
        if part.strip()
    ][:_MOST_SENTENCES]
    if not possible or not said:
        return
    vectors = embed([part for _, part in said])
    who = np.array([event.actor_id for event, _ in said])
    unexplained = _not_said_by_its_own(possible, vectors, who)
    for start in range(0, len(unexplained), _AT_ONCE):
        some = unexplained[start : start + _AT_ONCE]
        scores = embed([statement_text(record.text) for record, _ in some]) @ vectors.T
        for row, (record, whose) in zip(scores, some, strict=True):
            best = int(row.argmax())
            if float(row[best]) >= SAID_FROM:
                yield record, whose, *said[best]


def _not_said_by_its_own(
    records: Sequence[tuple[MemoryRecord, str]], vectors: NDArray[np.float32], who: NDArray[np.str_]
) -> list[tuple[MemoryRecord, str]]:
    """The records that nothing comes near of what their own actor said: few, where extraction works."""
    of: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
    for record, whose in records:
        of[whose].append(record)
    found: list[tuple[MemoryRecord, str]] = []
    for whose, some in of.items():
        own = vectors[who == whose]
        best = (embed([statement_text(each.text) for each in some]) @ own.T).max(axis=1, initial=0.0)
        found += [(each, whose) for each, score in zip(some, best, strict=True) if float(score) < OWN_BELOW]
    return found
