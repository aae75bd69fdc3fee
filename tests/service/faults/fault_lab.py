"""A temporary home folder with workbenches and agents, of which no process is left at the end."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
from pathlib import Path
from typing import Any

from plain_agents import PLAIN_APP
from waiting import wait_until

import loomlib as loom
from loomlib import local

AGENTS = Path(__file__).with_name("agents")
_APP = re.compile("^from plain_app import PlainApp.*\n", re.M)
_SDK_APP = "from bedrock_agentcore import BedrockAgentCoreApp as PlainApp\n"


def is_alive(pid: int) -> bool:
    """Whether the process runs: a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def processes_of(home: Path) -> dict[int, str]:
    """Everything that runs for `home`: named in the arguments, the environment or the working folder."""
    processes: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and int(entry.name) != os.getpid() and is_alive(int(entry.name)):
                arguments = (entry / "cmdline").read_bytes()
                traces = (arguments, (entry / "environ").read_bytes(), os.readlink(entry / "cwd").encode())
                if any(os.fsencode(home) in trace for trace in traces):
                    processes[int(entry.name)] = arguments.replace(b"\0", b" ").decode("utf-8", "replace")
    return processes


class FaultLab:
    """One home folder: its service, workbenches on it, and agents that record their invocations."""

    def __init__(self, folder: Path, options: local.ServiceOptions | None = None) -> None:
        shared = folder / "shared"  # agents write their tally here, outside their boundary
        shared.mkdir(parents=True)
        self.home, self.tally = folder / "home", shared / "tally"
        self.hold = shared / "tally.hold"  # contains the number of the first call that obedient agents do not answer
        self.options = dataclasses.replace(options or local.ServiceOptions(), sandbox_write=(str(shared),))
        self._benches: list[loom.Workbench] = []
        self.agents = folder / "agents"
        self.agents.mkdir()
        for source in AGENTS.glob("*.py"):
            text = source.read_text()
            (self.agents / source.name).write_text(_APP.sub(lambda _: PLAIN_APP, text))
            (self.agents / f"sdk_{source.name}").write_text(_APP.sub(_SDK_APP, text))

    def open(self, where: str = "local", **settings: Any) -> loom.Workbench:
        """A workbench on this home; with `where="aws"` one that finds it only by AWS's environment variables."""
        loaded_settings = loom.Settings.load(home=str(self.home), **settings)
        self._benches.append(
            loom.connect(where, options=self.options if where == "local" else None, settings=loaded_settings)
        )
        return self._benches[-1]

    def deploy(
        self, bench: loom.Workbench, file: str = "obedient.py", platform_version: str | None = None, **environment: str
    ) -> loom.Agent:
        """An agent of the folder `agents`, with variables of its own; `sdk_` before its name: served by the SDK."""
        name = "_".join((Path(file).stem, *filter(None, [platform_version]), *environment.values()))
        return bench.deploy(
            self.agents / file,
            name=name.translate(_PLAIN)[:48],
            environment={"TALLY": str(self.tally), **environment},
            platform_version=platform_version,
        )

    def calls(self) -> list[str]:
        """The session of every call that reached an obedient agent, in order."""
        return [line.split()[0] for line in self.tally.read_text().splitlines()] if self.tally.exists() else []

    def kill_service(self) -> None:
        """`kill -9`."""
        state = local.find(self.home)
        assert state is not None
        os.kill(state.pid, signal.SIGKILL)

    def pid_of(self, session_id: str) -> int:
        """The process of a session; 0 while there is none."""
        sessions = {session.session_id: session.pid for session in local.status(self.home).sessions}
        return sessions.get(session_id, 0)

    def close(self) -> None:
        for bench in self._benches:
            bench.close()
        if self.home.exists():
            local.stop(self.home)
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not processes_of(self.home))
        leftovers = processes_of(self.home)
        for pid in leftovers:
            os.kill(pid, signal.SIGKILL)
        assert not leftovers, "left behind"


_PLAIN = str.maketrans({character: "_" for character in " -./"})
