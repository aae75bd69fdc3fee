"""The environments of a workbench, the local AgentCore and AWS: their labels, delays and limits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol

from .. import local
from ..errors import LocalServiceError, NotSupportedError
from ..presentation.formats import time_limit
from ..telemetry.trace_lookup import PollingPolicy

_LOCAL_REMEDY = (
    "Strands agents export spans automatically. Any other agent does as soon as it creates OpenTelemetry spans "
    "(opentelemetry.trace.get_tracer(…)); the exporter's variables are already set. "
    "Check OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER or AGENT_OBSERVABILITY_ENABLED in the runtime's variables."
)
_AWS_REMEDY = (
    "On AWS: turn on CloudWatch Transaction Search once for the account and region, add aws-opentelemetry-distro "
    "to the agent's requirements, and start it with opentelemetry-instrument (the AgentCore toolkit does)."
)


class Environment(Protocol):
    """The place where AgentCore runs."""

    def poll_interval_s(self, attempts: int) -> float | None:
        """Return the seconds between lookups of a log line, or None for the settings' interval."""
        ...

    @property
    def same_clock(self) -> bool:
        """Whether agents and this process share one clock."""
        ...

    def span_polling(self) -> PollingPolicy:
        """Return how long to wait for spans, and what to do when none arrive."""
        ...

    def labels(self) -> tuple[str, ...]:
        """Return the provenance labels shown beside every figure from this environment."""
        ...

    def environment(self) -> Mapping[str, str]:
        """Return the variables that point other AWS clients to this environment; empty on AWS."""
        ...

    def session_count(self) -> int | None:
        """Return the number of active sessions, or None where AgentCore has no such operation."""
        ...

    def issuer_address(self) -> str:
        """Return the address of the metadata of the environment's own issuer of tokens.

        Raises:
            NotSupportedError: It has none.
        """
        ...

    def issue_token(self, user: str, **options: Any) -> str:
        """Return a token of the environment's own issuer; `options` are those of `local.issue_token`.

        Raises:
            NotSupportedError: It has none.
        """
        ...

    def leave(self) -> None:
        """Release the environment; a service that only this process used ends."""
        ...


class LocalEnvironment:
    """The local AgentCore. The lease keeps a service running that was not started with `loom up`."""

    def __init__(self, state: local.ServiceState, lease: local.Lease) -> None:
        self.state, self._lease = state, lease

    def poll_interval_s(self, attempts: int) -> float | None:
        """Return the interval that spreads lookups over three seconds plus twice the log delay."""
        return self._wait_s() / attempts

    @property
    def same_clock(self) -> bool:
        """True: both run on one machine."""
        return True

    def span_polling(self) -> PollingPolicy:
        """Poll every 50 ms, for as long as for a log line; agents export spans within 0.2 s of an answer."""
        wait_s, delay_s = self._wait_s(), self.state.options.log_delay_s
        return PollingPolicy(
            wait_s=wait_s,
            interval_s=max(0.05, wait_s / 100),
            horizon_s=wait_s,
            server_span_s=wait_s,
            reason=f"spans arrive {time_limit(delay_s)} late (--log-delay)"
            if delay_s
            else "spans arrive within a second",
            remedy=_LOCAL_REMEDY,
            reports_exports=True,
            any_time=True,
        )

    def labels(self) -> tuple[str, ...]:
        """Return labels for the local AgentCore and for the model with its simulated latencies."""
        try:
            status = local.status(self.state.home)
        except LocalServiceError:
            # The service has ended: the options it was started with are the best information available.
            options = self.state.options
            return ("local AgentCore", f"model: {options.model} (profile {options.profile})")
        return tuple(filter(None, ("local AgentCore", f"model: {status.model}", status.isolation_label)))

    def environment(self) -> Mapping[str, str]:
        """Return the variables that `loom up --export` sets: endpoints, proxy, certificates, keys and region."""
        return local.shell_environment(self.state, os.environ)

    def session_count(self) -> int | None:
        """Return the number of the service's sessions."""
        return len(local.status(self.state.home).sessions)

    def issuer_address(self) -> str:
        """Return the address of the local issuer's metadata."""
        return local.issuer_address(self.state)

    def issue_token(self, user: str, **options: Any) -> str:
        """Return a token of the local issuer."""
        return local.issue_token(self.state, user, **options)

    def leave(self) -> None:
        """Release the lease."""
        self._lease.close()

    def _wait_s(self) -> float:
        return 3.0 + 2 * self.state.options.log_delay_s


class AwsEnvironment:
    """AWS itself."""

    def poll_interval_s(self, attempts: int) -> float | None:
        """Return None: the settings' interval applies (12 × 5 s by default)."""
        return None

    @property
    def same_clock(self) -> bool:
        """False: NTP keeps the clocks within some milliseconds."""
        return False

    def span_polling(self) -> PollingPolicy:
        """Return a wait of five minutes: spans reach CloudWatch two to three minutes after an answer."""
        return PollingPolicy(
            wait_s=300.0,
            interval_s=10.0,
            horizon_s=900.0,
            settle_s=60.0,
            server_span_s=60.0,
            reason="spans reach CloudWatch two to three minutes after the answer",
            remedy=_AWS_REMEDY,
        )

    def labels(self) -> tuple[str, ...]:
        """Return no labels."""
        return ()

    def environment(self) -> Mapping[str, str]:
        """Return nothing: AWS clients use AWS by default."""
        return {}

    def session_count(self) -> int | None:
        """Return None: AWS has no operation for it."""
        return None

    def issuer_address(self) -> str:
        """Raise `NotSupportedError`: AWS has no issuer of its own."""
        raise _no_issuer()

    def issue_token(self, user: str, **options: Any) -> str:
        """Raise `NotSupportedError`: tokens come from your identity provider."""
        raise _no_issuer()

    def leave(self) -> None:
        """Do nothing."""


def _no_issuer() -> NotSupportedError:
    return NotSupportedError(
        "Only the local AgentCore has an issuer of tokens",
        try_="a token of your identity provider, such as a Cognito user pool (InitiateAuth)",
    )
