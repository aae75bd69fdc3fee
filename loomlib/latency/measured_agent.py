"""The agent that a latency study measures, as a protocol that the workbench implements."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from loomlib.jobs.dask import WorkerReference

if TYPE_CHECKING:
    from loomlib.agents import InvocationRecord
    from loomlib.store import InvocationRow, Store
    from loomlib.telemetry import AgentStart
    from loomlib.telemetry.session_starts import SessionStartRecord

StoredAnswer: TypeAlias = "InvocationRecord | InvocationRow"
"""The record of one call, as it is returned or as it is read from the store."""


class StudiedAgent(Protocol):
    """The operations that every study needs from its agent."""

    @property
    def name(self) -> str:
        """The runtime's name."""
        ...

    @property
    def arn(self) -> str:
        """The runtime's ARN."""
        ...

    @property
    def qualifier(self) -> str:
        """The endpoint that is called."""
        ...

    @property
    def labels(self) -> Sequence[str]:
        """Provenance labels shown beside every number."""
        ...

    @property
    def scope(self) -> str:
        """The environment: "local" or "aws"."""
        ...

    @property
    def store(self) -> Store:
        """Where studies and invocations are stored."""
        ...

    def end_session(self, session_id: str) -> object:
        """End a session; may block."""
        ...

    def is_alive(self) -> Awaitable[bool]:
        """Return whether the service behind the agent accepts connections."""
        ...


class MeasuredAgent(StudiedAgent, Protocol):
    """An agent that a study measures; the workbench's agents provide it."""

    def measure(
        self, prompt: str, *, session_id: str, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> Awaitable[StoredAnswer]:
        """Make one call. A failed call is a record with status "error"; it is never repeated and nothing is raised.

        Args:
            prompt: The prompt to send.
            session_id: The runtime session; AgentCore starts it with its first call.
            labels: Labels stored with the invocation.
            timeout_s: Seconds without a byte after which the call fails; the settings' by default.
        """
        ...

    def agent_start(self, invocation_id: int) -> AgentStart:
        """Search the logs for the agent's start line, for as long as the settings allow; blocks."""
        ...


class StudyTargets(Protocol):
    """What an agent offers to studies."""

    def study_target(self) -> MeasuredAgent:
        """Return the agent as a study measures it."""
        ...


@runtime_checkable
class AgentWithStudyTarget(Protocol):
    """An agent that makes the object a study measures, such as `bench.agent("calculator")`."""

    @property
    def targets(self) -> StudyTargets:
        """What the agent offers to studies."""
        ...


@runtime_checkable
class AgentWithPauses(Protocol):
    """An agent whose garbage collections are reported; the local AgentCore's are."""

    def garbage_collections_ms(self, invocation_ids: Sequence[int]) -> Mapping[int, float]:
        """Return for each invocation how long full garbage collections paused its process; may block.

        Invocations about which nothing is known are left out.
        """
        ...


@runtime_checkable
class AgentWithProcessStarts(Protocol):
    """An agent whose logs tell which calls started a process (a microVM)."""

    def process_starts(self, invocation_ids: Sequence[int]) -> Mapping[int, bool]:
        """Return for each invocation whether a process was started for it; may block.

        Invocations about which nothing is known are left out.
        """
        ...


@runtime_checkable
class AgentOfWorkers(Protocol):
    """An agent that the workers of a Dask cluster can create for themselves."""

    def for_workers(self) -> WorkerReference:
        """Return how a worker creates this agent: an importable function, and JSON values without secrets."""
        ...


@runtime_checkable
class AgentWithPlatform(Protocol):
    """An agent whose runtime's platform version is known."""

    @property
    def platform_version(self) -> str:
        """V1, where each session boots, V2, where each is restored from a snapshot, or empty when unknown."""
        ...


@runtime_checkable
class AgentWithRelease(Protocol):
    """An agent that reports what its endpoint serves."""

    def release(self) -> Mapping[str, str]:
        """Return the `version` and the `code` (a digest) that the endpoint serves, without what is unknown; may block.

        `loom watch` uses it to name the version that made an agent slower.
        """
        ...


@runtime_checkable
class AgentWithStarts(Protocol):
    """An agent that records how its sessions started; agents on the local AgentCore do."""

    def session_starts(self, session_ids: Sequence[str]) -> Mapping[str, SessionStartRecord]:
        """Return how sessions started, by session; may block. Sessions without a record are left out."""
        ...


@runtime_checkable
class AgentAsProcess(Protocol):
    """An agent whose process can be started without AgentCore, such as HTTP agents on the local AgentCore."""

    def process_variables(self) -> Mapping[str, str]:
        """Return the variables that point the process's AWS clients to the agent's environment."""
        ...

    def request_body(self, prompt: str, session_id: str) -> bytes:
        """Return the body of a request."""
        ...


def platform_version(agent: MeasuredAgent) -> str:
    """Return the platform version of an agent's runtime; empty when unknown."""
    return agent.platform_version if isinstance(agent, AgentWithPlatform) else ""


def release_fields(agent: MeasuredAgent) -> dict[str, str]:
    """Return what an agent's endpoint serves, as fields of a study's environment; empty when unknown."""
    release: Mapping[str, str] = agent.release() if isinstance(agent, AgentWithRelease) else {}
    return {f"agent_{name}": value for name, value in release.items() if value}


def measured_agent(agent: MeasuredAgent | AgentWithStudyTarget) -> MeasuredAgent:
    """Return an agent's `targets.study_target()` when it has one, else the agent itself."""
    return agent.targets.study_target() if isinstance(agent, AgentWithStudyTarget) else agent
