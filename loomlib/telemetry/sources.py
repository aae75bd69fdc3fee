"""The runtime whose telemetry is read."""

from __future__ import annotations

from typing import Protocol


class RuntimeSource(Protocol):
    """The runtime whose telemetry is read: a `RuntimeArn` or a catalog entry."""

    @property
    def region(self) -> str:
        """The region of the runtime."""
        ...

    @property
    def runtime_id(self) -> str:
        """The id of the runtime."""
        ...

    def log_group(self, qualifier: str = "DEFAULT") -> str:
        """Return the name of the endpoint's log group."""
        ...
