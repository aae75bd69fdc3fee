"""One session of a code interpreter: its sandboxed processes, their requests, and its end."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ..resources import Place
from ..sandbox.bubblewrap import HOME
from ..sandbox.isolation import Isolation
from ..sandbox.variables import FOR_AGENTS
from ..sessions.environment import MARK
from ..sessions.pool_settings import PoolSettings
from ..sessions.sandbox_worker import SandboxWorker, WorkerPlan
from .commands import Tasks

READY, TERMINATED = "READY", "TERMINATED"
_WORKER = Path(__file__).parent / "worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """The settings with which a session is started.

    Attributes:
        interpreter_id: The code interpreter.
        arn: Its ARN.
        place: Its region and account.
        session_id: The session's id.
        name: Its name; empty if it has none.
        timeout_s: Seconds after which it ends, even if it is busy.
        tenant: The tenant that owns it; empty for none.
        has_network: Whether it has the network of other sessions; otherwise it has none.
    """

    interpreter_id: str
    arn: str
    place: Place
    session_id: str
    name: str
    timeout_s: int
    tenant: str
    has_network: bool


class InterpreterSession(SandboxWorker):
    """A session, from its start to the removal of its last process and file.

    Create it on the event loop's own thread.

    Args:
        plan: The settings with which it is started.
        shared: The settings that all sessions share.
        mark: The unique id of its processes.
        on_end: Called once no process or file of it is left.

    Raises:
        OSError: Its process cannot be started.
    """

    def __init__(
        self, plan: SessionPlan, shared: PoolSettings, *, mark: str, on_end: Callable[[InterpreterSession], None]
    ) -> None:
        self.plan, self.created_at = plan, datetime.now(UTC)
        self.cells, self.tasks = asyncio.Lock(), Tasks()
        self._numbers = itertools.count(1)
        isolation = _isolation(shared.isolation, has_network=plan.has_network)
        folder = shared.folder / mark
        folder.mkdir(parents=True)
        worker = WorkerPlan(
            mark=mark,
            folder=folder,
            bootstrap=_WORKER / "session.py",
            environment=_environment(shared, isolation, folder, mark),
            isolation=isolation,
            read=(_WORKER,),
        )
        super().__init__(worker, shared, on_end=lambda: on_end(self))
        timeout = f"The session's timeout of {plan.timeout_s} seconds has passed"
        self._timer = asyncio.get_running_loop().call_later(plan.timeout_s, lambda: self.begin_end(timeout))

    @property
    def status(self) -> str:
        """AWS's status."""
        return TERMINATED if self.is_ending else READY

    @property
    def updated_at(self) -> datetime:
        """When its status changed last."""
        return self.ended_at or self.created_at

    def next_number(self) -> int:
        """Return a new cell number."""
        return next(self._numbers)

    async def _release(self) -> None:
        self._timer.cancel()
        await self.tasks.close()


def _isolation(isolation: Isolation, *, has_network: bool) -> Isolation:
    """Return the isolation of a session: without any network in the mode SANDBOX, if sessions are isolated."""
    if has_network or isolation.level != "bubblewrap":
        return isolation
    return replace(isolation, network="service", network_program="")


def _environment(shared: PoolSettings, isolation: Isolation, folder: Path, mark: str) -> dict[str, str]:
    """Return the variables of a session: an allow-list of the user's variables, no credentials, its own home."""
    user = shared.user_environment
    environment = {name: user[name] for name in user if name in FOR_AGENTS or name.startswith("LC_")}
    for name in ("TMPDIR", "TEMP", "TMP", "USER", "LOGNAME"):
        environment.pop(name, None)
    home = HOME if isolation.level == "bubblewrap" else str(folder)
    programs = [str(Path(sys.executable).parent), *environment.get("PATH", os.defpath).split(os.pathsep)]
    return environment | {
        "HOME": home,
        "PATH": os.pathsep.join(dict.fromkeys(programs)),
        "TZ": "UTC",
        # The installed packages are read-only inside, so pip installs beside them.
        "PIP_TARGET": f"{home}/.packages",
        "PYTHONPATH": f"{home}/.packages",
        MARK: mark,
    }
