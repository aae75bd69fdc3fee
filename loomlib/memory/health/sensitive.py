"""Secrets and personal data in records and events. What is found is never shown, only where it stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from ...aws.memory_shapes import MemoryEvent, MemoryRecord
from ...redaction import DEFAULT_RULES, Redactor
from ..displays import safe_id
from .finding import Finding, MemoryEvidence
from .scan import MemoryScan

_SHOWN: Final = 20
_SECRET_NAMES: Final = frozenset({*(each.name for each in DEFAULT_RULES if each.kind == "secret"), "secret"})


def find_sensitive(scan: MemoryScan, *, allow: Collection[str] = ()) -> Iterator[Finding]:
    """One finding for each kind of secret or personal data, in records and in events; `allow` names kinds that may be
    there ("email")."""
    for what, found in (("record", _in_records(scan)), ("event", _in_events(scan))):
        grouped: defaultdict[str, list[MemoryEvidence]] = defaultdict(list)
        totals: defaultdict[str, int] = defaultdict(int)
        for names, evidence in found:
            for name in names:
                totals[name] += 1
                if len(grouped[name]) < _SHOWN:
                    grouped[name].append(evidence)
        for name in sorted(
            grouped.keys() - set(allow), key=lambda each: (each not in secret_names(scan.redactor), each)
        ):
            yield _finding(name, what, totals[name], grouped[name], is_secret=name in secret_names(scan.redactor))


def secret_names(redactor: Redactor) -> frozenset[str]:
    """The names of rules that find secrets."""
    return _SECRET_NAMES | {each.name for each in redactor.rules if each.kind == "secret"}


def _finding(name: str, what: str, count: int, evidence: Sequence[MemoryEvidence], *, is_secret: bool) -> Finding:
    many = f"{count:,} {what}s hold" if count != 1 else f"one {what} holds"
    if what == "record":
        fix = "delete the record, or update it without the value"
    else:
        fix = "delete the event (DeleteEvent); until it expires everybody who lists the session reads it"
    if is_secret:
        fix = f"take the secret out of use first, then {fix}; strike secrets out before CreateEvent (loom.redact)"
    else:
        fix += '; strike it out before CreateEvent, or say that it may be here: memory.health(allow=["' + name + '"])'
    return Finding(
        kind="secret" if is_secret else "personal_data",
        severity="problem" if is_secret else "warning",
        what=f"{many} what looks like: {name}",
        count=count,
        certainty="told" if name != "secret" else "inferred (named as a secret, or random)",
        evidence=tuple(evidence),
        fix=fix,
    )


def _in_records(scan: MemoryScan) -> Iterator[tuple[list[str], MemoryEvidence]]:
    for record in scan.records:
        if names := _names(scan.redactor, chain([record.text], _texts(record))):
            yield names, scan.of_record(record)


def _in_events(scan: MemoryScan) -> Iterator[tuple[list[str], MemoryEvidence]]:
    for event in scan.events:
        if names := _names(scan.redactor, _said(event)):
            yield names, scan.of_event(event)


def _names(redactor: Redactor, texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for text in texts for _, _, name, _ in redactor.find(text)))


def _texts(record: MemoryRecord) -> Iterator[str]:
    for key, value in record.metadata.items():
        if not key.startswith("x-loom-"):
            # With its name, so that "password: …" is known as what it is.
            yield from (f"{key}: {each}" for each in (value if isinstance(value, list) else [value]))  # pyright: ignore[reportUnknownVariableType]


def _said(event: MemoryEvent) -> Iterator[str]:
    yield from (each.text for each in event.messages)
    yield from (f"{key}: {value}" for key, value in event.metadata.items())
    yield from (each for each in (event.session_id, event.actor_id) if safe_id(each) != each)
