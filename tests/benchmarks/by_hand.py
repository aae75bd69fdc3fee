"""An agent.py started by hand, which is what a session of the local AgentCore is compared with."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from loomlib.local.sessions.bootstrap import OPTIONAL_CHECKERS

from .raw import Caller, Heard

# "Lean" leaves out the optional format checkers that JupyterLab brings, as AWS's image and a session do.
_LEAN = (
    "import sys\n"
    f"for name in {sorted(OPTIONAL_CHECKERS)!r}: sys.modules[name] = None\n"
    "sys.argv = ['agent.py']; sys.path[0] = '.'\n"
    "exec(compile(open('agent.py').read(), 'agent.py', 'exec'))\n"
)


class ByHand:
    """`python agent.py` in a folder of its own."""

    def __init__(self, folder: Path, code: str, *, lean: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "agent.py").write_text(code)
        self._holder = (
            socket.socket()
        )  # bound and not listening: no other process gets the port, and the agent binds it
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.bind(("127.0.0.1", 0))
        self.port: int = self._holder.getsockname()[1]
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        self.started_ns = time.perf_counter_ns()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LEAN] if lean else [sys.executable, "agent.py"],
            cwd=folder,
            env=environment | {"BENCH_PORT": str(self.port), "PYTHONUNBUFFERED": "1", "TZ": "UTC"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def first_answer(self, request: bytes) -> tuple[float, Heard]:
        """From the start of the process to the first byte of its first answer, in ms; and that answer."""
        while True:
            try:
                caller = Caller(self.port)
                break
            except ConnectionRefusedError:
                if self._process.poll() is not None:
                    raise RuntimeError("the agent ended before it answered") from None
                time.sleep(0.001)
        try:
            response = caller.ask(request)
        finally:
            caller.close()
        return (response.arrivals[0][0] - self.started_ns) / 1e6, response

    def close(self) -> None:
        self._holder.close()
        self._process.kill()
        self._process.wait()
