"""The agent of a load test, as a protocol that the workbench implements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from loomlib.store import InvocationRow

from ..load.bodies import Bodies
from ..load.calls import LoadCall
from ..measured_agent import StudiedAgent

if TYPE_CHECKING:
    from loomlib.telemetry.cost import Cost
    from loomlib.telemetry.traces import Breakdown

    from ..load.engine import LoadTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledCall:
    """A call of the load engine with its times of day, as it is stored with other invocations.

    Attributes:
        call: The call.
        sent_unix_s: When it was sent, in Unix seconds.
        done_unix_s: When it ended.
        trace_id: The trace that it sent in its trace context.
    """

    call: LoadCall
    sent_unix_s: float
    done_unix_s: float
    trace_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTrace:
    """The telemetry of one call.

    Attributes:
        invocation_id: The stored invocation.
        state: How the search for its spans ended, one of `loomlib.telemetry.TRACE_STATES`.
        breakdown: Breakdown of its time.
        span_ms: The own time of its spans by name, without that of the spans below them, in milliseconds.
        cost: What it cost.
    """

    invocation_id: int
    state: str
    breakdown: Breakdown = field(repr=False)
    span_ms: Mapping[str, float] = field(repr=False)
    cost: Cost = field(repr=False)

    @property
    def has_spans(self) -> bool:
        """Whether its spans were found."""
        return self.state in ("found", "partial")


class LoadTestAgent(StudiedAgent, Protocol):
    """An agent that a load test calls; the workbench's agents provide it."""

    @property
    def platform_version(self) -> str:
        """V1, V2, or empty when unknown."""
        ...

    @property
    def folder(self) -> Path:
        """The folder of the journals of load tests."""
        ...

    def target(self) -> LoadTarget:
        """Return the target of the load engine's requests, and their authorization."""
        ...

    def bodies(self, prompt: str) -> Bodies:
        """Return the bodies of calls with a prompt, in the agent's own format."""
        ...

    def requests(self, requests: Bodies) -> Bodies:
        """Return requests of several kinds in the agent's own format.

        Args:
            requests: Requests of `loomlib.latency.load.bodies`.

        Raises:
            NotSupportedError: The agent speaks a protocol in which they cannot be sent.
        """
        ...

    def recorded(self, until_id: int | None = None) -> Sequence[InvocationRow]:
        """Return the agent's stored invocations that were not made by a study.

        Args:
            until_id: The newest of them; None for all.
        """
        ...

    def mean_cost(self) -> tuple[float, int] | None:
        """Return the mean cost of a call in US dollars and the number of calls behind it; None if no cost is known."""
        ...

    def keep(self, calls: Sequence[SampledCall], prompt: str, labels: Sequence[str]) -> list[int]:
        """Store calls beside other invocations, and return their ids.

        Args:
            calls: The calls.
            prompt: The prompt that they sent.
            labels: Labels of the stored invocations.
        """
        ...

    def traces(self, invocation_ids: Sequence[int]) -> list[LoadTrace]:
        """Return the telemetry of stored calls; waits as long as the settings allow.

        Args:
            invocation_ids: Ids that `keep` returned.
        """
        ...


class LoadTargets(Protocol):
    """What an agent offers to load tests."""

    def load_target(self) -> LoadTestAgent:
        """Return the agent in the form that a load test calls."""
        ...


@runtime_checkable
class AgentWithLoadTarget(Protocol):
    """An agent that makes the object a load test calls, such as `bench.agent("calculator")`."""

    @property
    def targets(self) -> LoadTargets:
        """What the agent offers to load tests."""
        ...


def loaded_agent(agent: LoadTestAgent | AgentWithLoadTarget) -> LoadTestAgent:
    """Return an agent's `targets.load_target()` when it has one, else the agent itself."""
    return agent.targets.load_target() if isinstance(agent, AgentWithLoadTarget) else agent
