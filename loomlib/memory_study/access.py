"""Access to the memory under study through AgentCore Memory's API, locally or on AWS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loomlib.aws.memory_shapes import MemoryRecord
from loomlib.aws.memory_writing import create_event
from loomlib.errors import StudyError
from loomlib.memory import MemoryReader

from .subjects import NewEvent

SUMMARY: Final = "SUMMARIZATION"
_NOT_FACTS: Final = (SUMMARY, "EPISODIC")
_MOST_RECORDS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAccess:
    """One memory. Facts are the records of all its strategies for an actor, except summaries and episodes."""

    reader: MemoryReader

    def write(self, event: NewEvent) -> None:
        """Call CreateEvent with a client token, so that a repeated call has no effect."""
        messages = (("USER", event.text), ("ASSISTANT", event.reply))
        request = {
            "memoryId": self.reader.memory.memory_id,
            "actorId": event.actor,
            "sessionId": event.session,
            "eventTimestamp": event.at,
            "payload": [{"conversational": {"role": role, "content": {"text": text}}} for role, text in messages],
            "clientToken": event.token,
        }
        create_event(self.reader.clients, request, region=self.reader.memory.region)

    def messages(self, actor: str, sessions: Sequence[str], *, last: int | None = None) -> list[str]:
        """Call ListEvents, from the newest session backwards, until there are enough messages.

        Args:
            actor: The actor.
            sessions: Sessions, oldest first.
            last: Number of messages; None for all.
        """
        newest_first: list[str] = []
        for session in reversed(sessions):
            if last is not None and len(newest_first) >= last:
                break
            limit = None if last is None else last - len(newest_first)
            for event in self.reader.events(actor, session=session, limit=limit):
                newest_first += [message.text for message in reversed(event.messages)]
        return newest_first[:last][::-1]

    def search(self, actor: str, query: str, top_k: int) -> list[str]:
        """Call RetrieveMemoryRecords, once for each namespace of facts.

        Args:
            actor: The actor.
            query: The search query.
            top_k: Number of records.
        """
        best: dict[str, MemoryRecord] = {}
        for namespace in self._namespaces():
            for record in self.reader.search(query, namespace, actor=actor, top_k=top_k):
                best.setdefault(record.record_id, record)
        ranked = sorted(best.values(), key=lambda record: -(record.score or 0.0))
        return [record.text for record in ranked[:top_k]]

    def records(self, actor: str) -> list[str]:
        """Call ListMemoryRecords for the same namespaces."""
        return [record.text for namespace in self._namespaces() for record in self._listed(namespace, actor)]

    def summaries(self, actor: str) -> list[str]:
        """Return the summary strategy's records, oldest first."""
        records = [
            record
            for strategy in self.reader.memory.strategies
            if strategy.type == SUMMARY
            for namespace in strategy.namespaces
            for record in self._listed(namespace, actor)
        ]
        return [record.text for record in sorted(records, key=lambda record: record.updated_at or record.created_at)]

    def check(self, *, facts: bool, summaries: bool) -> None:
        """Raise `StudyError` when the memory lacks a strategy that the study needs.

        Args:
            facts: Whether the study searches for facts.
            summaries: Whether it needs summaries.
        """
        name = self.reader.memory.name
        if facts and not self._namespaces():
            raise StudyError(
                "The memory has no strategy that extracts facts about an actor, so nothing can be recalled",
                on=name,
                try_='bench.memories.create(name, strategies=["semantic", "preferences", "summary"])',
            )
        if summaries and SUMMARY not in {strategy.type for strategy in self.reader.memory.strategies}:
            raise StudyError(
                "The memory writes no summaries, which a summarizing context needs",
                on=name,
                try_='another memory with strategies=["summary", …], or arms without summarizing',
            )

    def _listed(self, namespace: str, actor: str) -> Sequence[MemoryRecord]:
        return list(self.reader.records(namespace, actor=actor, limit=_MOST_RECORDS))

    def _namespaces(self) -> list[str]:
        namespaces = (
            namespace
            for strategy in self.reader.memory.strategies
            if strategy.type not in _NOT_FACTS
            for namespace in strategy.namespaces
            if "{actorId}" in namespace
        )
        return list(dict.fromkeys(namespaces))
