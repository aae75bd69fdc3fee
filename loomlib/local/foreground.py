"""The local AgentCore in this process, until it is stopped."""

from __future__ import annotations

from pathlib import Path

from .lifecycle import starting
from .serve import serve
from .state import ServiceOptions, ServiceState


def serve_in_foreground(home: Path, options: ServiceOptions | None = None) -> tuple[ServiceState, bool]:
    """Serve in this process and return when the service has been stopped.

    Args:
        home: The home folder.
        options: How the service behaves.

    Returns:
        The service, and whether it ran here: one that was running already continues in its own process.
    """
    with starting(home, persistent=True) as running:
        if running:
            return running, False
    return serve(home, options or ServiceOptions(), persistent=True), True
