"""Consolidation: new statements create, update, replace or delete existing records."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from loomlib.embeddings import embed

from ..records.store import LongTermRecord, RecordsStore, Scope, now_ms
from .rules import Statement
from .text import normal

_SAME_ABOVE: Final = 0.93
"""Cosine from which two texts count as equal; paraphrases start at 0.85 with wordllama's vectors."""
_COMPARED: Final = 200
_DAY_MS: Final = 86_400_000
_MOST_SOURCES: Final = 5
"""Source events in a record's metadata: as many strings as a metadata list holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTarget:
    """The target of new records.

    Attributes:
        memory_id: The memory.
        namespace: The namespace of the records.
        strategy_id: Their strategy.
        expiry_days: After how many days they expire; None if they do not.
        label: Provenance label that says which extractor wrote them.
        tenant: The tenant of the records, which are consolidated only with its own records; empty for none.
    """

    memory_id: str
    namespace: str
    strategy_id: str
    expiry_days: int | None
    label: str
    tenant: str = ""


class Consolidator:
    """Writes into the store; the caller's transaction makes the changes of a turn atomic."""

    def __init__(self, store: RecordsStore) -> None:
        self._store = store

    def apply(
        self,
        target: RecordTarget,
        statements: Iterable[Statement],
        event_ids: Sequence[str],
        timestamp_ms: int,
        *,
        as_json: bool,
    ) -> None:
        """Merge statements into the records.

        Args:
            target: Where to write.
            statements: The statements that the user made or retracted.
            event_ids: The events that hold the statements.
            timestamp_ms: When they were made, in unix milliseconds.
            as_json: Write the content as JSON, the form of AWS's preference records.
        """
        for statement in statements:
            if statement.retracts:
                self._retract(target, statement)
                continue
            record = self._existing_record(target, statement)
            if record is not None and (record.slot is None or normal(record.value or "") == normal(statement.value)):
                # Stated again: the record keeps its text and gets one more source event.
                slot, value = record.slot or statement.slot, record.value or statement.value
                vector = self._store.vector(record.record_id)
                self.write(target, record, slot, record.text, vector, event_ids, timestamp_ms, value=value)
                continue
            # Another value: the former events are not its sources.
            former = record and replace(record, source_event_ids=())
            vector = embed([statement.text])[0].tobytes()
            text = _content(statement, as_json)
            self.write(target, former, statement.slot, text, vector, event_ids, timestamp_ms, value=statement.value)

    def write(
        self,
        target: RecordTarget,
        former: LongTermRecord | None,
        slot: str,
        text: str,
        vector: bytes,
        event_ids: Sequence[str],
        timestamp_ms: int,
        *,
        value: str = "",
        state: Mapping[str, Any] | None = None,
    ) -> str:
        """Create a record, or change `former`.

        Args:
            target: Where to write.
            former: The record to change; None to create one.
            slot: The subject of the record.
            text: Its content.
            vector: The vector of its content.
            event_ids: Source events, added to those of `former`.
            timestamp_ms: When it was stated, in unix milliseconds.
            value: The value of the slot.
            state: The extractor's state for updating the record later.

        Returns:
            The id of the record.
        """
        sources = tuple(dict.fromkeys((*(former.source_event_ids if former else ()), *event_ids)))
        provenance = {
            "x-loom-extractor": {"stringValue": target.label},
            "x-loom-source-events": {
                "stringListValue": [shown_event_id(event_id) for event_id in sources[-_MOST_SOURCES:]]
            },
        }
        moment = now_ms()
        record = LongTermRecord(
            record_id=former.record_id if former else f"mem-{uuid.uuid4()}",
            namespace=target.namespace,
            strategy_id=target.strategy_id,
            text=text,
            created_at=former.created_at if former else moment,
            updated_at=timestamp_ms,
            metadata={**(former.metadata if former else {}), **provenance},
            expires_at=None if target.expiry_days is None else moment + target.expiry_days * _DAY_MS,
            source_event_ids=sources,
            slot=slot,
            value=value,
            state=state,
            tenant=target.tenant,
        )
        self._store.put(target.memory_id, record, vector)
        return record.record_id

    def _in_slot(self, target: RecordTarget, slot: str) -> list[LongTermRecord]:
        return self._store.in_slot(target.memory_id, target.namespace, target.strategy_id, slot, tenant=target.tenant)

    def _retract(self, target: RecordTarget, statement: Statement) -> None:
        any_value = not statement.value or statement.slot.endswith(":*")
        for record in self._in_slot(target, statement.slot):
            if any_value or _is_alike(record.value or "", statement.value):
                self._store.remove(target.memory_id, record.record_id)
        if statement.text and (by_hand := self._same_by_hand(target, statement.text)):
            self._store.remove(target.memory_id, by_hand.record_id)

    def _existing_record(self, target: RecordTarget, statement: Statement) -> LongTermRecord | None:
        of_slot = self._in_slot(target, statement.slot)
        return of_slot[0] if of_slot else self._same_by_hand(target, statement.text)

    def _same_by_hand(self, target: RecordTarget, text: str) -> LongTermRecord | None:
        """Find a record without a slot (written by BatchCreateMemoryRecords) whose text means the same."""
        scope = Scope(target.namespace, tenant=target.tenant)
        newest = self._store.newest_first(target.memory_id, scope, strategy_id=target.strategy_id, limit=_COMPARED)
        by_hand = [record for record in newest if record.slot is None]
        if not by_hand:
            return None
        scores = embed([record.text for record in by_hand]) @ embed([text])[0]
        best = int(np.argmax(scores))
        return by_hand[best] if scores[best] >= _SAME_ABOVE else None


def shown_event_id(event_id: str) -> str:
    """Return an event id as metadata can hold it, with ":" for "#", which is not allowed there."""
    return event_id.replace("#", ":")


def _is_alike(a: str, b: str) -> bool:
    """Whether a retracted value is the known one, or one contains the other ("Acme", "Acme Corp")."""
    first, second = set(normal(a).split()), set(normal(b).split())
    return bool(first and second) and (first <= second or second <= first)


def _content(statement: Statement, as_json: bool) -> str:
    if not as_json:
        return statement.text
    content = {
        "context": "The user said so in conversation.",
        "preference": statement.text,
        "categories": [statement.category],
    }
    return json.dumps(content, ensure_ascii=False)
