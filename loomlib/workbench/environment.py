"""The two houses a workbench can stand in: what each says of itself, and what it takes to deploy there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .. import local
from ..errors import LocalServiceError, NotSupportedError
from ..telemetry.trace_lookup import PollingPolicy

_LOCAL_REMEDY = (
    "Strands agents export by themselves. Any other agent does as soon as it makes OpenTelemetry spans "
    "(opentelemetry.trace.get_tracer(…)); the variables for its own exporter are set already. "
    "Look for OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER or AGENT_OBSERVABILITY_ENABLED among the runtime's variables."
)
_AWS_REMEDY = (
    "On AWS: switch on CloudWatch Transaction Search once for the account and region, add aws-opentelemetry-distro "
    "to the agent's requirements, and start it with opentelemetry-instrument (the AgentCore toolkit does)."
)


class Environment(Protocol):
    """Where AgentCore is."""

    def poll_interval_s(self, attempts: int) -> float | None:
        """Seconds between looks for a log line, given how many looks there are; None: as the settings say."""
        ...

    @property
    def same_clock(self) -> bool:
        """Whether agents read the clock that this process reads."""
        ...

    def patience(self) -> PollingPolicy:
        """How long to wait for spans, and what to do where none come."""
        ...

    def labels(self) -> tuple[str, ...]:
        """What must be said beside every number that comes from here."""
        ...

    def environment(self) -> Mapping[str, str]:
        """The variables that point other AWS clients here; empty where the usual ones do."""
        ...

    def session_count(self) -> int | None:
        """How many sessions are alive, None when that is not told."""
        ...

    def check_deploy(self, what: str) -> None:
        """Raises `NotSupportedError` when nothing can be deployed here."""
        ...

    def leave(self) -> None:
        """Let go; a service that only this process used ends."""
        ...


class LocalEnvironment:
    """The local AgentCore. The lease keeps a service alive that nobody started with `loom up`."""

    def __init__(self, state: local.ServiceState, lease: local.Lease) -> None:
        self.state, self._lease = state, lease

    def poll_interval_s(self, attempts: int) -> float | None:
        """Three seconds in all and twice the configured log delay: a local line waits for nothing else."""
        return self._wait_s() / attempts

    @property
    def same_clock(self) -> bool:
        """Yes: one machine."""
        return True

    def patience(self) -> PollingPolicy:
        """A look every 50 ms for as long as for a log line: agents export 0.2 s after an answer at the latest."""
        wait_s, delay_s = self._wait_s(), self.state.options.log_delay_s
        return PollingPolicy(
            wait_s=wait_s,
            interval_s=max(0.05, wait_s / 100),
            horizon_s=wait_s,
            reason=f"spans arrive {delay_s:g} s late (--log-delay)" if delay_s else "spans arrive within a second",
            remedy=_LOCAL_REMEDY,
            reports_exports=True,
        )

    def labels(self) -> tuple[str, ...]:
        """That it is local, and that its model's latencies are simulated when they are."""
        try:
            found = local.status(self.state.home)
        except LocalServiceError:
            # It is gone; what it said of itself when it started is the best that is known.
            options = self.state.options
            return ("local AgentCore", f"model: {options.model} (profile {options.profile})")
        return ("local AgentCore", f"model: {found.model}")

    def environment(self) -> Mapping[str, str]:
        """Endpoint variables, dummy credentials, region."""
        return self.state.environment()

    def session_count(self) -> int | None:
        """What the service says."""
        return len(local.status(self.state.home).sessions)

    def check_deploy(self, what: str) -> None:
        """Everything can be deployed."""

    def leave(self) -> None:
        """Give the lease back."""
        self._lease.close()

    def _wait_s(self) -> float:
        return 3.0 + 2 * self.state.options.log_delay_s


class AwsEnvironment:
    """AWS itself."""

    def poll_interval_s(self, attempts: int) -> float | None:
        """As the settings say (12 × 5 s by default)."""
        return None

    @property
    def same_clock(self) -> bool:
        """No: NTP keeps the two together, to some milliseconds."""
        return False

    def patience(self) -> PollingPolicy:
        """Spans reach CloudWatch two to three minutes after an answer, so five are waited; after fifteen none come."""
        return PollingPolicy(
            wait_s=300.0,
            interval_s=10.0,
            horizon_s=900.0,
            settle_s=60.0,
            reason="spans reach CloudWatch two to three minutes after the answer",
            remedy=_AWS_REMEDY,
        )

    def labels(self) -> tuple[str, ...]:
        """Nothing has to be said."""
        return ()

    def environment(self) -> Mapping[str, str]:
        """Nothing: AWS clients find AWS by themselves."""
        return {}

    def session_count(self) -> int | None:
        """AWS has no operation for it."""
        return None

    def check_deploy(self, what: str) -> None:
        """Not yet: a package for AWS needs its dependencies built for the runtime's architecture."""
        raise NotSupportedError(
            "Deploying to AWS is not part of this release",
            on=what,
            try_='deploying with the AgentCore toolkit, then bench.register("arn:…")',
        )

    def leave(self) -> None:
        """Nothing to give back."""
