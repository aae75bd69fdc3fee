"""A memory under study, over AgentCore Memory: the operations that agents use, the same locally and on AWS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loomlib.aws.memory_shapes import MemoryEvent, MemoryRecord
from loomlib.aws.memory_writing import create_event
from loomlib.errors import StudyError
from loomlib.memory import MemoryReader

from .ports import Saying

SUMMARY: Final = "SUMMARIZATION"
_NOT_FACTS: Final = (SUMMARY, "EPISODIC")
_MOST_RECORDS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAccess:
    """One memory. Facts are what its strategies extract into namespaces of an actor, summaries and episodes apart."""

    reader: MemoryReader

    def tell(self, saying: Saying) -> None:
        """CreateEvent, with the token by which AWS knows a repetition."""
        said = (("USER", saying.said), ("ASSISTANT", saying.answered))
        asked = {
            "memoryId": self.reader.memory.memory_id,
            "actorId": saying.actor,
            "sessionId": saying.session,
            "eventTimestamp": saying.at,
            "payload": [{"conversational": {"role": role, "content": {"text": text}}} for role, text in said],
            "clientToken": saying.token,
        }
        create_event(self.reader.clients, asked, region=self.reader.memory.region)

    def messages(self, actor: str, sessions: Sequence[str], *, last: int | None = None) -> list[str]:
        """ListEvents, from the newest session back until there are enough."""
        newest_first: list[str] = []
        for session in reversed(sessions):
            if last is not None and len(newest_first) >= last:
                break
            room = None if last is None else last - len(newest_first)
            events = self.reader.events(actor, session=session, limit=room)
            newest_first += [text for event in events for text in reversed(_texts(event))]
        return newest_first[:last][::-1]

    def search(self, actor: str, query: str, top_k: int) -> list[str]:
        """RetrieveMemoryRecords, once for each namespace of facts."""
        best: dict[str, MemoryRecord] = {}
        for template in self._templates():
            for record in self.reader.search(query, template, actor=actor, top_k=top_k):
                best.setdefault(record.record_id, record)
        ranked = sorted(best.values(), key=lambda each: -(each.score or 0.0))
        return [each.text for each in ranked[:top_k]]

    def records(self, actor: str) -> list[str]:
        """ListMemoryRecords of the same namespaces."""
        return [
            record.text
            for template in self._templates()
            for record in self.reader.records(template, actor=actor, limit=_MOST_RECORDS)
        ]

    def summaries(self, actor: str) -> list[str]:
        """The summary strategy's records, oldest first."""
        found = [
            record
            for strategy in self.reader.memory.strategies
            if strategy.type == SUMMARY
            for template in strategy.namespaces
            for record in self.reader.records(template, actor=actor, limit=_MOST_RECORDS)
        ]
        return [each.text for each in sorted(found, key=lambda each: each.updated_at or each.created_at)]

    def check(self, *, facts: bool, summaries: bool) -> None:
        """Raises `StudyError` when the memory has no strategy for what is to be studied."""
        types = {each.type for each in self.reader.memory.strategies}
        name = self.reader.memory.name
        if facts and not self._templates():
            raise StudyError(
                "The memory extracts nothing about an actor, so nothing can be recalled",
                on=name,
                try_='bench.memories.create(name, strategies=["semantic", "preferences", "summary"])',
            )
        if summaries and SUMMARY not in types:
            raise StudyError(
                "The memory writes no summaries, which a summarizing context needs",
                on=name,
                try_='another memory with strategies=["summary", …], or arms without summarizing',
            )

    def _templates(self) -> list[str]:
        found = (
            template
            for strategy in self.reader.memory.strategies
            if strategy.type not in _NOT_FACTS
            for template in strategy.namespaces
            if "{actorId}" in template
        )
        return list(dict.fromkeys(found))


def _texts(event: MemoryEvent) -> list[str]:
    return [each.text for each in event.messages]
