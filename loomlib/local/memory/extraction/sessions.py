"""Records about whole sessions: summaries, episodes, and reflections on episodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from loomlib.embeddings import embed

from ..journal import Message
from ..records.store import LongTermRecord, RecordsStore, Scope
from .consolidate import Consolidator, RecordTarget
from .english import pattern
from .rules import extract
from .text import sentences

_MOST_POINTS: Final = 16
_POINT_CHARACTERS: Final = 280
_ALIKE_ABOVE: Final = 0.5
_EPISODES: Final = 200
_MOST_SHOWN: Final = 5


class SessionRecords:
    """Writes one record for each session and strategy, and rewrites it with every turn."""

    def __init__(self, store: RecordsStore, consolidator: Consolidator) -> None:
        self._store, self._consolidator = store, consolidator

    def summarize(self, target: RecordTarget, session_id: str, messages: Sequence[Message], timestamp_ms: int) -> None:
        """Merge a turn into the summary of its session, in AWS's form: `<topic name="…">…</topic>`.

        Args:
            target: Where to write.
            session_id: The session.
            messages: The messages of the turn.
            timestamp_ms: When the turn ended, in unix milliseconds.
        """
        slot = f"summary:{session_id}"
        record = self._existing_record(target, slot)
        state: dict[str, Any] = dict((record.state if record else None) or {"topic": "", "points": []})
        points: list[list[Any]] = [*state["points"], *(point for message in messages for point in _points(message))]
        while len(points) > _MOST_POINTS:
            points.remove(min(points, key=lambda point: point[0]))  # the oldest of equals
        if not points:
            return
        state = {"topic": state["topic"] or _topic(messages), "points": points}
        lines = "\n".join(escape(text) for _, text in points)
        text = f"<topic name={quoteattr(state['topic'])}>\n{lines}\n</topic>"
        content = f"{state['topic']} {' '.join(text for _, text in points)}"
        vector: bytes = embed([content])[0].tobytes()
        self._consolidator.write(target, record, slot, text, vector, _sources(messages), timestamp_ms, state=state)

    def record_episode(
        self,
        target: RecordTarget,
        reflection: RecordTarget | None,
        session_id: str,
        messages: Sequence[Message],
        timestamp_ms: int,
    ) -> None:
        """Merge a turn into the episode of its session, and similar episodes into a reflection.

        Args:
            target: Where to write the episode.
            reflection: Where to write the reflection; None to write none.
            session_id: The session.
            messages: The messages of the turn.
            timestamp_ms: When the turn ended, in unix milliseconds.
        """
        slot = f"episode:{session_id}"
        record = self._existing_record(target, slot)
        former_state: Mapping[str, Any] = (record.state if record else None) or {}
        user = [message.text for message in messages if message.role == "USER"]
        situation = former_state.get("situation") or (_intent(user[0]) if user else "")
        if not situation:
            return
        actions = [
            *former_state.get("actions", ()),
            *(_first(m.text) for m in messages if m.role in ("ASSISTANT", "TOOL")),
        ][-_MOST_POINTS:]
        outcome = former_state.get("outcome", "open")
        for text in user:
            if pattern("failed").search(text):
                outcome = "failed"
            elif pattern("thanks").search(text):
                outcome = "succeeded"
        state = {
            "situation": situation,
            "actions": actions,
            "outcome": outcome,
            "reflected": reflection.namespace if reflection else "",
        }
        episode = {
            "situation": situation,
            "intent": _first(user[0]) if user and not former_state else former_state.get("intent", situation),
            "turns": [{"action": action} for action in actions],
            "assessment": {"succeeded": "Yes", "failed": "No"}.get(outcome, "Unknown"),
        }
        state["intent"] = episode["intent"]
        vector: bytes = embed([situation])[0].tobytes()
        text = json.dumps(episode, ensure_ascii=False)
        self._consolidator.write(target, record, slot, text, vector, _sources(messages), timestamp_ms, state=state)
        if reflection is not None:
            self._reflect(target, reflection, situation, timestamp_ms)

    def _reflect(self, target: RecordTarget, reflection: RecordTarget, situation: str, timestamp_ms: int) -> None:
        """Write the common content of at least two similar episodes.

        Only episodes that reflect into the same namespace are read, so the actors of a template stay separate.
        """
        scope = Scope(tenant=target.tenant)
        newest = self._store.newest_first(target.memory_id, scope, strategy_id=target.strategy_id, limit=_EPISODES)
        episodes = [
            (record, record.state)
            for record in reversed(newest)
            if record.state and record.state.get("situation") and record.state.get("reflected") == reflection.namespace
        ]
        if len(episodes) < 2:
            return
        vectors = embed([str(state["situation"]) for _, state in episodes])
        alike = [episodes[int(at)] for at in np.flatnonzero(vectors @ embed([situation])[0] >= _ALIKE_ABOVE)]
        if len(alike) < 2:
            return
        states = [state for _, state in alike]
        hints = [
            f"{'Worked' if state['outcome'] == 'succeeded' else 'Did not work'}: {max(state['actions'], key=len)}"
            for state in states
            if state["outcome"] != "open" and state["actions"]
        ][-_MOST_SHOWN:]
        title = _shortened(str(states[0]["situation"]))
        cases = [str(state["situation"]) for state in states[-_MOST_SHOWN:]]
        succeeded = sum(state["outcome"] == "succeeded" for state in states)
        content = {
            "title": title,
            "use_cases": cases,
            "hints": hints,
            "confidence": round(succeeded / len(states), 2),
        }
        slot = f"reflection:{alike[0][0].record_id}"
        former = self._existing_record(reflection, slot)
        sources = list(dict.fromkeys(source for record, _ in alike for source in record.source_event_ids))
        vector: bytes = embed([" ".join([title, *cases, *hints])])[0].tobytes()
        text = json.dumps(content, ensure_ascii=False)
        self._consolidator.write(reflection, former, slot, text, vector, sources, timestamp_ms)

    def _existing_record(self, target: RecordTarget, slot: str) -> LongTermRecord | None:
        records = self._store.in_slot(
            target.memory_id, target.namespace, target.strategy_id, slot, tenant=target.tenant
        )
        return records[0] if records else None


def _points(message: Message) -> list[list[Any]]:
    """Return the sentences that a message adds to a summary, with their weights; the user's statements weigh most."""
    if message.role == "USER":
        stated = [[2, statement.text] for statement in extract(message.text) if not statement.retracts]
        questions = [sentence for sentence in sentences(message.text) if sentence.endswith("?")][:3]
        points = [[1, f"The user asked: {_shortened(question)}"] for question in questions]
        return [*stated, *points] or [[1, f"The user said: {_first(message.text)}"]]
    return [[0, f"The assistant answered: {_first(message.text)}"]] if message.role == "ASSISTANT" else []


def _topic(messages: Sequence[Message]) -> str:
    first = next((message.text for message in messages if message.role == "USER"), messages[0].text)
    return " ".join(_intent(first).split()[:10]).rstrip(".,!?")


def _intent(text: str) -> str:
    """Return the topic of a message: its first question, or its first two sentences."""
    parts = sentences(text)
    return _shortened(next((part for part in parts if part.endswith("?")), " ".join(parts[:2])))


def _first(text: str) -> str:
    return _shortened(next(iter(sentences(text)), ""))


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _POINT_CHARACTERS else flat[: _POINT_CHARACTERS - 1].rstrip() + "…"


def _sources(messages: Sequence[Message]) -> list[str]:
    return list(dict.fromkeys(message.event_id for message in messages))
