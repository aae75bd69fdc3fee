"""Sessions with agents: the messages, the attributes, and the calls that wait for the caller."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..resources import Place
from ..tenancy import new_tenant
from .versions import AgentVersion

_MOST_SESSIONS: Final = 1_000
_MOST_TURNS: Final = 50

Message = dict[str, Any]
ROUTED: Final = "routed"
"""Used instead of a call's id if the turn was handed over to a collaborator."""


@dataclass(slots=True, kw_only=True)
class Pending:
    """A turn that waits for results from the caller.

    Attributes:
        invocation_id: The invocation id for the caller's next request.
        messages: The turn's messages; the last one contains the calls.
        results: The results that are already available, by the call's id.
        waiting: The calls that the caller must answer, as they were sent to it, by the call's id.
        collaborator: The call whose collaborator waits, or `ROUTED`; "" if the agent itself does.
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
        prompt_attributes: The attributes in the prompts of the current turn.
        searches: The configuration of searches, by knowledge base.
        pending: The turn that waits for the caller.
        collaborators: The sessions of collaborators by name.
        routed: The collaborator to which the routing classifier routed the last turn; "" without one.
        uploads: Files that are not yet written to the code interpreter: their base64 contents, by name.
        downloads: Files that the current turn's code created, in the same form.
        sandbox: The code interpreter session and its place; None without one.
        tenant: The tenant that started it; "" for none.
        memory_id: The memory in which the session's summary is stored; "" without one.
        agent: The version that has answered; None before the first turn.
        started_at: Start time in seconds since 1970.
        idle_s: Idle time in seconds after which it ends.
        used_at: Time of the last use.
        busy: Whether a turn is running.
    """

    turns: list[list[Message]] = field(default_factory=list[list[Message]])
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    prompt_attributes: dict[str, str] = field(default_factory=dict[str, str])
    searches: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    pending: Pending | None = None
    collaborators: dict[str, AgentSession] = field(default_factory=dict[str, "AgentSession"])
    routed: str = ""
    uploads: dict[str, str] = field(default_factory=dict[str, str])
    downloads: dict[str, str] = field(default_factory=dict[str, str])
    sandbox: tuple[str, Place] | None = None
    tenant: str = ""
    memory_id: str = ""
    agent: AgentVersion | None = None
    started_at: float = field(default_factory=time.time)
    idle_s: float = 0.0
    used_at: float = 0.0
    busy: bool = False

    @property
    def messages(self) -> list[Message]:
        """All messages of earlier turns."""
        return [message for turn in self.turns for message in turn]

    def keep(self, turn: list[Message]) -> None:
        """Add a turn; the oldest turns are discarded."""
        self.turns = [*self.turns, turn][-_MOST_TURNS:]

    def collaborator(self, name: str) -> AgentSession:
        """Return the session of a collaborator."""
        return self.collaborators.setdefault(name, AgentSession(tenant=self.tenant))


class AgentSessions:
    """The sessions of all agents, in memory: they end with the service. Sessions of two tenants can have the same id.

    Args:
        clock: A clock in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: OrderedDict[tuple[Place, str, str, str], AgentSession] = OrderedDict()

    def session(self, place: Place, alias: str, name: str, *, idle_s: float) -> AgentSession:
        """Return a session of the tenant for which the request acts; create it if it does not exist.

        Args:
            place: Region and account.
            alias: The ARN of the agent's alias.
            name: The session's id.
            idle_s: Idle time in seconds after which a session ends.
        """
        key = (place, alias, name, new_tenant())
        session = self._sessions.setdefault(key, AgentSession(tenant=new_tenant()))
        session.used_at, session.idle_s = self._clock(), idle_s
        self._sessions.move_to_end(key)
        return session

    def take_idle(self, place: Place, alias: str) -> list[tuple[str, AgentSession]]:
        """Remove the idle sessions of an alias, of all tenants, and return them with their ids."""
        now = self._clock()
        over = {
            key: session
            for key, session in self._sessions.items()
            if key[:2] == (place, alias) and now - session.used_at > session.idle_s and not session.busy
        }
        for key in over:
            del self._sessions[key]
        return [(key[2], session) for key, session in over.items()]

    def take_oldest(self) -> AgentSession | None:
        """Remove and return the least recently used session, if there are too many."""
        idle = [key for key, session in self._sessions.items() if not session.busy]
        return self._sessions.pop(idle[0]) if len(self._sessions) > _MOST_SESSIONS and idle else None

    def end(self, place: Place, alias: str, name: str) -> AgentSession | None:
        """Remove and return a session of the tenant for which the request acts."""
        return self._sessions.pop((place, alias, name, new_tenant()), None)
