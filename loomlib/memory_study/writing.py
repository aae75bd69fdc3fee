"""Write conversations to the memory, and wait until their facts are extracted.

Every turn is one event. Its time and its token are derived from the study, so that writing again after a kill creates
no duplicates.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ..presentation.formats import waited
from .script import ScriptedConversation, contains
from .subjects import NewEvent, StudiedMemory

_POLL_S: Final = 0.1
_SLOWEST_POLL_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionState:
    """The progress of extraction when the questions of a session started.

    Attributes:
        session: The session.
        waited_s: Seconds waited.
        wanted: Number of values that were current at that time.
        found: Number of those values that were in a record.
        lingering: Number of former values that were still in a record.
        missing: The values without a record, as `conversation/fact`.
    """

    session: int
    waited_s: float
    wanted: int
    found: int
    lingering: int
    missing: tuple[str, ...] = ()

    def summary(self) -> dict[str, Any]:
        """Return the state as JSON-ready values."""
        return asdict(self) | {"waited_s": round(self.waited_s, 3), "missing": list(self.missing)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> ExtractionState:
        """Return a stored state."""
        values: dict[str, Any] = {**stored, "missing": tuple(stored["missing"])}
        return cls(**values)


def session_names(before: int) -> list[str]:
    """Return the memory sessions before session `before`, oldest first."""
    return [f"session-{number:03d}" for number in range(1, before)]


def write_conversation(
    memory: StudiedMemory,
    conversation: ScriptedConversation,
    actor: str,
    *,
    before: int,
    study_id: str,
    began: datetime,
    check: Callable[[], object] = lambda: None,
) -> int:
    """Write every turn of the sessions before a session as an event; existing events stay unchanged.

    Args:
        memory: The memory.
        conversation: The conversation.
        actor: The actor under which it is written.
        before: The session.
        study_id: The study, for tokens.
        began: When the study started; the events' times are before it.
        check: Called after each event; may raise to stop.

    Returns:
        The number of turns.
    """
    count = sum(map(len, conversation.sessions))
    names = session_names(len(conversation.sessions) + 1)
    written_count = 0
    for number, place, turn in conversation.turns(before):
        token = hashlib.sha256(f"{study_id} {actor} {number} {place}".encode()).hexdigest()[:48]
        at = began - timedelta(seconds=count - written_count)
        session = names[number - 1]
        memory.write(NewEvent(actor=actor, session=session, at=at, text=turn.text, reply=turn.reply, token=token))
        written_count += 1
        check()
    return written_count


def wait_until_extracted(
    memory: StudiedMemory,
    conversations: Sequence[tuple[ScriptedConversation, str]],
    session: int,
    *,
    settle_s: float,
    quiet_s: float,
    report: Callable[[str], object] = lambda _stage: None,
    check: Callable[[], object] = lambda: None,
) -> ExtractionState:
    """Wait until every current value has a record and no former value is left, or nothing changes.

    Args:
        memory: The memory.
        conversations: The conversations with their actors.
        session: The session whose questions follow.
        settle_s: Maximum wait, in seconds.
        quiet_s: Seconds without a change after which the wait ends.
        report: Called with the progress of extraction.
        check: Called between polls; may raise to stop.
    """
    began = changed_at = time.monotonic()
    before: list[list[str]] | None = None
    pause_s = _POLL_S
    while True:
        now = [sorted(memory.records(actor)) for _, actor in conversations]
        at = time.monotonic()
        if now != before:
            before, changed_at, pause_s = now, at, _POLL_S
        state = _state([conversation for conversation, _ in conversations], now, session, at - began)
        if not state.missing and not state.lingering:
            return state
        if at - changed_at >= quiet_s or at - began >= settle_s:
            return state
        report(
            f"waiting for extraction before session {session}: {state.found} of {state.wanted} facts, "
            f"{waited(at - began, settle_s)}"
        )
        check()
        time.sleep(min(pause_s, max(0.0, settle_s - (at - began))))
        pause_s = min(_SLOWEST_POLL_S, quiet_s / 4, pause_s * 1.5)


def _state(
    conversations: Sequence[ScriptedConversation], records: Sequence[Sequence[str]], session: int, waited_s: float
) -> ExtractionState:
    expected = present = lingering = 0
    missing: list[str] = []
    for conversation, texts in zip(conversations, records, strict=True):
        for fact, (value, former) in conversation.values(session).items():
            if value:
                expected += 1
                if any(contains(text, value) for text in texts):
                    present += 1
                else:
                    missing.append(f"{conversation.name}/{fact}")
            lingering += any(contains(text, old) for old in former for text in texts)
    return ExtractionState(
        session=session, waited_s=waited_s, wanted=expected, found=present, lingering=lingering, missing=tuple(missing)
    )
