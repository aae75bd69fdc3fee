"""One live session: its process, its connections, the calls on their way, and the clocks that end it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..contract import AgentAnswer, AgentBroke, AgentCall, LogSink, RuntimeVersion, SessionEnded, SessionInfo
from .answer import AnswerChunks
from .environment import session_environment
from .output import SessionOutput
from .process import AgentProcess
from .processes import resident_bytes
from .wire import Connection, ConnectionCut, NotHttp
from .workspace import make_workspace, remove_workspace, write_record

_GRACE_S = 2.0  # from SIGTERM to SIGKILL
_DRAIN_S = 0.5  # how long output is awaited once every process of the session is dead
_EXIT_SOON_S = 1.0  # a connection closed without an answer: time to see whether the process ended with it
_PING_TIMEOUT_S = 5.0
_BUSY_CHECK_S = 15.0  # how often a session that says HealthyBusy is asked again
_SESSION_HEADER = "x-amzn-bedrock-agentcore-runtime-session-id"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlace:
    """What all sessions of a pool share."""

    folder: Path
    sink: LogSink
    interpreter: str
    service_environment: Mapping[str, str]
    user_environment: Mapping[str, str]
    start_timeout_s: float
    answer_timeout_s: float


class Session:
    """A session from the start of its process to its end. It never comes back: the next call makes another one.

    It keeps the version it was started with, wherever the endpoint points later, as a microVM does.
    """

    def __init__(
        self,
        place: SessionPlace,
        runtime: RuntimeVersion,
        *,
        qualifier: str,
        session_id: str,
        mark: str,
        on_end: Callable[[Session], None],
        on_gone: Callable[[Session], None],
    ) -> None:
        self.runtime, self.qualifier, self.session_id, self.mark = runtime, qualifier, session_id, mark
        self._place, self._on_end, self._on_gone = place, on_end, on_gone
        self._started_at = self._last_used_at = datetime.now(UTC)
        self._stream = f"{self._started_at:%Y/%m/%d}/[runtime-logs]{mark}"
        self._loop = asyncio.get_running_loop()
        self._process: AgentProcess | None = None
        self._output: SessionOutput | None = None
        self._idle_connections: list[Connection] = []
        self._open_connections: set[Connection] = set()
        self._calls = self._invocations = 0
        self._stopping, self._why_ended, self._failed = False, "", ""
        self._idle_timer: asyncio.TimerHandle | None = None
        self._life_timer: asyncio.TimerHandle | None = None
        self._drained, self._closed = asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._start = self._run(self._start_up())

    @property
    def live(self) -> bool:
        """Whether calls may be sent here."""
        return not self._stopping and not self._failed and (self._process is None or self._process.is_running())

    @property
    def key(self) -> tuple[str, str, str]:
        return self.runtime.runtime_id, self.qualifier, self.session_id

    def info(self) -> SessionInfo:
        """What the session is and does, as of now."""
        pid = self._process.pid if self._process is not None else 0
        return SessionInfo(
            runtime_id=self.runtime.runtime_id,
            qualifier=self.qualifier,
            version=self.runtime.version,
            session_id=self.session_id,
            pid=pid,
            stream=self._stream,
            started_at=self._started_at,
            last_used_at=self._last_used_at,
            invocations=self._invocations,
            rss_bytes=resident_bytes(pid) if pid else 0,
        )

    async def call(self, call: AgentCall) -> AgentAnswer:
        """Send the call when the process is ready. Raises `AgentBroke` or `SessionEnded`."""
        self._calls += 1
        self._invocations += 1
        self._last_used_at = datetime.now(UTC)
        self._cancel_idle_timer()
        connection: Connection | None = None
        try:
            if not self._start.done():
                await asyncio.shield(self._start)
            self._raise_if_over()
            connection = await self._take_connection()
            headers = {_SESSION_HEADER: self.session_id, **call.headers}
            async with asyncio.timeout(self._place.answer_timeout_s):
                head = await connection.ask("POST", "/invocations", headers, call.body)
        except (ConnectionCut, NotHttp, TimeoutError) as failure:
            explained = await self._explain(failure, mid_answer=False)
            self._release(connection)
            raise explained from failure
        except BaseException:
            self._release(connection)
            raise
        chunks = AnswerChunks(
            connection,
            timeout_s=self._place.answer_timeout_s,
            release=self._release,
            explain=lambda failure, mid_answer: self._explain(failure, mid_answer=mid_answer),
        )
        return AgentAnswer(status=head.status, headers=head.headers, chunks=chunks)

    async def end(self, why: str, *, grace_s: float = _GRACE_S) -> None:
        """End the session: calls on their way get `SessionEnded(why)`. Returns when nothing of it is left."""
        if not self._stopping:
            self._stopping, self._why_ended = True, why
            self._on_end(self)
            for connection in list(self._open_connections):
                connection.close()
            if self._process is not None:
                await self._process.end(grace_s=grace_s)
        await self._closed.wait()

    # Start and end of the process

    async def _start_up(self) -> None:
        place, script = self._place, self.runtime.entry_point[-1]
        try:
            folder = await asyncio.to_thread(make_workspace, place.folder, self.mark, self.runtime.code)
            if not (folder / script).is_file():
                raise FileNotFoundError(f"entry point {script} is not in the package")
            if self._stopping:
                raise InterruptedError
            environment = session_environment(
                self.runtime, place.service_environment, place.user_environment, mark=self.mark
            )
            self._process = AgentProcess(
                interpreter=place.interpreter, script=script, folder=folder, environment=environment, mark=self.mark
            )
        except OSError as failure:
            self._failed = f"The agent could not be started: {failure}"
            self._on_end(self)
            await asyncio.to_thread(remove_workspace, place.folder, self.mark)
            self._drained.set()
            self._gone()
            return
        self._output = SessionOutput(
            self._process.output_fd,
            place.sink,
            group=f"/aws/bedrock-agentcore/runtimes/{self.runtime.runtime_id}-{self.qualifier}",
            stream=self._stream,
        )
        if len(self.runtime.entry_point) > 1:
            self._output.note(f"Loom runs {script} itself; {self.runtime.entry_point[0]} is not used locally")
        write_record(place.folder, self.mark, self._process.pid)
        self._run(self._clean_up(self._process, self._output))
        await self._await_first_ping(self._process)

    async def _await_first_ping(self, process: AgentProcess) -> None:
        timeout_s = self._place.start_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                connection = await self._take_connection()
                head = await connection.ask("GET", "/ping", {})
                while await connection.next_chunk() is not None:
                    pass
            if not 200 <= head.status < 300:
                self._failed = f"The agent is not healthy: GET /ping answered {head.status}"
        except TimeoutError:
            self._failed = (
                f"The agent did not start serving within {timeout_s:g} s; "
                "agents must serve with uvicorn or BedrockAgentCoreApp.run()"
            )
        except (ConnectionCut, NotHttp) as failure:
            explained = await self._explain(failure, mid_answer=False)
            self._failed = str(explained) or "The session ended"
        else:
            if not self._failed:
                self._park(connection)
                self._life_timer = self._loop.call_later(
                    self.runtime.max_lifetime_s, self._end_soon, "The session reached its maximum lifetime"
                )
                self._start_idle_timer()
                return
        self._on_end(self)
        await process.end(grace_s=0)
        await self._drained.wait()

    async def _clean_up(self, process: AgentProcess, output: SessionOutput) -> None:
        """Wait for the process's end, however it comes, and take everything that is left of it away."""
        await process.ended.wait()
        self._on_end(self)
        self._cancel_idle_timer()
        if self._life_timer is not None:
            self._life_timer.cancel()
        await output.finish(within_s=_DRAIN_S)
        self._drained.set()
        for connection in self._idle_connections:
            connection.close()
        await asyncio.to_thread(remove_workspace, self._place.folder, self.mark)
        self._gone()

    def _gone(self) -> None:
        self._on_gone(self)
        self._closed.set()

    def _raise_if_over(self) -> None:
        if self._stopping:
            raise SessionEnded(self._why_ended)
        if self._failed:
            raise AgentBroke(self._failed, self._log_tail())

    async def _explain(self, failure: Exception, *, mid_answer: bool) -> AgentBroke | SessionEnded:
        """Why a call failed, in a sentence, with the process's exit when that was the cause."""
        if self._stopping:
            return SessionEnded(self._why_ended)
        if isinstance(failure, TimeoutError):
            what = "no further byte" if mid_answer else "no answer"
            return AgentBroke(f"The agent sent {what} within {self._place.answer_timeout_s:g} s", self._log_tail())
        if isinstance(failure, NotHttp):
            return AgentBroke(f"The agent answered something that is not HTTP: {failure}", self._log_tail())
        when = "in the middle of its answer" if mid_answer else "without an answer"
        if self._process is not None:
            try:
                async with asyncio.timeout(_EXIT_SOON_S):
                    await self._process.ended.wait()
                    await self._drained.wait()
            except TimeoutError:
                pass
            if self._process.exit_code is not None:
                place = f" {when}" if self._start.done() else " before it served a request"
                return AgentBroke(f"The agent's process {self._process.how_it_ended()}{place}", self._log_tail())
        return AgentBroke(f"The agent closed the connection {when}", self._log_tail())

    def _log_tail(self) -> tuple[str, ...]:
        return tuple(self._output.tail) if self._output is not None else ()

    # Connections

    async def _take_connection(self) -> Connection:
        while self._idle_connections:
            connection = self._idle_connections.pop()
            if connection.reusable:
                return connection
            self._open_connections.discard(connection)
        assert self._process is not None
        try:
            _, connection = await self._loop.create_connection(Connection, *self._process.address)
        except OSError as failure:
            raise ConnectionCut(str(failure)) from failure
        self._open_connections.add(connection)
        return connection

    def _park(self, connection: Connection) -> None:
        if connection.reusable and self.live:
            self._idle_connections.append(connection)
        else:
            connection.close()
            self._open_connections.discard(connection)

    def _release(self, connection: Connection | None) -> None:
        """A call is over: keep or close its connection, and start the idle clock when it was the last one."""
        if connection is not None:
            self._park(connection)
        self._calls -= 1
        self._last_used_at = datetime.now(UTC)
        if self._calls == 0 and self._start.done():
            self._start_idle_timer()

    # Clocks

    def _start_idle_timer(self, after_s: float | None = None) -> None:
        self._cancel_idle_timer()
        if self._calls == 0 and self.live:
            wait_s = self.runtime.idle_timeout_s if after_s is None else after_s
            self._idle_timer = self._loop.call_later(wait_s, lambda: self._run(self._end_if_idle()))

    def _cancel_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _end_soon(self, why: str) -> None:
        self._run(self.end(why))

    async def _end_if_idle(self) -> None:
        """End the session unless a call came in between or the agent says that it works in the background."""
        busy, idle_since_s = await self._background_work()
        if self._calls or not self.live:
            return
        idle_s = time.time() - max(idle_since_s, self._last_used_at.timestamp())
        if busy:
            self._start_idle_timer(min(_BUSY_CHECK_S, self.runtime.idle_timeout_s))
        elif idle_s < self.runtime.idle_timeout_s - 1:  # the agent tells whole seconds
            self._start_idle_timer(self.runtime.idle_timeout_s - idle_s)
        else:
            await self.end(f"The session was idle for {self.runtime.idle_timeout_s:g} s")

    async def _background_work(self) -> tuple[bool, float]:
        """What /ping says: whether the agent is HealthyBusy, and the Unix time of its last change (0 when unknown)."""
        body = b""
        try:
            async with asyncio.timeout(_PING_TIMEOUT_S):
                connection = await self._take_connection()
                await connection.ask("GET", "/ping", {})
                while (chunk := await connection.next_chunk()) is not None:
                    body += chunk
            self._park(connection)
            said = json.loads(body)
            return said.get("status") == "HealthyBusy", float(said.get("time_of_last_update", 0))
        except (ConnectionCut, NotHttp, TimeoutError, ValueError, TypeError, AttributeError):
            return False, 0.0

    def _run(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
