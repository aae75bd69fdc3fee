"""The extracting process: waits for turns to close, extracts, consolidates, and notes how far it has come."""

from __future__ import annotations

import json
import logging
import os
import select
import time
import uuid
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from loomlib.local.memory.records_store import RecordsStore

from .consolidate import Consolidator, Place
from .journal import Journal, SessionKey
from .messages import Event, Message
from .model import ModelExtractor, ModelFailed
from .namespaces import Strategy, filled
from .rules import LABEL, extract
from .sessions import SessionRecords
from .settings import ExtractionSettings
from .statement import Statement

_log = logging.getLogger(__name__)
_SWEPT_EVERY_S: Final = 60.0
_LOOKED_EVERY_S: Final = 0.1
_RESTED_S: Final = 5.0
_IN_BOTH: Final = ("diet", "allergy:", "avoids:")  # facts that are preferences, too


class Extraction:
    """One home's extraction. Everything that a turn brings and the note that it is done are one transaction."""

    def __init__(self, home: Path, settings: ExtractionSettings) -> None:
        self._settings = settings
        self._store = RecordsStore(home)
        self._journal = Journal(home, self._store.watermark())
        self._consolidator = Consolidator(self._store)
        self._sessions = SessionRecords(self._store, self._consolidator)
        asks = settings.extractor == "model"
        self._model = ModelExtractor(settings.url, settings.access_key) if asks else None

    def close(self) -> None:
        self._journal.close()
        self._store.close()

    @property
    def idle(self) -> bool:
        """Whether nothing waits that was seen."""
        return self._journal.idle

    def step(self, now_s: float) -> bool:
        """Do what is due at `now_s` of a monotonic clock; whether there was anything."""
        before = self._journal.seen
        while self._journal.read(now_s):
            pass
        worked = self._journal.seen != before
        for key, events in self._journal.due(now_s, self._settings.delay_s):
            worked = True
            with self._store.transaction():
                for strategy in self._journal.strategies(key[0]):
                    self._extract(strategy, key, events)
                self._journal.done(key, len(events))
                self._note_watermark()
        if worked:
            self._note_watermark()
        return self._run_queued_jobs() or worked

    def sweep(self) -> None:
        """Delete what expired and what belongs to memories that no longer exist."""
        self._store.sweep()
        with self._store.reading() as db:
            kept = [
                row[0]
                for row in db.execute("SELECT DISTINCT memory_id FROM changes UNION SELECT memory_id FROM cursors")
            ]
        for memory_id in kept:
            if self._journal.memory(memory_id) is None:
                self._store.forget_memory(memory_id)

    def _extract(self, strategy: Strategy, key: SessionKey, events: Sequence[Event]) -> None:
        with self._store.transaction() as db:
            row = db.execute(
                "SELECT last_seq FROM cursors WHERE memory_id=? AND actor_id=? AND session_id=? AND strategy_id=?",
                (*key, strategy.id),
            ).fetchone()
            new = [event for event in events if row is None or event.seq > row[0]]
            if not new:
                return
            reason = self._tried(strategy, new)
            if reason:
                _note_job(db, key, strategy, new, reason)
            db.execute("INSERT OR REPLACE INTO cursors VALUES (?,?,?,?,?)", (*key, strategy.id, new[-1].seq))

    def _tried(self, strategy: Strategy, events: Sequence[Event]) -> str:
        """Extract these events; why it failed, or an empty text. What failed has written nothing."""
        try:
            with self._savepoint():
                self._write(strategy, events)
        except ModelFailed as error:
            return str(error)
        except KeyError as error:
            return f"The namespace template {strategy.template} has a variable that the events do not fill: {error}"
        except Exception as error:  # noqa: BLE001 - one turn that cannot be read must not end all extraction
            _log.exception("A turn could not be extracted")
            return f"{type(error).__name__} in the extractor"
        return ""

    def _write(self, strategy: Strategy, events: Sequence[Event]) -> None:
        for event in _by_variables(events):
            first, messages, moment = event[0], _messages(event), event[-1].timestamp_ms

            def place(template: str, first: Event = first) -> Place:
                return Place(
                    memory_id=first.memory_id,
                    namespace=filled(template, strategy.id, first.actor_id, first.session_id, first.variables),
                    strategy_id=strategy.id,
                    expiry_days=strategy.expiry_days,
                    label=self._label(strategy),
                )

            here = place(strategy.template)
            if strategy.kind == "summary":
                self._sessions.summarize(here, first.session_id, messages, moment)
            elif strategy.kind == "episodic":
                reflection = place(strategy.reflection_template) if strategy.reflection_template else None
                self._sessions.remember_episode(here, reflection, first.session_id, messages, moment)
            else:
                for event_ids, statements in self._statements(strategy, messages):
                    as_json = strategy.kind == "preference"
                    self._consolidator.apply(here, statements, event_ids, moment, as_json=as_json)

    def _label(self, strategy: Strategy) -> str:
        if self._model is None or strategy.kind in ("summary", "episodic"):
            return LABEL
        return "model extractor (simulated)" if self._settings.simulated else "model extractor"

    def _statements(
        self, strategy: Strategy, messages: Sequence[Message]
    ) -> Iterator[tuple[Sequence[str], list[Statement]]]:
        if self._model is not None:
            yield (
                list(dict.fromkeys(each.event_id for each in messages)),
                _wanted(strategy, self._model.extract(strategy, messages)),
            )
            return
        for message in messages:
            if message.role == "USER":
                yield (message.event_id,), _wanted(strategy, extract(message.text))

    def _run_queued_jobs(self) -> bool:
        with self._store.reading() as db:
            jobs = db.execute(
                "SELECT job_id, memory_id, strategy_id, messages FROM jobs WHERE status='QUEUED' ORDER BY seq"
            ).fetchall()
        for job_id, memory_id, strategy_id, messages in jobs:
            known = {each.id: each for each in self._journal.strategies(memory_id)}
            wanted = list(dict.fromkeys(each["eventId"] for each in json.loads(messages)))
            events = self._journal.events(memory_id, wanted)
            with self._store.transaction() as db:
                reason = self._tried(known[strategy_id], events) if strategy_id in known and events else ""
                if reason:
                    db.execute("UPDATE jobs SET status='FAILED', failure_reason=? WHERE job_id=?", (reason, job_id))
                else:
                    db.execute("DELETE FROM jobs WHERE job_id=?", (job_id,))
        return bool(jobs)

    def _note_watermark(self) -> None:
        with self._store.transaction() as db:
            db.execute("INSERT OR REPLACE INTO watermark VALUES (1, ?)", (self._journal.watermark,))

    @contextmanager
    def _savepoint(self) -> Generator[None]:
        with self._store.transaction() as db:
            db.execute("SAVEPOINT tried")
            try:
                yield
            except BaseException:
                db.execute("ROLLBACK TO tried")
                raise
            finally:
                db.execute("RELEASE tried")


def run(home: Path, settings: ExtractionSettings) -> None:
    """Extract until standard input ends. A byte on it says that there may be something new."""
    extraction = Extraction(home, settings)
    swept_s = float("-inf")
    try:
        while True:
            now_s = time.monotonic()
            if now_s - swept_s > _SWEPT_EVERY_S:
                extraction.sweep()
                swept_s = now_s
            extraction.step(now_s)
            wait_s = min(_LOOKED_EVERY_S, max(settings.delay_s / 4, 0.01)) if not extraction.idle else _RESTED_S
            if select.select([0], [], [], wait_s)[0] and not os.read(0, 65_536):
                return
    finally:
        extraction.close()


def _messages(events: Sequence[Event]) -> list[Message]:
    return [message for event in events for message in event.messages]


def _by_variables(events: Sequence[Event]) -> list[list[Event]]:
    """Events in runs that fill a namespace template alike."""
    runs: list[list[Event]] = []
    for event in events:
        if runs and runs[-1][0].variables == event.variables:
            runs[-1].append(event)
        else:
            runs.append([event])
    return runs


def _wanted(strategy: Strategy, statements: Sequence[Statement]) -> list[Statement]:
    """A preference strategy keeps preferences only; a semantic one all that was stated."""
    if strategy.kind == "semantic":
        return list(statements)
    return [each for each in statements if each.kind == "preference" or each.slot.startswith(_IN_BOTH)]


def _note_job(db: Any, key: SessionKey, strategy: Strategy, events: Sequence[Event], reason: str) -> None:
    told = [{"eventId": each.event_id, "messageIndex": each.index} for each in _messages(events)]
    db.execute(
        "INSERT INTO jobs (job_id, memory_id, actor_id, session_id, strategy_id, messages, status, failure_reason) "
        "VALUES (?,?,?,?,?,?,'FAILED',?)",
        (f"job-{uuid.uuid4()}", *key, strategy.id, json.dumps(told), reason),
    )
