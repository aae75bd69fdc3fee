"""What a study needs from the outside: an agent to call, an answer to read, somewhere to say how far it is."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from loomlib.store import Store

    from .progress import Snapshot


class Answer(Protocol):
    """What came of one call. `loomlib.agents.InvocationRecord` is one.

    Durations are milliseconds from the moment the request was sent; `client_invoke_time` is that moment in Unix
    seconds. `failure` is a class of `loomlib.agents.FAILURES` when `status` is "error".
    """

    @property
    def id(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def failure(self) -> str | None: ...
    @property
    def error_message(self) -> str | None: ...
    @property
    def client_invoke_time(self) -> float | None: ...
    @property
    def client_duration_ms(self) -> float | None: ...
    @property
    def ttft_ms(self) -> float | None: ...
    @property
    def connect_ms(self) -> float | None: ...
    @property
    def connection_reused(self) -> bool | None: ...
    @property
    def bytes_received(self) -> int: ...


class FoundStart(Protocol):
    """How the search for an agent's start line ended. `loomlib.telemetry.AgentStart` is one.

    `state` is "found", "no_start_line" (the agent does not write one), "not_found_yet" or "no_logs".
    """

    @property
    def state(self) -> str: ...
    @property
    def cold_start_latency_ms(self) -> float | None: ...


class MeasuredAgent(Protocol):
    """An agent as a study sees it. `loomlib.workbench.Agent` is one.

    `measure` never raises for a failed call and never repeats one: a failure is an answer with status "error".
    `end_session` and `agent_start` may block (they are called in a worker thread), and `agent_start` waits for logs as
    long as its settings allow. `is_alive` says whether the service behind the agent takes connections at all.
    """

    @property
    def name(self) -> str: ...
    @property
    def arn(self) -> str: ...
    @property
    def qualifier(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]: ...
    @property
    def scope(self) -> str: ...
    @property
    def store(self) -> Store: ...

    def measure(
        self, prompt: str, *, session_id: str, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> Awaitable[Answer]: ...
    def end_session(self, session_id: str) -> object: ...
    def agent_start(self, invocation_id: int) -> FoundStart: ...
    def is_alive(self) -> Awaitable[bool]: ...


class Progress(Protocol):
    """Somebody who is told how far a study is. `update` is called in the thread that started the study."""

    def update(self, snapshot: Snapshot) -> None: ...
    def finish(self, snapshot: Snapshot) -> None: ...
