"""An agent's process started directly, as `python agent.py`: without AgentCore in front of it or isolation."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loomlib.agents.answers import reader_for
from loomlib.aws.packages import ENTRY_POINTS
from loomlib.errors import StudyError
from loomlib.experiments import Procedure, UnitOutcome
from loomlib.presentation.formats import join

from ..measured_agent import AgentAsProcess
from .design import StartUpDesign
from .result import StartedSession

_LAUNCHER: Final = Path(__file__).with_name("launcher.py")
_KEPT: Final = ("PATH", "HOME", "LANG", "TMPDIR")
_TIMEOUT_S: Final = 120.0
_ENDS_WITHIN_S: Final = 5.0  # a process that ends closes its connections a little earlier
_SESSION_HEADER: Final = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"


def script_in(source: Path) -> str:
    """Return the name of the script that starts the agent.

    Raises:
        StudyError: The folder does not have such a script.
    """
    if source.is_file():
        return source.name
    for name in ENTRY_POINTS:
        if (source / name).is_file():
            return name
    raise StudyError(
        f"The folder has no {join(ENTRY_POINTS, 'or')}", on=str(source), try_="the folder of the agent's code"
    )


class DirectStarts(Procedure[StartedSession]):
    """Starts the agent's process for each unit, in a copy of its folder, and asks it.

    Args:
        agent: The agent, which defines the process's variables and requests.
        design: The study's design.
        variables: Variables of the process, besides the agent's.
    """

    def __init__(self, agent: AgentAsProcess, design: StartUpDesign, variables: Mapping[str, str]) -> None:
        self._agent, self._design, self._variables = agent, design, dict(variables)
        self._folder = Path(tempfile.mkdtemp(prefix="loom-start-up-"))
        self._process: _Process | None = None
        self._is_stopped = False
        source = Path(design.source)
        self._script = script_in(source)
        if source.is_file():
            shutil.copy(source, self._folder)
        else:
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(source, self._folder, dirs_exist_ok=True, ignore=ignored)

    async def begin(self, unit: StartedSession) -> str:
        """Return a new session id."""
        return f"loom-start-up{uuid.uuid4().hex}"

    async def measure(self, unit: StartedSession, session_id: str | None) -> UnitOutcome:
        """Start the process, wait for its first ping and its first answer, and make the later calls."""
        assert session_id is not None
        work = asyncio.ensure_future(asyncio.to_thread(self._measure, session_id))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._is_stopped = True
            await asyncio.to_thread(self._stop)
            await asyncio.wait({work})  # the end of the process ends its request
            raise

    async def end(self, unit: StartedSession, session_id: str | None, outcome: UnitOutcome) -> None:
        """End the process."""
        await asyncio.to_thread(self._stop)

    async def close(self) -> None:
        """End the process, and remove the copy of the folder."""
        await asyncio.to_thread(self._stop)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    def _measure(self, session_id: str) -> UnitOutcome:
        body = self._agent.request_body(self._design.prompt, session_id)
        variables = {**self._agent.process_variables(), **self._variables}
        process = self._process = _Process.start(
            self._folder, self._script, variables, self._design.timeout_s or _TIMEOUT_S
        )
        if self._is_stopped:
            process.stop()
        later_ms: list[float] = []
        try:
            process.ask("GET", "/ping")
            ready_ms = process.elapsed_ms()
            process.ask("POST", "/invocations", body, session_id)
            first_ms = process.elapsed_ms()
            for _ in range(self._design.later_calls):
                sent_ms = process.elapsed_ms()
                process.ask("POST", "/invocations", body, session_id)
                later_ms.append(process.elapsed_ms() - sent_ms)
        except TimeoutError:
            return UnitOutcome(failure="timeout", values={"error_message": "The process did not answer in time"})
        except (OSError, http.client.HTTPException, _RefusedError) as error:
            return UnitOutcome(failure="agent_error", values={"error_message": process.explain(error)})
        return UnitOutcome(values={"duration_ms": first_ms}, details={"ready_ms": ready_ms, "later_ms": later_ms})

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.stop()


class _RefusedError(Exception):
    """The agent answered with an error."""


@dataclass(slots=True)
class _Process:
    popen: subprocess.Popen[bytes]
    port: int
    began_ns: int
    timeout_s: float

    @classmethod
    def start(cls, folder: Path, script: str, variables: Mapping[str, str], timeout_s: float) -> _Process:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.set_inheritable(True)
            environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
            began_ns = time.perf_counter_ns()
            popen = subprocess.Popen(
                [sys.executable, str(_LAUNCHER), str(listener.fileno()), script],
                cwd=folder,
                env={**environment, "PYTHONUNBUFFERED": "1", **variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
            return cls(popen, listener.getsockname()[1], began_ns, timeout_s)

    def elapsed_ms(self) -> float:
        """Return the time since the process was started."""
        return (time.perf_counter_ns() - self.began_ns) / 1e6

    def ask(self, method: str, path: str, body: bytes | None = None, session_id: str = "") -> None:
        """Send a request and read its whole answer.

        The socket is open before the process listens: a connection waits until the process serves, and is not repeated.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout_s)
        headers = {"Content-Type": "application/json", _SESSION_HEADER: session_id} if body is not None else {}
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        if answer.status >= 300:
            raise _RefusedError(f"{path} returned status {answer.status}")
        if body is None:
            return
        reader = reader_for(answer.getheader("Content-Type") or "")
        for piece in (*reader.feed(content), *reader.finish()):
            if piece.error is not None:
                raise _RefusedError(f"The agent failed while responding: {piece.error}")

    def explain(self, error: Exception) -> str:
        """Return a sentence that says what failed."""
        if isinstance(error, _RefusedError):
            return str(error)
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self.popen.wait(_ENDS_WITHIN_S)
            return f"The process ended with code {code} before it answered; “python agent.py” in its folder shows why"
        return str(error) or type(error).__name__

    def stop(self) -> None:
        """End the process and those that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
