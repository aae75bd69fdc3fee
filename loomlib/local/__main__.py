"""`python -m loomlib.local`: the background service, as `lifecycle` starts it, with its options as JSON on stdin."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from pathlib import Path

from loomlib.redaction import RedactingFormatter

from .state import ServiceOptions, ServiceState


def main() -> None:
    """Fork into the background, then serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m loomlib.local", description="The local AgentCore")
    parser.add_argument("--home", type=Path, required=True, help="home folder")
    parser.add_argument("--persistent", action="store_true", help="run until stopped, whether or not there is a lease")
    parser.add_argument("--ready-fd", type=int, required=True, help="descriptor to write `ready` to")
    arguments = parser.parse_args()
    options = ServiceOptions.of(json.loads(sys.stdin.read()))
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

    from .serve import serve  # after the fork, because it starts threads

    serve(arguments.home, options, persistent=arguments.persistent, on_ready=on_ready)


main()
