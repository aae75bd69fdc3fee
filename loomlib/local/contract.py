"""Values that the components of the local AgentCore exchange: versions, invocations, responses and failures."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

Dial = Callable[[str, int], Awaitable[socket.socket]]
"""Connects to a host and a port from a session's own network; raises `OSError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeVersion:
    """One immutable version of a runtime, extracted and ready to start.

    Attributes:
        code: Folder with the package's files.
        entry_point: AWS's list of one or two items, such as `("opentelemetry-instrument", "agent.py")`.
        environment: The runtime's own variables.
        search_path: Folders that precede the workbench's own packages on `sys.path`, such as installed requirements.
        header_allowlist: Further request headers that the agent may see, in lower case.
        role_arn: The role of its sessions.
        protocol: HTTP, MCP, A2A or AGUI.
        port: The port on which its server listens.
        path: The path at which its server accepts invocations.
        authorizer: AWS's `customJWTAuthorizer`; None when callers sign their requests.
        mount_paths: Mount paths of the storage that outlives a session.
        memory_bytes: The memory of a session; None for the limit of all sessions.
        interpreter: The Python that runs its sessions; None for the workbench's.
        interpreter_folders: The folders of that Python.
        node: The Node.js that runs its script; None for Python.
        allowed_ports: First and last port of each range that session endpoints reach.
        platform: "V1" boots each session, "V2" restores it from a snapshot of the version.
        warm_up: Path that is called once before the snapshot is taken, and in each session that is booted, not restored
            same; empty without a hook.
        warm_up_port: The agent's port to which the warm-up request is sent.
    """

    runtime_id: str
    arn: str
    version: str
    code: Path
    entry_point: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    search_path: tuple[Path, ...] = ()
    idle_timeout_s: float = 900.0
    max_lifetime_s: float = 28_800.0
    header_allowlist: tuple[str, ...] = ()
    role_arn: str = ""
    protocol: str = "HTTP"
    port: int = 8080
    path: str = "/invocations"
    authorizer: Mapping[str, Any] | None = None
    mount_paths: tuple[str, ...] = ()
    memory_bytes: int | None = None
    allowed_ports: tuple[tuple[int, int], ...] = ()
    interpreter: Path | None = None
    interpreter_folders: tuple[Path, ...] = ()
    node: Path | None = None
    platform: str = "V1"
    warm_up: str = ""
    warm_up_port: int = 8080


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """One rule of an authorizer, applied to a token; `message` is empty if the token satisfies it."""

    claim: str
    expected: tuple[str, ...]
    given: tuple[str, ...]
    passed: bool
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallIdentity:
    """The caller of a runtime, as the service verified it.

    Attributes:
        kind: "sigv4" or "jwt".
        caller: The ARN of the key's principal, or the issuer and the subject of the token.
        user_id: The user for whom a signed call claims to act; the claim is not verified.
        issuer: The token's issuer.
        subject: Its subject.
        client_id: Its client.
        scopes: Its scopes.
        expires_at: When it expires, as Unix time.
        tenant: The tenant of the token's user, or of the calling session; empty for none.
        checks: The authorizer's rules with their outcomes.
    """

    kind: Literal["sigv4", "jwt"]
    caller: str
    user_id: str = ""
    issuer: str = ""
    subject: str = ""
    client_id: str = ""
    scopes: tuple[str, ...] = ()
    expires_at: float | None = None
    tenant: str = ""
    checks: tuple[ClaimCheck, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCall:
    """One request to a session's server.

    Attributes:
        headers: Those that the agent may see, by lower-case names.
        method: The HTTP method.
        path: The path; the runtime's own if empty.
    """

    runtime: RuntimeVersion
    qualifier: str
    session_id: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    method: str = "POST"
    path: str = ""
    identity: CallIdentity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """The response of an agent's process.

    `chunks` yields each HTTP chunk as it arrives. It raises `AgentProcessError` when the process ends before the
    response is complete; the headers are already sent by then, so the client sees an interrupted stream.
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


class AgentProcessError(Exception):
    """A failure of the agent: `reason` is a sentence, `log_tail` its last output lines (RuntimeClientError, 424)."""

    def __init__(self, reason: str, log_tail: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.reason, self.log_tail = reason, tuple(log_tail)


class SessionLimitError(Exception):
    """A quota that a session or an invocation would exceed; `kind` is "throttle" (429) or "quota" (402)."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


class SessionEndedError(Exception):
    """The session ended before it could answer (RetryableConflictException, 409)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """One active session; `rss_bytes` is the resident memory of its process, 0 when unknown."""

    runtime_id: str
    qualifier: str
    version: str
    session_id: str
    pid: int
    stream: str
    started_at: datetime
    last_used_at: datetime
    invocations: int
    rss_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeInfo:
    """One deployed runtime, its newest version and that version's status."""

    runtime_id: str
    name: str
    arn: str
    version: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKey:
    """A session's own key: the variables for AWS SDKs, and the bearer token for its telemetry."""

    environment: Mapping[str, str] = field(repr=False)
    token: str = field(repr=False)


class KeyIssuer(Protocol):
    """Issues a key for each session's process."""

    def issue(self, runtime: RuntimeVersion, *, qualifier: str, session_id: str, mark: str) -> SessionKey:
        """Return a new key.

        Args:
            runtime: The version of the runtime that the session runs.
            qualifier: The endpoint.
            session_id: The session; the key becomes invalid when it ends.
            mark: The mark of the session's process, unique among all processes of the service.
        """
        ...

    def end(self, mark: str) -> None:
        """Revoke the key of a session."""
        ...


class LogSink(Protocol):
    """Accepts log lines in order; never blocks and never drops a line."""

    def write(self, *, group: str, stream: str, timestamp_ms: int, message: str) -> None:
        """Append a line to a stream.

        Args:
            group: The log group.
            stream: The stream's name.
            timestamp_ms: The event's time in Unix milliseconds.
            message: The line.
        """
        ...
