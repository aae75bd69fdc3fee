"""What a recall study needs from the outside: a workbench, a memory, and, when one is asked, an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from loomlib.memory import MemoryReader
    from loomlib.store import Store

Progress = Callable[[str], None]
"""Told how far a study is, a line at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """One turn as an event: whose, in which session, when, what was said and answered. `token` makes it happen once."""

    actor: str
    session: str
    at: datetime
    said: str
    answered: str
    token: str


class RecallMemory(Protocol):
    """The memory under study. `loomlib.memory_study.access.MemoryAccess` is one, over AgentCore Memory."""

    def tell(self, saying: Saying) -> None:
        """Write the event; a repetition with the same token writes nothing."""
        ...

    def messages(self, actor: str, sessions: Sequence[str], *, last: int | None = None) -> list[str]:
        """What was said and answered in these sessions (oldest first), of which only the `last` texts when given."""
        ...

    def search(self, actor: str, query: str, top_k: int) -> list[str]:
        """The texts of the `top_k` records of the actor's long-term memory that are nearest to `query`, best first."""
        ...

    def records(self, actor: str) -> list[str]:
        """The texts of all the records that `search` looks through."""
        ...

    def summaries(self, actor: str) -> list[str]:
        """The texts of the summaries of the actor's sessions."""
        ...


class AskedRecord(Protocol):
    """The stored invocation behind an agent's answer."""

    @property
    def id(self) -> int: ...


class AgentAnswer(Protocol):
    """An agent's answer. `loomlib.workbench.Invocation` is one."""

    @property
    def ok(self) -> bool: ...
    @property
    def text(self) -> str: ...
    @property
    def failure(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def duration_ms(self) -> float | None: ...
    @property
    def ttft_ms(self) -> float | None: ...
    @property
    def record(self) -> AskedRecord: ...


class RecallAgent(Protocol):
    """The agent that is asked. `loomlib.workbench.Agent` is one; the blueprint assistant_with_memory takes the payload
    (`prompt`, `actor`, `retrieval`, `context`, `window`).
    """

    @property
    def name(self) -> str: ...
    @property
    def arn(self) -> str: ...
    @property
    def entry(self) -> Any: ...

    def invoke(
        self,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str | None = None,
        timeout_s: float | None = None,
    ) -> AgentAnswer: ...

    def end_session(self, session_id: str) -> object: ...


class NamedMemory(Protocol):
    """A memory of a workbench. `loomlib.workbench.memory.Memory` is one."""

    reader: MemoryReader

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def arn(self) -> str: ...


class RecallMemories(Protocol):
    """The memories of a workbench. `loomlib.workbench.bench_memories.Memories` is one."""

    def get(self, key: str) -> NamedMemory: ...
    def create(self, name: str, *, strategies: Sequence[str | Mapping[str, Any]] = ()) -> NamedMemory: ...
    def delete(self, key: str) -> None: ...


class RecallTelemetry(Protocol):
    """The traces of a workbench's agents. `loomlib.workbench.bench_telemetry.BenchTelemetry` is one."""

    def find_traces(self, entry: Any, rows: Any, *, progress: Progress | None = None) -> Iterable[Any]: ...


class RecallBench(Protocol):
    """The workbench: where memories are, and where studies are kept. `loomlib.workbench.Workbench` is one."""

    @property
    def where(self) -> str: ...
    @property
    def store(self) -> Store: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def settings(self) -> Any: ...
    @property
    def memories(self) -> RecallMemories: ...
    @property
    def telemetry(self) -> RecallTelemetry: ...
