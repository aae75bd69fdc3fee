"""Sessions with agents: what was said, the attributes, and the calls that wait for the caller."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..resources import Place

_MOST_SESSIONS: Final = 1_000
_MOST_TURNS: Final = 50

Message = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Pending:
    """A turn that waits for results of the caller.

    Attributes:
        invocation_id: What the caller names in its next request.
        messages: The turn's messages, of which the last one has the calls.
        results: The results that are there, by the call's id.
        waiting: The calls that the caller answers, by the call's id: the event that it was given.
        collaborator: The call whose collaborator waits; "" if the agent itself does.
    """

    invocation_id: str
    messages: list[Message]
    results: dict[str, dict[str, Any]]
    waiting: dict[str, dict[str, Any]]
    collaborator: str = ""


@dataclass(slots=True, kw_only=True)
class AgentSession:
    """A session with one agent.

    Attributes:
        turns: The messages of each turn, the oldest first.
        attributes: The session attributes.
        prompt_attributes: The attributes that prompts of the current turn contain.
        searches: The configuration of searches by knowledge base.
        pending: The turn that waits for the caller.
        collaborators: The sessions of collaborators by name.
        used_at: When it was last used.
        busy: Whether a turn runs.
    """

    turns: list[list[Message]] = field(default_factory=list[list[Message]])
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    prompt_attributes: dict[str, str] = field(default_factory=dict[str, str])
    searches: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    pending: Pending | None = None
    collaborators: dict[str, AgentSession] = field(default_factory=dict[str, "AgentSession"])
    used_at: float = 0.0
    busy: bool = False

    @property
    def messages(self) -> list[Message]:
        """All messages of earlier turns."""
        return [message for turn in self.turns for message in turn]

    def keep(self, turn: list[Message]) -> None:
        """Add a turn; the oldest are forgotten."""
        self.turns = [*self.turns, turn][-_MOST_TURNS:]

    def collaborator(self, name: str) -> AgentSession:
        """Return the session of a collaborator."""
        return self.collaborators.setdefault(name, AgentSession())


class AgentSessions:
    """The sessions of all agents, in memory: they end with the service.

    Args:
        clock: A clock in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: OrderedDict[tuple[Place, str, str], AgentSession] = OrderedDict()

    def session(self, place: Place, alias: str, name: str, *, idle_s: float) -> AgentSession:
        """Return a session; a new one if it was idle for too long.

        Args:
            place: Region and account.
            alias: The ARN of the agent's alias.
            name: The session's id.
            idle_s: How long a session is kept without use.
        """
        key, now = (place, alias, name), self._clock()
        session = self._sessions.get(key)
        if session is None or (now - session.used_at > idle_s and not session.busy):
            session = self._sessions[key] = AgentSession()
        session.used_at = now
        self._sessions.move_to_end(key)
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def end(self, place: Place, alias: str, name: str) -> None:
        """Forget a session."""
        self._sessions.pop((place, alias, name), None)
