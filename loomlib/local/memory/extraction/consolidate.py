"""What is new put together with what is known: created, merged, replaced, or deleted on contradiction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from loomlib.embeddings import embed
from loomlib.local.memory.records_store import Record, RecordsStore, Scope, now_ms

from .statement import Statement
from .values import normal

_SAME_ABOVE: Final = 0.93
"""Cosine from which two texts say the same; of wordllama's vectors, paraphrases lie from 0.85 upwards."""
_COMPARED: Final = 200
_DAY_MS: Final = 86_400_000
_TOLD_SOURCES: Final = 5  # as many strings as a metadata list holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where records go, whose they are and from when: `label` says who extracted."""

    memory_id: str
    namespace: str
    strategy_id: str
    expiry_days: int | None
    label: str


class Consolidator:
    """Writes into the store; the caller's transaction makes a turn's changes one."""

    def __init__(self, store: RecordsStore) -> None:
        self._store = store

    def apply(
        self,
        place: Place,
        statements: Iterable[Statement],
        event_ids: Sequence[str],
        timestamp_ms: int,
        *,
        as_json: bool,
    ) -> None:
        """Bring `statements`, made in these events, into the place. `as_json` is the form of AWS's preferences."""
        for each in statements:
            if each.retracts:
                self._retract(place, each)
                continue
            known = self._known(place, each)
            vector: bytes = embed([each.text])[0].tobytes()
            if known is None:
                text = _text(each, as_json)
                self.write(place, None, each.slot, text, vector, event_ids, timestamp_ms, value=each.value)
            elif normal(known.value or "") == normal(each.value) or known.slot is None:
                # Said again: the record stays as it is, and knows one more event.
                slot, value = known.slot or each.slot, known.value or each.value
                vector = self._store.vector(known.record_id)
                self.write(place, known, slot, known.text, vector, event_ids, timestamp_ms, value=value)
            else:
                # Another value: the former one's events tell nothing of this one.
                former, text = replace(known, source_event_ids=()), _text(each, as_json)
                self.write(place, former, each.slot, text, vector, event_ids, timestamp_ms, value=each.value)

    def write(
        self,
        place: Place,
        known: Record | None,
        slot: str,
        text: str,
        vector: bytes,
        event_ids: Sequence[str],
        timestamp_ms: int,
        *,
        value: str = "",
        state: Mapping[str, Any] | None = None,
    ) -> str:
        """Create a record or change `known` into this; its id."""
        sources = tuple(dict.fromkeys((*(known.source_event_ids if known else ()), *event_ids)))
        told = {
            "x-loom-extractor": {"stringValue": place.label},
            "x-loom-source-events": {"stringListValue": [told_event(each) for each in sources[-_TOLD_SOURCES:]]},
        }
        moment = now_ms()
        expires_at = None if place.expiry_days is None else moment + place.expiry_days * _DAY_MS
        record = Record(
            record_id=known.record_id if known else f"mem-{uuid.uuid4()}",
            namespace=place.namespace,
            strategy_id=place.strategy_id,
            text=text,
            created_at=known.created_at if known else moment,
            updated_at=timestamp_ms,
            metadata={**(known.metadata if known else {}), **told},
            expires_at=expires_at,
            source_event_ids=sources,
            slot=slot,
            value=value,
            state=state,
        )
        self._store.put(place.memory_id, record, vector)
        return record.record_id

    def _retract(self, place: Place, each: Statement) -> None:
        for known in self._store.in_slot(place.memory_id, place.namespace, place.strategy_id, each.slot):
            if not each.value or each.slot.endswith(":*") or _alike(known.value or "", each.value):
                self._store.remove(place.memory_id, known.record_id)
        if each.text and (by_hand := self._same_by_hand(place, each.text)):
            self._store.remove(place.memory_id, by_hand.record_id)

    def _known(self, place: Place, each: Statement) -> Record | None:
        of_slot = self._store.in_slot(place.memory_id, place.namespace, place.strategy_id, each.slot)
        return of_slot[0] if of_slot else self._same_by_hand(place, each.text)

    def _same_by_hand(self, place: Place, text: str) -> Record | None:
        """A record without a slot (written by BatchCreateMemoryRecords) that says the same."""
        newest = self._store.newest_first(
            place.memory_id, Scope(place.namespace), strategy_id=place.strategy_id, limit=_COMPARED
        )
        by_hand = [known for known in newest if known.slot is None]
        if not by_hand:
            return None
        scores = embed([known.text for known in by_hand]) @ embed([text])[0]
        best = int(np.argmax(scores))
        return by_hand[best] if scores[best] >= _SAME_ABOVE else None


def told_event(event_id: str) -> str:
    """An event's id as a record's metadata can hold it: the character "#" is not among those allowed, ":" is."""
    return event_id.replace("#", ":")


def _alike(a: str, b: str) -> bool:
    """Whether a value taken back is the one known: the same, or the one within the other ("Acme", "Acme Corp")."""
    first, second = set(normal(a).split()), set(normal(b).split())
    return bool(first and second) and (first <= second or second <= first)


def _text(each: Statement, as_json: bool) -> str:
    if not as_json:
        return each.text
    words = {"context": "The user said so in conversation.", "preference": each.text, "categories": [each.category]}
    return json.dumps(words, ensure_ascii=False)
