"""The journal of a research: JSON lines that are only ever added to, failures as well as successes.

The first line says what is researched, the second what the baseline scored, each further one is a `Trial`. A line that
a killed process left half-written is passed over, wherever it stands; nothing is ever rewritten.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from loomlib.errors import EvalError

from .trials import Trial

MARK: Final = "loom_autoresearch"
VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """What a journal holds. `damaged` counts the lines that are no entries."""

    head: Mapping[str, Any] | None = None
    baseline_run: str = ""
    baseline_spent: Mapping[str, Any] | None = None
    trials: tuple[Trial, ...] = ()
    damaged: int = 0


class Journal:
    """The file of one research."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @contextmanager
    def held(self) -> Generator[None, None, None]:
        """Nobody else writes into it meanwhile; `EvalError` when somebody does already."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise EvalError("Another research is writing this journal", on=self.path.name) from error
            yield

    def read(self) -> Entries:
        """Everything that was noted so far; an empty journal when there is no file."""
        if not self.path.exists():
            return Entries()
        head: Mapping[str, Any] | None = None
        baseline, spent, trials, damaged = "", None, list[Trial](), 0
        content = self.path.read_bytes()
        for line in content.split(b"\n"):
            if not line.strip():
                continue
            entry = _object(line)
            if entry is None:
                damaged += 1
            elif MARK in entry:
                if entry[MARK] != VERSION:
                    raise EvalError(
                        f"The journal is of version {entry[MARK]!r}", on=self.path.name, try_="a newer Loom"
                    )
                head = head or entry
            elif isinstance(entry.get("baseline_run"), str):
                baseline, spent = entry["baseline_run"], entry
            else:
                try:
                    trials.append(Trial.read(entry))
                except (KeyError, TypeError, ValueError, AttributeError):
                    damaged += 1
        if head is None and (trials or baseline or damaged) and not _is_first_breath(content):
            raise EvalError("The file is no journal of a research", on=self.path.name, try_="another file name")
        return Entries(head=head, baseline_run=baseline, baseline_spent=spent, trials=tuple(trials), damaged=damaged)

    def add(self, entry: Mapping[str, Any]) -> None:
        """Note an entry; it is on the disk when this returns."""
        line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode()
        with self.path.open("ab+") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                # What a killed process left half-written gets an end, so that this entry has a line of its own.
                if file.read(1) != b"\n":
                    line = b"\n" + line
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _is_first_breath(content: bytes) -> bool:
    """Whether nothing but a part of a first line was written before the process was killed."""
    start = f'{{"{MARK}"'.encode()
    line = content.strip()
    return b"\n" not in line and (line.startswith(start) or start.startswith(line))


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None
