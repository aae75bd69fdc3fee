"""The settings that all sessions of a pool share, and the environment variables of one session."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..contract import Dial, KeyIssuer, LogSink, RuntimeVersion
from ..sandbox.bubblewrap import HOME
from ..sandbox.cgroups import Cgroups
from ..sandbox.isolation import Isolation
from ..sandbox.limits import Limits
from ..sandbox.watching import Watch
from .environment import session_environment
from .otel import OtlpTarget, otel_environment

ServeEndpoint = Callable[[socket.socket, Dial], Awaitable[Callable[[], None]]]
"""Answers requests on a session's own socket; returns a function that stops it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """Settings that all sessions of a pool share."""

    folder: Path
    sink: LogSink
    interpreter: str
    service_environment: Mapping[str, str]
    user_environment: Mapping[str, str]
    start_timeout_s: float
    answer_timeout_s: float
    otlp: OtlpTarget | None = None
    announces_starts: bool = False
    cgroups: Cgroups
    watch: Watch
    isolation: Isolation = Isolation()  # noqa: RUF009 (frozen)
    limits: Limits = Limits()  # noqa: RUF009 (frozen)
    readable: Sequence[Path] = ()
    writable: Sequence[Path] = ()
    port: int = 0
    serve_endpoint: ServeEndpoint | None = None
    keys: KeyIssuer | None = None
    aws_names: Callable[[], Mapping[str, str]] = dict[str, str]

    async def prepare(self) -> None:
        """Create the certificates that the sessions' variables name, once, outside the event loop."""
        await asyncio.to_thread(self.aws_names)

    def not_serving(self, runtime: RuntimeVersion) -> str:
        """Return the error message for an agent that did not answer its first ping in time."""
        return (
            f"The agent did not start serving within {self.start_timeout_s:g} s; agents must serve with uvicorn or "
            f"BedrockAgentCoreApp.run(); the runtime speaks {runtime.protocol} on port {runtime.port}"
        )

    def environment(self, runtime: RuntimeVersion, *, qualifier: str, session_id: str, mark: str) -> dict[str, str]:
        """Return the variables of a session's process, with a key that is issued for it.

        Args:
            runtime: The version of the runtime that the session runs.
            qualifier: The endpoint.
            session_id: The session.
            mark: The mark of the session's process.
        """
        service, otlp = {**self.service_environment, **self.aws_names()}, self.otlp
        if self.keys is not None:
            key = self.keys.issue(runtime, qualifier=qualifier, session_id=session_id, mark=mark)
            service = {**service, **key.environment}
            otlp = replace(otlp, access_key=key.token) if otlp is not None else None
        return session_environment(
            runtime,
            service,
            self.user_environment,
            mark=mark,
            home=HOME if self.isolation.level == "bubblewrap" else "",
            telemetry=otel_environment(otlp, runtime, qualifier=qualifier, session_id=session_id, stream=mark),
        )
