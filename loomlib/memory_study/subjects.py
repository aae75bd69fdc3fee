"""Protocols of the objects that a memory study uses: a workbench, a memory, an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from loomlib.memory import MemoryReader


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """One turn as an event to write. The memory writes an event with the same `token` only once."""

    actor: str
    session: str
    at: datetime
    text: str
    reply: str
    token: str


class StudiedMemory(Protocol):
    """The memory under study: `MemoryAccess` for AgentCore Memory, others with `MemoryStudy(access=…)`."""

    def write(self, event: NewEvent) -> None:
        """Write the event; a repeated call with the same token writes nothing."""
        ...

    def messages(self, actor: str, sessions: Sequence[str], *, last: int | None = None) -> list[str]:
        """Return the texts of these sessions (oldest first); only the `last` ones when given.

        Args:
            actor: The actor's id.
            sessions: Ids of memory sessions, oldest first.
            last: Maximum number of messages, counted from the end; None for all.
        """
        ...

    def search(self, actor: str, query: str, top_k: int) -> list[str]:
        """Return the texts of the `top_k` long-term records of the actor that are nearest to `query`, best first.

        Args:
            actor: The actor whose records are searched.
            query: The text whose meaning is compared.
            top_k: Maximum number of records.
        """
        ...

    def records(self, actor: str) -> list[str]:
        """Return the texts of all records that `search` searches."""
        ...

    def summaries(self, actor: str) -> list[str]:
        """Return the texts of the summaries of the actor's sessions."""
        ...


class NamedMemory(Protocol):
    """A memory of a workbench."""

    reader: MemoryReader

    @property
    def id(self) -> str:
        """The memory's id."""
        ...

    @property
    def name(self) -> str:
        """The memory's name."""
        ...

    @property
    def arn(self) -> str:
        """The memory's ARN."""
        ...


class PromptedAgent(Protocol):
    """The agent that answers the questions.

    It takes the payload of the blueprint assistant_with_memory: `prompt`, `actor`, `retrieval`, `context`, `window`.
    """

    @property
    def name(self) -> str:
        """The runtime's name."""
        ...

    @property
    def arn(self) -> str:
        """The runtime's ARN."""
        ...

    @property
    def entry(self) -> Any:
        """The agent's entry in the catalog."""
        ...

    def invoke(
        self,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Call the agent; returns the workbench's `Invocation`.

        Args:
            prompt: Sent as `{"prompt": prompt}`.
            payload: Sent instead: a mapping as JSON, or bytes unchanged.
            session_id: The runtime session; a new one by default.
            qualifier: The endpoint; the agent's own by default.
            timeout_s: Seconds without a byte after which the call fails; the settings' by default.
        """
        ...

    def end_session(self, session_id: str) -> object:
        """End a session."""
        ...


class MemoryBench(Protocol):
    """The workbench, with its memories and its traces."""

    @property
    def where(self) -> str:
        """The environment: "local" or "aws"."""
        ...

    @property
    def context(self) -> Any:
        """The open resources: `store`, `settings` and `labels`."""
        ...

    @property
    def memories(self) -> Any:
        """The memories: `get`, `create` and `delete`."""
        ...

    @property
    def telemetry(self) -> Any:
        """The traces: `find_traces`."""
        ...
