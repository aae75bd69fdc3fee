"""Finds records of one actor that came from another.

Evidence is the record's stated source events, another actor's id in its text, or a similar message of another actor.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...aws.memory_shapes import MemoryEvent, MemoryRecord
from ...embeddings import MODEL_NAME, embed
from ...presentation.formats import exact, plural
from .finding import Finding, MemoryEvidence
from .scan import MemoryScan
from .statements import plain_words, statement_text

SIMILAR_FROM: Final = 0.8
"""The least cosine of a record and another actor's sentence, when no sentence of its own actor is similar."""
OWN_BELOW: Final = 0.5
_LONG_ID: Final = 5  # characters: "anna" occurs in many texts, "anna-7f3" is an id
_MOST_SENTENCES: Final = 40_000
_LEAST_WORDS: Final = 3
_BATCH: Final = 256
_SENTENCE: Final = re.compile(r"(?<=[.!?\n])\s+")


def find_crossed(scan: MemoryScan, tenant: Callable[[str], str]) -> Iterator[Finding]:
    """Yield one finding per pair of actors and kind of evidence.

    Args:
        scan: The memory's records and events.
        tenant: Returns the tenant of an actor id.
    """
    pairs: defaultdict[tuple[str, str, str], list[MemoryEvidence]] = defaultdict(list)
    id_pattern = _actor_ids(scan)
    unexplained: list[tuple[MemoryRecord, str]] = []
    for name, records in scan.namespaces.items():
        owner = scan.owners[name]
        if owner is None or not owner.actor_id:
            continue
        actor = owner.actor_id
        for record in records:
            stated = [scan.actor_of_event[event] for event in record.stated_sources if event in scan.actor_of_event]
            if others := [source for source in stated if source != actor]:
                pairs[actor, others[0], "stated"].append(scan.record_evidence(record))
            elif id_pattern is not None and (other := _other_actor_named(id_pattern, record.text, actor)):
                pairs[actor, other, "named"].append(scan.record_evidence(record))
            elif not stated and not owner.session_id:
                unexplained.append((record, actor))
    for record, actor, event, sentence in _similar_to_another(scan, unexplained):
        pairs[actor, event.actor_id, "similar"] += [
            scan.record_evidence(record),
            scan.event_evidence(event, sentence),
        ]
    for (actor, other, how), evidence in pairs.items():
        yield _finding(actor, other, how, evidence, tenant)


def _finding(
    actor: str, other: str, how: str, evidence: Sequence[MemoryEvidence], tenant: Callable[[str], str]
) -> Finding:
    count = sum(item.what == "record" for item in evidence)
    is_one = count == 1
    reason = {
        "stated": f"came from events of {other}",
        "named": f"{'contains' if is_one else 'contain'} the id of {other}",
        "similar": f"{'repeats' if is_one else 'repeat'} a message of {other} and no message of {actor}",
    }[how]
    by_similarity = f" ({MODEL_NAME}, cosine from {exact(SIMILAR_FROM)})" if how == "similar" else ""
    return Finding(
        kind="leak",
        severity="problem" if how == "stated" else "warning",
        what=f"{plural(count, 'record')} in the namespaces of {actor} {reason}",
        count=count,
        certainty="stated" if how == "stated" else f"inferred{by_similarity}",
        evidence=tuple(evidence),
        fix=f"find out who wrote {'it' if is_one else 'them'}; move {'it' if is_one else 'them'} to the namespace of "
        f"{other} or delete; then run memory.check_isolation() to find the cause",
        crosses_tenants=bool(tenant(actor) and tenant(other)) and tenant(actor) != tenant(other),
    )


def _actor_ids(scan: MemoryScan) -> re.Pattern[str] | None:
    """Return a pattern of the actor ids that do not occur in a text by chance."""
    ids = [actor for actor in scan.actors if len(actor) >= _LONG_ID and re.search(r"[\d_:/-]", actor)]
    if not ids:
        return None
    alternatives = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    return re.compile(rf"(?<![\w:/-])(?:{alternatives})(?![\w:/-])")


def _other_actor_named(id_pattern: re.Pattern[str], text: str, actor: str) -> str | None:
    return next((match[0] for match in id_pattern.finditer(text) if match[0] != actor), None)


def _similar_to_another(
    scan: MemoryScan, records: Sequence[tuple[MemoryRecord, str]]
) -> Iterator[tuple[MemoryRecord, str, MemoryEvent, str]]:
    """Yield records that repeat another actor's message, with the record's actor, the event and the sentence.

    Only when all events were read and the record's own actor has messages.
    """
    if "events" in scan.truncated or len(scan.events_of) < 2:
        return
    possible = [
        (record, actor)
        for record, actor in records
        if actor in scan.events_of and len(plain_words(record.text)) >= _LEAST_WORDS
    ]
    sentences = [
        (event, part.strip())
        for event in scan.events
        for message in event.messages
        if message.role == "USER"
        for part in _SENTENCE.split(message.text)
        if part.strip()
    ][:_MOST_SENTENCES]
    if not possible or not sentences:
        return
    vectors = embed([sentence for _, sentence in sentences])
    speakers = np.array([event.actor_id for event, _ in sentences])
    unexplained = _unlike_own_messages(possible, vectors, speakers)
    for start in range(0, len(unexplained), _BATCH):
        batch = unexplained[start : start + _BATCH]
        scores = embed([statement_text(record.text) for record, _ in batch]) @ vectors.T
        for row, (record, actor) in zip(scores, batch, strict=True):
            best = int(row.argmax())
            if float(row[best]) >= SIMILAR_FROM:
                yield record, actor, *sentences[best]


def _unlike_own_messages(
    records: Sequence[tuple[MemoryRecord, str]], vectors: NDArray[np.float32], speakers: NDArray[np.str_]
) -> list[tuple[MemoryRecord, str]]:
    """Return the records that are unlike all messages of their own actor; few, if extraction works."""
    by_actor: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
    for record, actor in records:
        by_actor[actor].append(record)
    unlike: list[tuple[MemoryRecord, str]] = []
    for actor, own_records in by_actor.items():
        own = vectors[speakers == actor]
        best = (embed([statement_text(record.text) for record in own_records]) @ own.T).max(axis=1, initial=0.0)
        unlike += [(record, actor) for record, score in zip(own_records, best, strict=True) if float(score) < OWN_BELOW]
    return unlike
