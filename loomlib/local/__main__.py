"""`python -m loomlib.local`: the service, as `lifecycle` and `foreground` start it; its options are JSON on stdin."""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from loomlib.redaction import RedactingFormatter

from .deferred_packages import defer_service_packages
from .state import ServiceOptions, ServiceState


def main() -> None:
    """Fork into the background, or stay with `--foreground`, then serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m loomlib.local", description="The local AgentCore")
    parser.add_argument("--home", type=Path, required=True, help="home folder")
    parser.add_argument("--persistent", action="store_true", help="run until stopped, whether or not there is a lease")
    parser.add_argument("--foreground", action="store_true", help="do not fork")
    parser.add_argument("--ready-fd", type=int, help="descriptor to write `ready` to")
    arguments = parser.parse_args()
    configuration = json.loads(sys.stdin.read())
    options = ServiceOptions.of(configuration["options"])
    if arguments.foreground:
        serve = _import_serve()
        serve(
            arguments.home,
            options,
            persistent=True,
            on_ready=_say_address,
            model_settings=configuration["model_settings"],
        )
        return
    if os.fork():
        os._exit(0)
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.Formatter.converter = time.gmtime
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    os.set_inheritable(arguments.ready_fd, False)

    def on_ready(_: ServiceState) -> None:
        os.write(arguments.ready_fd, b"ready")
        os.close(arguments.ready_fd)

    serve = _import_serve()  # after the fork, because it starts threads
    serve(
        arguments.home,
        options,
        persistent=arguments.persistent,
        on_ready=on_ready,
        model_settings=configuration["model_settings"],
    )


def _import_serve() -> Callable[..., ServiceState]:
    """Import the service with garbage collection off, and exclude the imported objects from later collections."""
    gc.disable()
    defer_service_packages()
    from .serve import serve

    gc.freeze()
    gc.enable()
    return serve


def _say_address(state: ServiceState) -> None:
    sys.stdout.write(f"loom  local AgentCore in the foreground · {state.url} · stop it with Ctrl-C\n")
    sys.stdout.flush()


main()
