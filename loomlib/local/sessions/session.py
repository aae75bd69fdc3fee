"""One session: its process, its current invocations, and its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path

from ..contract import (
    AgentAnswer,
    AgentCall,
    AgentProcessError,
    RuntimeVersion,
    SessionEndedError,
    SessionInfo,
)
from ..log_groups import runtime_group
from .answer import AnswerChunks, AnswerTooLargeError
from .clocks import SessionClocks
from .connections import Connections
from .health import Health, ask_health
from .notices import SessionNotices
from .own_requests import OwnRequests
from .pool_settings import PoolSettings
from .processes import resident_bytes
from .restored import RestoredProcess
from .running import EXIT_SOON_S, RunningProcess
from .snapshot import SnapshotError
from .snapshot_store import Snapshots
from .start_times import StartTimes
from .starting import ProcessStart
from .warming import WarmUpError, call_hook
from .wire import AgentConnection, ConnectionClosedError, NotHttpError
from .workspace import record_path, remove_workspace

_log = logging.getLogger(__name__)

_GRACE_S = 5.0  # from SIGTERM to SIGKILL; a busy machine needs more than one to send the last spans
_DRAIN_S = 0.5  # how long to wait for output once every process of the session has ended
_PING_TIMEOUT_S = 5.0
_SESSION_HEADER = "x-amzn-bedrock-agentcore-runtime-session-id"


class RuntimeSession:
    """A session from start to end of its process; a later invocation starts a new one.

    It keeps the version with which it was started, whatever version the endpoint refers to later, as a microVM does.

    Args:
        shared: Settings of the pool.
        runtime: The version to run.
        snapshots: The snapshots from which versions of platform V2 are restored.
        qualifier: The endpoint's name.
        session_id: The runtime session id.
        mark: Unique id of this process: in its environment, its folder and its log stream.
        on_end: Called when it no longer accepts invocations.
        on_removed: Called when no process or file of it is left.
    """

    def __init__(
        self,
        shared: PoolSettings,
        runtime: RuntimeVersion,
        *,
        snapshots: Snapshots,
        qualifier: str,
        session_id: str,
        mark: str,
        on_end: Callable[[RuntimeSession], None],
        on_removed: Callable[[RuntimeSession], None],
    ) -> None:
        self.runtime, self.qualifier, self.session_id, self.mark = runtime, qualifier, session_id, mark
        self._shared, self._on_end, self._on_removed = shared, on_end, on_removed
        self._limits = shared.limits.with_memory(runtime.memory_bytes)
        self._snapshots, self._folders = snapshots, shared.folder
        self._started_at = self._last_used_at = datetime.now(UTC)
        self._stream = f"{self._started_at:%Y/%m/%d}/[runtime-logs-{session_id}]{mark}"
        self._group = runtime_group(runtime, f"/aws/bedrock-agentcore/runtimes/{runtime.runtime_id}-{qualifier}")
        self._notices = SessionNotices(shared.sink, group=self._group, stream=self._stream, session_id=session_id)
        self._times = StartTimes()
        self._running: RunningProcess | None = None
        self._calls = self._invocations = 0
        self._stopping, self._why_ended, self._failed = False, "", ""
        self._start_error: Exception | None = None
        self._drained, self._ended = asyncio.Event(), asyncio.Event()
        self.ended = asyncio.Event()  # set as soon as it no longer accepts invocations
        self._limit, self._limits_noted = "", set[str]()
        self._tasks: set[asyncio.Task[None]] = set()
        self._own_requests = OwnRequests(shared.serve_endpoint, self._spawn, self._ended)
        self._start = self._spawn(self._start_up())

    @property
    def key(self) -> tuple[str, str, str]:
        """Runtime id, qualifier and session id."""
        return self.runtime.runtime_id, self.qualifier, self.session_id

    @property
    def live(self) -> bool:
        """Whether it accepts invocations."""
        return not self._stopping and not self._failed and (self._running is None or self._running.process.is_running())

    @property
    def pid(self) -> int:
        """The process's id; 0 while none runs."""
        return self._running.process.pid if self._running is not None else 0

    def info(self) -> SessionInfo:
        """Return the session's current state."""
        pid = self.pid
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
        """Send an invocation as soon as the process is ready.

        Raises:
            AgentProcessError: The agent failed to start or to answer.
            SessionEndedError: The session is ending.
            ProcessGoneError: The process ended before anything was sent.
        """
        running = await self.begin()
        connection: AgentConnection | None = None
        try:
            connection = await running.connect()
            async with asyncio.timeout(self._shared.answer_timeout_s):
                host = f"127.0.0.1:{self.runtime.port}"
                headers = {"host": host, _SESSION_HEADER: self.session_id, **call.headers}
                head = await connection.ask(call.method, call.path or self.runtime.path, headers, call.body)
        except (ConnectionClosedError, NotHttpError, TimeoutError) as failure:
            explained = await self.explain(failure, mid_answer=False)
            self.finish(connection)
            raise explained from failure
        except BaseException:
            self.finish(connection)
            raise
        chunks = AnswerChunks(
            connection,
            timeout_s=self._shared.answer_timeout_s,
            limit_bytes=self._shared.limits.answer,
            release=self.finish,
            explain=self._explain_cut_answer,
        )
        return AgentAnswer(status=head.status, headers=head.headers, chunks=chunks)

    async def begin(self) -> RunningProcess:
        """Start to use the session, which is not idle until `finish`; return its process as soon as it is ready.

        Raises:
            AgentProcessError: The agent failed to start.
            SessionEndedError: The session is ending.
        """
        self._calls += 1
        self._invocations += 1
        self._last_used_at = datetime.now(UTC)
        try:
            if not self._start.done():
                await asyncio.shield(self._start)
            running = self._raise_unless_running()
            running.clocks.pause()
        except BaseException:
            self.finish()
            raise
        return running

    def finish(self, connection: AgentConnection | None = None) -> None:
        """End a use, whatever its outcome.

        Args:
            connection: The connection that it used.
        """
        self._calls -= 1
        self._last_used_at = datetime.now(UTC)
        if self._running is not None:
            if connection is not None:
                self._running.connections.give_back(connection)
            if self._calls == 0 and self._start.done() and self.live:
                self._running.clocks.resume()

    async def end(self, why: str, *, grace_s: float = _GRACE_S) -> None:
        """End the session and wait until all its processes and files are gone.

        Args:
            why: The reason, which current invocations receive as a `SessionEndedError`.
            grace_s: Time between SIGTERM and SIGKILL.
        """
        if not self._stopping:
            self._stopping, self._why_ended = True, why
            self.ended.set()
            self._on_end(self)
            if self._running is not None:
                self._running.connections.close_all()
                await self._running.process.end(grace_s=grace_s)
        await self._ended.wait()

    # Start and end of the process

    async def _start_up(self) -> None:
        try:
            running = await self._start_process()
        except Exception as failure:  # noqa: BLE001 (whatever fails: a session that does not end cannot be stopped)
            if not isinstance(failure, (SnapshotError, OSError, ValueError)):
                _log.exception("Session %s of %s failed to start", self.session_id, self.runtime.runtime_id)
            prefix = "" if isinstance(failure, SnapshotError) else "The agent could not be started: "
            self._failed, self._start_error = f"{prefix}{failure}", failure
            self._on_end(self)
            await self._leave()
            return
        self._running = running
        self._spawn(self._clean_up(running))
        self._failed = await self._make_ready(running)
        if self._failed:
            self._on_end(self)
            await running.process.end(grace_s=0)
            await self._drained.wait()
            return
        if self._shared.otlp is not None:
            self._notices.record_start(self._times, self.runtime.platform)
        if self._calls == 0:
            running.clocks.resume()

    async def _make_ready(self, running: RunningProcess) -> str:
        """Ping the agent, and call the warm-up hook if no snapshot contains its effect; return the failure, if any."""
        try:
            async with asyncio.timeout(self._shared.start_timeout_s):
                health = await ask_health(running.connections, self.runtime)
        except TimeoutError:
            return self._shared.not_serving(self.runtime)
        except (ConnectionClosedError, NotHttpError) as failure:
            return await self._explain_start(failure)
        if not health.is_healthy:
            return f"The agent is not healthy: {health.probe} answered {health.status}"
        self._times.note_answer()
        if self.runtime.warm_up and not isinstance(running.process, RestoredProcess):
            try:
                await call_hook(self.runtime, running.process, running.connections, self._explain_start)
            except WarmUpError as failure:
                return str(failure)
            self._times.warmed_up()
        return ""

    async def _start_process(self) -> RunningProcess:
        process, output = await ProcessStart(
            shared=self._shared,
            runtime=self.runtime,
            snapshots=self._snapshots,
            qualifier=self.qualifier,
            session_id=self.session_id,
            mark=self.mark,
            limits=self._limits,
            group=self._group,
            stream=self._stream,
            notices=self._notices,
            times=self._times,
            own_requests=self._own_requests,
            check_wanted=self._check_wanted,
            ended=self.ended,
            on_folders=self._keep_folders,
            on_limit=self._on_limit,
        ).run()
        clocks = SessionClocks(
            idle_timeout_s=self.runtime.idle_timeout_s,
            max_lifetime_s=self.runtime.max_lifetime_s,
            ask=self._background_work,
            end=self.end,
        )
        return RunningProcess(process=process, output=output, connections=Connections(process.address), clocks=clocks)

    def _check_wanted(self) -> None:
        if self._stopping:
            raise InterruptedError(self._why_ended)

    def _keep_folders(self, folders: Path) -> None:
        self._folders = folders

    async def _clean_up(self, running: RunningProcess) -> None:
        """Wait for the process to end and remove its files."""
        await running.process.ended.wait()
        self._shared.watch.remove(self.mark)
        if name := self._shared.cgroups.reached(self.mark):
            self._note_limit(name)
        was_stopping = self._stopping or bool(self._limit)
        self.ended.set()
        self._on_end(self)
        running.clocks.stop()
        running.connections.close_idle()
        await running.output.finish(within_s=_DRAIN_S)
        if self._shared.otlp is not None and not was_stopping and not self._failed:
            self._notices.ended_unexpectedly(running.process.how_it_ended())
        self._drained.set()
        await self._leave()

    def _on_limit(self, name: str) -> None:
        """Record that the session reached a limit, and end it; a process with too many open files fails by itself."""
        self._note_limit(name)
        if name != "open_files":
            self._limit = self._limits.reached(name)
            self._spawn(self.end(self._limit, grace_s=0))

    def _note_limit(self, name: str) -> None:
        if name in self._limits_noted:
            return
        self._limits_noted.add(name)
        if name != "open_files":
            self._limit = self._limits.reached(name)
        self._notices.reached_limit(self._limits.reached(name))

    async def _leave(self) -> None:
        try:
            self._shared.cgroups.remove(self.mark)
            if self._shared.keys is not None:
                self._shared.keys.end(self.mark)
            await asyncio.to_thread(remove_workspace, self._folders, self.mark)
            if self._folders != self._shared.folder:
                record_path(self._shared.folder, self.mark).unlink(missing_ok=True)
        finally:
            self._snapshots.release(self.runtime, self.mark)
            self._on_removed(self)
            self._ended.set()

    # Calls

    def _raise_unless_running(self) -> RunningProcess:
        if self._limit:
            raise AgentProcessError(self._limit, self._log_tail())
        if self._stopping:
            raise SessionEndedError(self._why_ended)
        if self._failed or self._running is None:
            raise AgentProcessError(self._failed, self._log_tail()) from self._start_error
        return self._running

    async def _explain_cut_answer(self, failure: Exception) -> AgentProcessError | SessionEndedError:
        return await self.explain(failure, mid_answer=True)

    async def _explain_start(self, failure: Exception) -> str:
        return str(await self.explain(failure, mid_answer=False))

    async def explain(self, failure: Exception, *, mid_answer: bool) -> AgentProcessError | SessionEndedError:
        """Return the error for a failed invocation, with the process's exit if that was the cause."""
        if self._limit:
            return AgentProcessError(self._limit, self._log_tail())
        if self._stopping:
            return SessionEndedError(self._why_ended)
        if isinstance(failure, TimeoutError):
            subject = "no further byte" if mid_answer else "no answer"
            return AgentProcessError(
                f"The agent sent {subject} within {self._shared.answer_timeout_s:g} s", self._log_tail()
            )
        if isinstance(failure, AnswerTooLargeError):
            self._notices.reached_limit(self._limits.reached("answer"))
            return AgentProcessError(self._limits.reached("answer"), self._log_tail())
        if isinstance(failure, NotHttpError):
            return AgentProcessError(f"The agent's response is not HTTP: {failure}", self._log_tail())
        when = "in the middle of its answer" if mid_answer else "without an answer"
        if self._running is not None:
            try:
                async with asyncio.timeout(EXIT_SOON_S):
                    await self._running.process.ended.wait()
                    await self._drained.wait()
            except TimeoutError:
                pass
            if self._limit:
                return AgentProcessError(self._limit, self._log_tail())
            if self._running.process.exit_code is not None:
                at = when if self._start.done() else "before it served a request"
                return AgentProcessError(
                    f"The agent's process {self._running.process.how_it_ended()} {at}", self._log_tail()
                )
        return AgentProcessError(f"The agent closed the connection {when}", self._log_tail())

    def _log_tail(self) -> tuple[str, ...]:
        return tuple(self._running.output.tail) if self._running is not None else ()

    async def _background_work(self) -> Health | None:
        try:
            async with asyncio.timeout(_PING_TIMEOUT_S):
                return await ask_health(self._raise_unless_running().connections, self.runtime)
        except (ConnectionClosedError, NotHttpError, TimeoutError, SessionEndedError, AgentProcessError):
            return None

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
