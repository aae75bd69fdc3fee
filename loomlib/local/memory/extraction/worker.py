"""The extraction process: waits until turns are closed, extracts and consolidates them, and records its progress."""

from __future__ import annotations

import json
import logging
import os
import select
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from loomlib.recovery import full_disk_message, is_full_disk
from loomlib.redaction import Redactor

from ..journal import JournalEntry, Message
from ..records.store import RecordsStore
from .consolidate import Consolidator, RecordTarget
from .model import ExtractionError, ModelExtractor
from .pending import PendingEvents, PendingKey
from .process import ExtractionSettings
from .rules import LABEL, Statement, extract
from .sessions import SessionRecords
from .strategy import Strategy, filled

_log = logging.getLogger(__name__)
_SWEEP_EVERY_S: Final = 60.0
_POLL_EVERY_S: Final = 0.1
_IDLE_S: Final = 5.0
_AFTER_FULL_DISK_S: Final = 1.0
_MOST_EVENT_IDS, _MOST_REASON = 500, 2_000  # of an outcome, so that its line stays below 64 KiB
_IN_BOTH: Final = ("diet", "allergy:", "avoids:")  # facts that are preferences as well


class Extraction:
    """The extraction of one home folder. A turn's records and its progress are stored in one transaction.

    A model is asked before the transaction, because the service cannot write records during it.
    """

    def __init__(self, home: Path, settings: ExtractionSettings) -> None:
        self._settings = settings
        self._store = RecordsStore(home)
        self._pending = PendingEvents(home, self._store.watermark())
        self._consolidator = Consolidator(self._store)
        self._sessions = SessionRecords(self._store, self._consolidator)
        self._outcomes: list[dict[str, Any]] = []
        self._answers: dict[tuple[str, int], list[Statement] | Exception] = {}  # by strategy and first event of a turn
        uses_model = settings.extractor == "model"
        self._model = ModelExtractor(settings.url, settings.access_key, settings.secret_key) if uses_model else None

    def close(self) -> None:
        """Close both files."""
        self._pending.close()
        self._store.close()

    @property
    def idle(self) -> bool:
        """Whether no event that was read is waiting."""
        return self._pending.idle

    def step(self, now_s: float) -> bool:
        """Do the work that is due at `now_s` of a monotonic clock; True if there was any."""
        before = self._pending.last_seq
        while self._pending.read(now_s):
            pass
        worked = self._pending.last_seq != before
        for key, entries in self._pending.due(now_s, self._settings.delay_s):
            worked = True
            existing = self._pending.existing(entries)
            new = [(strategy, self._new(strategy, key, existing)) for strategy in self._pending.strategies(key[0])]
            self._answers.clear()
            for strategy, events in new:
                self._ask_model(strategy, events)
            with self._store.transaction():
                if self._pending.existing(existing) != existing:
                    continue  # events were deleted meanwhile; the next step extracts the others
                for strategy, events in new:
                    if events:
                        self._extract(strategy, key, events)
                self._pending.drop(key, len(entries))
                self._note_watermark()
        if worked:
            self._note_watermark()
        return self._run_queued_jobs() or worked

    def outcomes(self) -> list[dict[str, Any]]:
        """Return the extractions since the last call: the strategy, the session, its events, and any failure."""
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def sweep(self) -> None:
        """Delete expired data, and the data of memories that no longer exist."""
        self._store.sweep()
        rows = self._store.rows("SELECT DISTINCT memory_id FROM changes UNION SELECT memory_id FROM cursors")
        for (memory_id,) in rows:
            if self._pending.memory(memory_id) is None:
                self._store.forget_memory(memory_id)

    def _extract(self, strategy: Strategy, key: PendingKey, new: Sequence[JournalEntry]) -> None:
        with self._store.transaction() as db:
            if reason := self._failure(strategy, new):
                messages = [{"eventId": message.event_id, "messageIndex": message.index} for message in _messages(new)]
                db.execute(
                    "INSERT INTO jobs (job_id, memory_id, actor_id, session_id, strategy_id, messages, status, "
                    "failure_reason, tenant) VALUES (?,?,?,?,?,?,'FAILED',?,?)",
                    (f"job-{uuid.uuid4()}", *key, strategy.id, json.dumps(messages), reason, new[0].tenant),
                )
            db.execute("INSERT OR REPLACE INTO cursors VALUES (?,?,?,?,?)", (*key, strategy.id, new[-1].seq))

    def _new(self, strategy: Strategy, key: PendingKey, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Return those of a session's events that a strategy has not extracted yet."""
        rows = self._store.rows(
            "SELECT last_seq FROM cursors WHERE memory_id=? AND actor_id=? AND session_id=? AND strategy_id=?",
            (*key, strategy.id),
        )
        return [entry for entry in entries if not rows or entry.seq > rows[0][0]]

    def _ask_model(self, strategy: Strategy, entries: Sequence[JournalEntry]) -> None:
        """Ask the model for the statements of a strategy's turns, unless rules extract them."""
        if self._model is None or strategy.kind in ("summary", "episodic"):
            return
        for turn, messages in self._turns(strategy, entries):
            try:
                self._target(strategy, strategy.template, turn[0])  # no request for a turn without a namespace
                self._answers[strategy.id, turn[0].seq] = self._model.extract(strategy, messages)
            except Exception as error:  # noqa: BLE001 - `_statements` raises it
                self._answers[strategy.id, turn[0].seq] = error
                return

    def _failure(self, strategy: Strategy, entries: Sequence[JournalEntry]) -> str:
        """Extract events; return why it failed, or an empty text. A failed extraction writes nothing."""
        reason = ""
        try:
            with self._store.savepoint():
                self._write(strategy, entries)
        except ExtractionError as error:
            reason = str(error)
        except KeyError as error:
            is_records = not strategy.reflection_template or f"{{{error.args[0]}}}" in strategy.template
            template = strategy.template if is_records else strategy.reflection_template
            reason = f"The namespace template {template} has a variable that the events do not set: {error}"
        except Exception as error:
            if is_full_disk(error):
                raise  # the turn itself is valid: it is extracted once there is space
            _log.exception("A turn could not be extracted")
            reason = f"{type(error).__name__} in the extractor"
        self._note(strategy, entries, reason)
        return reason

    def _note(self, strategy: Strategy, entries: Sequence[JournalEntry], reason: str) -> None:
        first = entries[0]
        try:
            namespace = filled(strategy.template, strategy.id, first.actor_id, first.session_id, first.variables)
        except KeyError:
            namespace = strategy.template
        event_ids = list(dict.fromkeys(message.event_id for message in _messages(entries)))
        self._outcomes.append(
            {
                "memory_id": first.memory_id,
                "strategy_id": strategy.id,
                "namespace": namespace,
                "actor_id": first.actor_id,
                "session_id": first.session_id,
                "event_ids": event_ids[-_MOST_EVENT_IDS:],
                "failure": reason[:_MOST_REASON],
            }
        )

    def _write(self, strategy: Strategy, entries: Sequence[JournalEntry]) -> None:
        for turn, messages in self._turns(strategy, entries):
            first, moment = turn[0], turn[-1].timestamp_ms
            target = self._target(strategy, strategy.template, first)
            if strategy.kind == "summary":
                self._sessions.summarize(target, first.session_id, messages, moment)
            elif strategy.kind == "episodic":
                template = strategy.reflection_template
                reflection = self._target(strategy, template, first) if template else None
                self._sessions.record_episode(target, reflection, first.session_id, messages, moment)
            else:
                as_json = strategy.kind == "preference"
                for event_ids, statements in self._statements(strategy, first, messages):
                    self._consolidator.apply(target, statements, event_ids, moment, as_json=as_json)

    def _turns(
        self, strategy: Strategy, entries: Sequence[JournalEntry]
    ) -> Iterator[tuple[list[JournalEntry], list[Message]]]:
        """Iterate over groups of events that set the same variables, with the messages that a strategy reads."""
        for _, group in groupby(entries, key=lambda entry: entry.variables):
            turn = list(group)
            messages = _messages(turn)
            yield turn, _redacted(messages) if self._pending.redacts(turn[0].memory_id, strategy) else messages

    def _target(self, strategy: Strategy, template: str, first: JournalEntry) -> RecordTarget:
        if self._model is None or strategy.kind in ("summary", "episodic"):
            label = LABEL
        else:
            label = "model extractor (simulated)" if self._settings.simulated else "model extractor"
        return RecordTarget(
            memory_id=first.memory_id,
            namespace=filled(template, strategy.id, first.actor_id, first.session_id, first.variables),
            strategy_id=strategy.id,
            expiry_days=strategy.expiry_days,
            label=label,
            tenant=first.tenant,
        )

    def _statements(
        self, strategy: Strategy, first: JournalEntry, messages: Sequence[Message]
    ) -> Iterator[tuple[Sequence[str], list[Statement]]]:
        if self._model is not None:
            event_ids = list(dict.fromkeys(message.event_id for message in messages))
            answer = self._answers[strategy.id, first.seq]
            if isinstance(answer, Exception):
                raise answer
            yield event_ids, _statements_for(strategy, answer)
            return
        for message in messages:
            if message.role == "USER":
                yield (message.event_id,), _statements_for(strategy, extract(message.text))

    def _run_queued_jobs(self) -> bool:
        jobs = self._store.rows(
            "SELECT job_id, memory_id, strategy_id, messages FROM jobs WHERE status='QUEUED' ORDER BY seq"
        )
        for job_id, memory_id, strategy_id, messages in jobs:
            strategies = {strategy.id: strategy for strategy in self._pending.strategies(memory_id)}
            event_ids = list(dict.fromkeys(message["eventId"] for message in json.loads(messages)))
            entries = self._pending.find(memory_id, event_ids)
            self._answers.clear()
            if strategy_id in strategies:
                self._ask_model(strategies[strategy_id], entries)
            with self._store.transaction() as db:
                if self._pending.existing(entries) != entries:
                    continue  # events were deleted meanwhile; the next step extracts the others
                possible = strategy_id in strategies and entries
                if reason := self._failure(strategies[strategy_id], entries) if possible else "":
                    db.execute("UPDATE jobs SET status='FAILED', failure_reason=? WHERE job_id=?", (reason, job_id))
                else:
                    db.execute("DELETE FROM jobs WHERE job_id=?", (job_id,))
        return bool(jobs)

    def _note_watermark(self) -> None:
        with self._store.transaction() as db:
            db.execute("INSERT OR REPLACE INTO watermark VALUES (1, ?)", (self._pending.watermark,))


def run(home: Path, settings: ExtractionSettings) -> None:
    """Extract until standard input ends; a byte on it means that there may be new events. Outcomes go to the output.

    While the disk is full, it tries again every second, from what was stored last.

    Args:
        home: The home folder of the service.
        settings: How to extract.
    """
    reported_s = float("-inf")
    while True:
        try:
            extraction = Extraction(home, settings)
            try:
                _extract_until_closed(extraction, settings)
            finally:
                extraction.close()
            return
        except Exception as error:
            if not is_full_disk(error):
                raise
            if time.monotonic() - reported_s > _SWEEP_EVERY_S:
                _log.error("Extraction is paused: %s", full_disk_message(home))
                reported_s = time.monotonic()
            if _is_closed(_AFTER_FULL_DISK_S):
                return


def _extract_until_closed(extraction: Extraction, settings: ExtractionSettings) -> None:
    swept_s = float("-inf")
    while True:
        now_s = time.monotonic()
        if now_s - swept_s > _SWEEP_EVERY_S:
            extraction.sweep()
            swept_s = now_s
        extraction.step(now_s)
        for outcome in extraction.outcomes():
            sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()
        if _is_closed(_IDLE_S if extraction.idle else min(_POLL_EVERY_S, max(settings.delay_s / 4, 0.01))):
            return


def _is_closed(within_s: float) -> bool:
    """Wait for input on standard input; return whether it has ended."""
    return bool(select.select([0], [], [], within_s)[0]) and not os.read(0, 65_536)


def _messages(entries: Sequence[JournalEntry]) -> list[Message]:
    return [message for entry in entries for message in entry.messages]


_REDACTOR: Final = Redactor(numbered=False)  # records of several sessions meet in one namespace


def _redacted(messages: Sequence[Message]) -> list[Message]:
    return [replace(message, text=_REDACTOR.redact(message.text).text) for message in messages]


def _statements_for(strategy: Strategy, statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements that a strategy extracts: all for a semantic one, preferences for a preference one."""
    if strategy.kind == "semantic":
        return list(statements)
    return [
        statement for statement in statements if statement.kind == "preference" or statement.slot.startswith(_IN_BOTH)
    ]
