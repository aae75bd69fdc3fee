"""The two houses a workbench can stand in: what each says of itself, and what it takes to deploy there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .. import local
from ..errors import LocalServiceError, NotYetSupported


class House(Protocol):
    """Where AgentCore is."""

    def poll_interval_s(self, attempts: int) -> float | None:
        """Seconds between looks for a log line, given how many looks there are; None: as the settings say."""
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
        """Raises `NotYetSupported` when nothing can be deployed here."""
        ...

    def leave(self) -> None:
        """Let go; a service that only this process used ends."""
        ...


class LocalHouse:
    """The local AgentCore. The lease keeps a service alive that nobody started with `loom up`."""

    def __init__(self, state: local.ServiceState, lease: local.Lease) -> None:
        self.state, self._lease = state, lease

    def poll_interval_s(self, attempts: int) -> float | None:
        """Three seconds in all and twice the configured log delay: a local line waits for nothing else."""
        return (3.0 + 2 * self.state.options.log_delay_s) / attempts

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


class AwsHouse:
    """AWS itself."""

    def poll_interval_s(self, attempts: int) -> float | None:
        """As the settings say (12 × 5 s by default)."""
        return None

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
        raise NotYetSupported(
            "Deploying to AWS is not part of this release",
            on=what,
            try_='deploying with the AgentCore toolkit, then bench.register("arn:…")',
        )

    def leave(self) -> None:
        """Nothing to give back."""
