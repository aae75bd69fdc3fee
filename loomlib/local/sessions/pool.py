"""All sessions of the local AgentCore, each started by its first invocation."""

from __future__ import annotations

import asyncio
import compileall
import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from ..contract import (
    AgentAnswer,
    AgentCall,
    AgentProcessError,
    KeyIssuer,
    LogSink,
    RuntimeVersion,
    SessionEndedError,
    SessionInfo,
)
from ..sandbox.cgroups import Cgroups
from ..sandbox.isolation import Isolation, choose
from ..sandbox.limits import Limits
from ..sandbox.watching import Watch
from .keeper import Keeper
from .otel import OtlpTarget
from .pool_settings import PoolSettings, ServeEndpoint
from .running import ProcessGoneError
from .session import RuntimeSession
from .snapshot_store import Snapshots
from .usage import MeteredChunks, UsageMeter
from .use import SessionUse
from .workspace import sweep_leftovers


class SessionPool:
    """The sessions of one home folder, by runtime, qualifier and session id.

    Creating the pool ends the processes that an earlier one left there, so only one service may use a home folder at a
    time. A keeper ends the agents if this process is killed.

    Args:
        home: The home folder; sessions work in its folder `sessions`.
        sink: Where agents' output goes.
        environment: Variables for every agent.
        admit: Called as `admit(runtime_id, qualifier, active_sessions)` before a process is started; may raise
            `SessionLimitError`.
        start_timeout_s: Seconds for an agent to answer its first ping.
        answer_timeout_s: Longest time until an agent begins its response, and between two chunks of it, in seconds.
        interpreter: The Python interpreter of the agents.
        otlp: Where agents send telemetry.
        announces_starts: Whether each process's log begins with `START_LINE`.
        keys: Issues a key for each session; without it all use the key in `environment`.
        logs_usage: Whether CPU time and memory are written to the runtime's usage log.
        isolation: The isolation of sessions from this machine; if None, the strongest that it offers, on its own
            network.
        limits: Limits of one session's resources.
        readable: Further files and folders that agents may read.
        writable: Further folders that agents may write.
        port: The service's port.
        serve_endpoint: Serves the socket through which a session with its own network reaches the service.
        aws_names: Returns the variables with which agents reach the service under AWS's own addresses; called once,
            in a thread, before the first session.
    """

    def __init__(
        self,
        *,
        home: Path,
        sink: LogSink,
        environment: Mapping[str, str],
        admit: Callable[[str, str, int], None],
        start_timeout_s: float,
        answer_timeout_s: float,
        interpreter: str = sys.executable,
        otlp: OtlpTarget | None = None,
        announces_starts: bool = False,
        logs_usage: bool = False,
        isolation: Isolation | None = None,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
        port: int = 0,
        serve_endpoint: ServeEndpoint | None = None,
        keys: KeyIssuer | None = None,
        aws_names: Callable[[], Mapping[str, str]] = dict[str, str],
    ) -> None:
        folder = (home / "sessions").absolute()
        sweep_leftovers(folder)
        # A session sees this folder read-only: without this each would compile again the modules that it imports from
        # it, 15 ms for an agent that traces. A read-only folder stays unchanged.
        compileall.compile_dir(Path(__file__).parent, quiet=2)
        self._keeper = Keeper(folder)
        self._cgroups = Cgroups()
        self._watch = Watch(self._cgroups)
        self._shared = PoolSettings(
            folder=folder,
            sink=sink,
            interpreter=interpreter,
            service_environment=dict(environment),
            user_environment=dict(os.environ),
            start_timeout_s=start_timeout_s,
            answer_timeout_s=answer_timeout_s,
            otlp=otlp,
            announces_starts=announces_starts,
            isolation=_without_endpoint(choose(home=home)) if isolation is None else isolation,
            limits=limits,
            cgroups=self._cgroups,
            watch=self._watch,
            readable=(*readable, *_certificates()),
            writable=tuple(writable),
            port=port,
            serve_endpoint=serve_endpoint,
            keys=keys,
            aws_names=cache(aws_names),
        )
        self._snapshots = Snapshots(self._shared)
        self._usage = UsageMeter(sink) if logs_usage else None
        self._admit = admit
        self._sessions: dict[tuple[str, str, str], RuntimeSession] = {}
        self._processes: set[RuntimeSession] = set()  # includes sessions that are ending
        self._closing = False

    @property
    def shared(self) -> PoolSettings:
        """The settings that all sessions share."""
        return self._shared

    async def invoke(self, call: AgentCall) -> AgentAnswer:
        """Send an invocation to its session; start the session if needed.

        Raises:
            AgentProcessError: The agent failed.
            SessionLimitError: A quota forbids a new session.
            SessionEndedError: The session, or the service, is ending.
        """
        try:
            return await self._invoke(call)
        except ProcessGoneError:
            pass  # nothing was sent, so the session can start cold again
        try:
            return await self._invoke(call)
        except ProcessGoneError as failure:
            raise AgentProcessError(
                f"The agent's process ended twice before it accepted the invocation: {failure}"
            ) from failure

    async def use(self, call: AgentCall) -> SessionUse:
        """Start to use a session for something other than an invocation; start the session if needed.

        Args:
            call: The call that identifies the session; its body is not sent.

        Raises:
            AgentProcessError: The agent failed to start.
            SessionLimitError: A quota forbids a new session.
            SessionEndedError: The session, or the service, is ending.
        """
        session, usage = self._session(call), self._usage
        running = await session.begin()
        if usage is None:
            return SessionUse(session, running, lambda: None)
        mark, pid = session.mark, running.process.pid
        usage.began(mark, call, pid)
        return SessionUse(session, running, lambda: usage.ended(mark, pid))

    def _session(self, call: AgentCall) -> RuntimeSession:
        """Return the session of a call, a new one if there is none."""
        if self._closing:
            raise SessionEndedError("The local AgentCore is stopping")
        key = (call.runtime.runtime_id, call.qualifier, call.session_id)
        session = self._sessions.get(key)
        if session is None or not session.live:
            if session is not None:
                self._forget(session)
            self._admit(call.runtime.runtime_id, call.qualifier, len(self._sessions))
            session = RuntimeSession(
                self._shared,
                call.runtime,
                snapshots=self._snapshots,
                qualifier=call.qualifier,
                session_id=call.session_id,
                mark=str(uuid.uuid4()),
                on_end=self._forget,
                on_removed=self._processes.discard,
            )
            self._sessions[key] = session
            self._processes.add(session)
        return session

    async def _invoke(self, call: AgentCall) -> AgentAnswer:
        session = self._session(call)
        if self._usage is None:
            return await session.call(call)
        self._usage.began(session.mark, call, session.pid)
        try:
            answer = await session.call(call)
        except BaseException:
            self._usage.ended(session.mark, session.pid)
            raise
        return replace(answer, chunks=MeteredChunks(answer, self._usage, session.mark, session.pid))

    async def build(self, runtime: RuntimeVersion) -> None:
        """Take the snapshot of a version, if its platform has one.

        Raises:
            SnapshotError: Its process did not start, or its warm-up hook failed.
        """
        await self._shared.prepare()
        await self._snapshots.find(runtime)

    async def end_version(self, runtime_id: str, version: str) -> None:
        """End the snapshot of a deleted version."""
        await self._snapshots.end(runtime_id, version)

    async def stop(self, runtime_id: str, qualifier: str, session_id: str) -> bool:
        """End one session and wait until its processes have ended; return False when there is none.

        Args:
            runtime_id: The runtime's id.
            qualifier: The endpoint.
            session_id: The session.
        """
        session = self._sessions.get((runtime_id, qualifier, session_id))
        if session is None:
            return False
        await session.end("The session was stopped")
        return True

    async def stop_runtime(self, runtime_id: str) -> int:
        """End every session of a runtime and return how many there were."""
        sessions = [session for session in self._sessions.values() if session.runtime.runtime_id == runtime_id]
        self._snapshots.abandon(runtime_id)
        await asyncio.gather(*(session.end("The runtime was deleted") for session in sessions))
        await self._snapshots.end(runtime_id)
        return len(sessions)

    def sessions(self) -> Sequence[SessionInfo]:
        """Return the active sessions, the oldest first."""
        return [session.info() for session in self._sessions.values()]

    async def close(self) -> None:
        """End every session and wait until all processes have ended."""
        self._closing = True
        self._snapshots.abandon()
        await asyncio.gather(*(session.end("The local AgentCore is stopping") for session in list(self._processes)))
        await self._snapshots.close()
        self._watch.close()
        self._cgroups.close()
        await asyncio.to_thread(self._keeper.close)

    def _forget(self, session: RuntimeSession) -> None:
        if self._sessions.get(session.key) is session:
            del self._sessions[session.key]


def _without_endpoint(isolation: Isolation) -> Isolation:
    return replace(isolation, network="shared", network_program="") if isolation.has_own_network else isolation


def _certificates() -> list[Path]:
    """Return the certificates that the user's variables name, which the agents' variables name as well."""
    return [Path(os.environ[name]) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)]
