"""The journal of a running deployment: each change, written before it is made.

One file for each agent, in the home's folder `deployments`. If the process is killed, the file remains, and the next
process resumes from it or rolls back. Its lock is released when the process ends, in any way.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final, Literal, Self, cast

from ..errors import DeployError
from ..jobs import file_errors, whole_file
from ..json_values import as_list, as_mapping, as_text, parse_object

FOLDER: Final = "deployments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A resource that a deployment is about to create or change.

    Attributes:
        kind: The kind of resource, as in `PlanStep`.
        name: Its name.
        action: "create" or "change".
        before: The values that restore it after a change. They contain no secrets.
    """

    kind: str
    name: str
    action: Literal["create", "change"]
    before: Mapping[str, Any] = field(default_factory=dict[str, Any])


class DeployJournal:
    """The intents of one agent's deployment, locked for this process within `with`.

    Args:
        home: Loom's home folder.
        scope: The environment, account and region, such as "aws-123456789012-us-east-1".
        agent: The agent's name.
    """

    def __init__(self, home: Path, scope: str, agent: str) -> None:
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{scope}-{agent}")
        self._agent = agent
        self._file = home / FOLDER / f"{name}.json"
        self._lock: IO[str] | None = None
        self._intents: list[Intent] = []

    @property
    def intents(self) -> tuple[Intent, ...]:
        """The changes that this deployment has started, oldest first, including those of killed processes."""
        return tuple(self._intents)

    @property
    def is_interrupted(self) -> bool:
        """Whether a deployment was killed and neither resumed nor rolled back; can be read without the lock."""
        return self._file.exists()

    def add(self, intent: Intent) -> None:
        """Write an intent, unless the resource already has one: the first intent has the state before all changes."""
        if not any((intent.kind, intent.name) == (existing.kind, existing.name) for existing in self._intents):
            self._intents.append(intent)
            self._write()

    def remove(self, intent: Intent) -> None:
        """Remove an intent that was undone."""
        self._intents = [
            existing for existing in self._intents if (existing.kind, existing.name) != (intent.kind, intent.name)
        ]
        if self._intents:
            self._write()
        else:
            self.clear()

    def clear(self) -> None:
        """Forget the intents: the deployment is complete, or all of it is undone."""
        self._intents = []
        self._file.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        with file_errors("The journal of the deployment", self._file):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = open(self._file.with_suffix(".lock"), "a+", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            holder = lock.read(20).strip()
            lock.close()
            raise DeployError(
                f"{self._agent} is being deployed by process {holder or 'another one'}",
                on=self._file.stem,
                try_="wait until it has ended, then deploy again",
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock
        try:
            self._intents = self._read()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _write(self) -> None:
        with whole_file("The journal of the deployment", self._file) as file:
            json.dump({"agent": self._agent, "intents": [asdict(intent) for intent in self._intents]}, file)

    def _read(self) -> list[Intent]:
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return []
        entries = [as_mapping(entry) for entry in as_list(parse_object(content).get("intents"))]
        actions = ("create", "change")
        if not entries or any(not entry.get("name") or entry.get("action") not in actions for entry in entries):
            raise DeployError(
                "The journal of the deployment is damaged",
                on=str(self._file),
                try_="compare the account's loom: tags with the plan, then delete the file",
            )
        return [
            Intent(
                kind=as_text(entry.get("kind")),
                name=as_text(entry.get("name")),
                action=cast("Literal['create', 'change']", entry["action"]),
                before=as_mapping(entry.get("before")),
            )
            for entry in entries
        ]
