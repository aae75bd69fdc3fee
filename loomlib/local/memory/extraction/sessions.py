"""What a session was about: summaries, episodes, and what episodes taught."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from loomlib.embeddings import embed
from loomlib.local.memory.records_store import Record, RecordsStore, Scope

from .consolidate import Consolidator, Place
from .messages import Message
from .rules import extract
from .sentences import sentences

_POINTS: Final = 16
_POINT_CHARACTERS: Final = 280
_ALIKE_ABOVE: Final = 0.5
_EPISODES: Final = 200
_THANKS: Final = re.compile(
    r"\b(?:thanks|thank you|perfect|great|that (?:works|worked|"
    r"helped|fixed it|did it)|solved|works now|awesome|brilliant)\b",
    re.I,
)
_FAILED: Final = re.compile(
    r"\b(?:doesn't work|does not work|didn't work|did not work|"
    r"still (?:broken|fails|failing|not|wrong)|that's wrong|"
    r"not what i|useless|wrong answer|no,? that|incorrect|didn't help)\b",
    re.I,
)


class SessionRecords:
    """Keeps one record a session and strategy, and rewrites it with every turn."""

    def __init__(self, store: RecordsStore, consolidator: Consolidator) -> None:
        self._store, self._consolidator = store, consolidator

    def summarize(self, place: Place, session_id: str, messages: Sequence[Message], timestamp_ms: int) -> None:
        """Bring a turn into the session's summary: topics as AWS writes them, `<topic name="…">…</topic>`."""
        slot = f"summary:{session_id}"
        known = self._known(place, slot)
        state: dict[str, Any] = dict((known.state if known else None) or {"topic": "", "points": []})
        points: list[list[Any]] = [*state["points"], *(point for message in messages for point in _points(message))]
        while len(points) > _POINTS:
            points.remove(min(points, key=lambda point: point[0]))  # of equals the oldest
        if not points:
            return
        state = {"topic": state["topic"] or _topic(messages), "points": points}
        lines = "\n".join(escape(text) for _, text in points)
        text = f"<topic name={quoteattr(state['topic'])}>\n{lines}\n</topic>"
        said = f"{state['topic']} {' '.join(text for _, text in points)}"
        vector: bytes = embed([said])[0].tobytes()
        self._consolidator.write(place, known, slot, text, vector, _sources(messages), timestamp_ms, state=state)

    def remember_episode(
        self, place: Place, reflection: Place | None, session_id: str, messages: Sequence[Message], timestamp_ms: int
    ) -> None:
        """Bring a turn into the session's episode, and episodes like it into a reflection."""
        slot = f"episode:{session_id}"
        known = self._known(place, slot)
        begun: Mapping[str, Any] = (known.state if known else None) or {}
        user = [message.text for message in messages if message.role == "USER"]
        situation = begun.get("situation") or (_wanted(user[0]) if user else "")
        if not situation:
            return
        actions = [*begun.get("actions", ()), *(_first(m.text) for m in messages if m.role in ("ASSISTANT", "TOOL"))][
            -_POINTS:
        ]
        outcome = begun.get("outcome", "open")
        for text in user:
            outcome = "failed" if _FAILED.search(text) else "succeeded" if _THANKS.search(text) else outcome
        state = {
            "situation": situation,
            "actions": actions,
            "outcome": outcome,
            "reflected": reflection.namespace if reflection else "",
        }
        shown = {
            "situation": situation,
            "intent": _first(user[0]) if user and not begun else begun.get("intent", situation),
            "turns": [{"action": each} for each in actions],
            "assessment": {"succeeded": "Yes", "failed": "No"}.get(outcome, "Unknown"),
        }
        state["intent"] = shown["intent"]
        vector: bytes = embed([situation])[0].tobytes()
        text = json.dumps(shown, ensure_ascii=False)
        self._consolidator.write(place, known, slot, text, vector, _sources(messages), timestamp_ms, state=state)
        if reflection is not None:
            self._reflect(place, reflection, situation, timestamp_ms)

    def _reflect(self, place: Place, reflection: Place, situation: str, timestamp_ms: int) -> None:
        """Write down what the episodes like this one have in common; two are the fewest.

        Only episodes that reflect into the same namespace are read, so a template's actor keeps actors apart.
        """
        newest = self._store.newest_first(place.memory_id, Scope(), strategy_id=place.strategy_id, limit=_EPISODES)
        episodes = [
            each
            for each in reversed(newest)
            if each.state and each.state.get("situation") and each.state.get("reflected") == reflection.namespace
        ]
        if len(episodes) < 2:
            return
        vectors = embed([str((each.state or {})["situation"]) for each in episodes])
        alike = [episodes[int(at)] for at in np.flatnonzero(vectors @ embed([situation])[0] >= _ALIKE_ABOVE)]
        if len(alike) < 2:
            return
        ends = [str((each.state or {})["outcome"]) for each in alike]
        hints = [
            f"{'Worked' if end == 'succeeded' else 'Did not work'}: {max((each.state or {})['actions'], key=len)}"
            for each, end in zip(alike, ends, strict=True)
            if end != "open" and (each.state or {})["actions"]
        ]
        title = _shortened(str((alike[0].state or {})["situation"]))
        cases = [str((each.state or {})["situation"]) for each in alike[-5:]]
        shown = {
            "title": title,
            "use_cases": cases,
            "hints": hints[-5:],
            "confidence": round(ends.count("succeeded") / len(ends), 2),
        }
        slot = f"reflection:{alike[0].record_id}"
        former = self._known(reflection, slot)
        sources = list(dict.fromkeys(source for each in alike for source in each.source_event_ids))
        vector: bytes = embed([" ".join([title, *cases, *hints[-5:]])])[0].tobytes()
        text = json.dumps(shown, ensure_ascii=False)
        self._consolidator.write(reflection, former, slot, text, vector, sources, timestamp_ms)

    def _known(self, place: Place, slot: str) -> Record | None:
        found = self._store.in_slot(place.memory_id, place.namespace, place.strategy_id, slot)
        return found[0] if found else None


def _points(message: Message) -> list[list[Any]]:
    """What a message adds to a summary, each with its weight: what the user stated weighs most."""
    if message.role == "USER":
        stated = [[2, each.text] for each in extract(message.text) if not each.retracts]
        asked = [[1, f"The user asked: {_shortened(each)}"] for each in sentences(message.text) if each.endswith("?")][
            :3
        ]
        return [*stated, *asked] or [[1, f"The user said: {_first(message.text)}"]]
    return [[0, f"The assistant answered: {_first(message.text)}"]] if message.role == "ASSISTANT" else []


def _topic(messages: Sequence[Message]) -> str:
    first = next((message.text for message in messages if message.role == "USER"), messages[0].text)
    return " ".join(_wanted(first).split()[:10]).rstrip(".,!?")


def _wanted(text: str) -> str:
    """What a message is after: its first question, else how it begins."""
    said = sentences(text)
    return _shortened(next((each for each in said if each.endswith("?")), " ".join(said[:2])))


def _first(text: str) -> str:
    return _shortened(next(iter(sentences(text)), ""))


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _POINT_CHARACTERS else flat[: _POINT_CHARACTERS - 1].rstrip() + "…"


def _sources(messages: Sequence[Message]) -> list[str]:
    return list(dict.fromkeys(message.event_id for message in messages))
