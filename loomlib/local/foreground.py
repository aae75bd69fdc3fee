"""The local AgentCore in place of this process, until it is stopped."""

from __future__ import annotations

import os
from pathlib import Path

from .lifecycle import service_command, service_input, service_variables, starting
from .state import ServiceOptions, ServiceState


def serve_in_foreground(home: Path, options: ServiceOptions | None = None) -> ServiceState:
    """Replace this process with the service of a home folder; return only if one is already running there.

    The service runs in a new program, because a program cannot remove the user's secrets from its own
    `/proc/<pid>/environ`.

    Args:
        home: The home folder.
        options: How the service behaves.

    Returns:
        The service that is running already.
    """
    with starting(home, persistent=True) as running:
        if running:
            return running
    if options is not None and options.model == "tiny":
        from .models.tiny import check_packages

        check_packages()
    reading, writing = os.pipe()
    os.write(writing, service_input(options or ServiceOptions()))  # a pipe holds 64 KiB
    os.close(writing)
    os.dup2(reading, 0)
    os.close(reading)
    command = [*service_command(home), "--foreground"]
    return os.execve(command[0], command, service_variables())  # noqa: S606 (this very interpreter)
