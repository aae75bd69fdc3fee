"""Finds secrets and personal data in records and events; findings show where, never the value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from ...aws.memory_shapes import EXTRACTOR_KEY, SOURCE_EVENTS_KEY, MemoryEvent, MemoryRecord
from ...presentation.formats import plural
from ...redaction import DEFAULT_RULES, Redactor
from ..displays import safe_id
from .finding import Finding, MemoryEvidence
from .scan import MemoryScan

_SHOWN: Final = 20
_SECRET_NAMES: Final = frozenset({*(rule.name for rule in DEFAULT_RULES if rule.kind == "secret"), "secret"})


def find_sensitive(scan: MemoryScan, *, allow: Collection[str] = ()) -> Iterator[Finding]:
    """Yield one finding per kind of secret or personal data, for records and for events.

    Args:
        scan: The memory's records and events.
        allow: Kinds that are allowed, such as "email".
    """
    for noun, items in (("record", _in_records(scan)), ("event", _in_events(scan))):
        grouped: defaultdict[str, list[MemoryEvidence]] = defaultdict(list)
        totals: defaultdict[str, int] = defaultdict(int)
        for names, evidence in items:
            for name in names:
                totals[name] += 1
                if len(grouped[name]) < _SHOWN:
                    grouped[name].append(evidence)
        for name in sorted(
            grouped.keys() - set(allow), key=lambda name: (name not in secret_names(scan.redactor), name)
        ):
            yield _finding(name, noun, totals[name], grouped[name], is_secret=name in secret_names(scan.redactor))


def secret_names(redactor: Redactor) -> frozenset[str]:
    """Return the names of the rules that find secrets."""
    return _SECRET_NAMES | {rule.name for rule in redactor.rules if rule.kind == "secret"}


def _finding(name: str, noun: str, count: int, evidence: Sequence[MemoryEvidence], *, is_secret: bool) -> Finding:
    subject = f"{plural(count, noun)} {'contains' if count == 1 else 'contain'}"
    if noun == "record":
        fix = "delete the record, or update it without the value"
    else:
        fix = "delete the event (DeleteEvent); until it expires, listing the session returns it"
    if is_secret:
        fix = f"revoke the secret first, then {fix}; redact secrets before CreateEvent (loom.redact)"
    else:
        fix += '; redact it before CreateEvent, or allow it: memory.health(allow=["' + name + '"])'
    return Finding(
        kind="secret" if is_secret else "personal_data",
        severity="problem" if is_secret else "warning",
        what=f"{subject} a value that looks like: {name}",
        count=count,
        certainty="stated" if name != "secret" else "inferred (a field named like a secret, or a random string)",
        evidence=tuple(evidence),
        fix=fix,
    )


def _in_records(scan: MemoryScan) -> Iterator[tuple[list[str], MemoryEvidence]]:
    for record in scan.records:
        if names := _names(scan.redactor, chain([record.text], _metadata_texts(record))):
            yield names, scan.record_evidence(record)


def _in_events(scan: MemoryScan) -> Iterator[tuple[list[str], MemoryEvidence]]:
    for event in scan.events:
        if names := _names(scan.redactor, _event_texts(event)):
            yield names, scan.event_evidence(event)


def _names(redactor: Redactor, texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for text in texts for _, _, name, _ in redactor.find(text)))


def _metadata_texts(record: MemoryRecord) -> Iterator[str]:
    for key, value in record.metadata.items():
        if key not in (SOURCE_EVENTS_KEY, EXTRACTOR_KEY):
            # With its key, because a field name such as "password" marks the value as a secret.
            yield from (f"{key}: {item}" for item in (value if isinstance(value, list) else [value]))  # pyright: ignore[reportUnknownVariableType]


def _event_texts(event: MemoryEvent) -> Iterator[str]:
    yield from (message.text for message in event.messages)
    yield from (f"{key}: {value}" for key, value in event.metadata.items())
    yield from (id for id in (event.session_id, event.actor_id) if safe_id(id) != id)
