"""The journal of a search: append-only JSON Lines with every trial, including failed ones.

The first line describes the search, the second the baseline's run, and each further line is a `Trial`, or the use of
a run that a budget ended. An incomplete line left by a killed process is skipped; nothing is ever rewritten.
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
_INTERRUPTED: Final = "interrupted_trial"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntries:
    """The content of a journal.

    Attributes:
        head: The first line.
        baseline_run: The id of the baseline's run.
        baseline_spent: Time, tokens and cost of that run.
        trials: The trials.
        interruptions: Time, tokens and cost of each run that a budget ended.
        damaged: Number of unreadable lines.
    """

    head: Mapping[str, Any] | None = None
    baseline_run: str = ""
    baseline_spent: Mapping[str, Any] | None = None
    trials: tuple[Trial, ...] = ()
    interruptions: tuple[Mapping[str, Any], ...] = ()
    damaged: int = 0


class Journal:
    """The journal file of one search."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Lock the journal for the block; raise `EvalError` when another process has locked it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise EvalError(
                    "Another process writes to this journal",
                    on=self.path.name,
                    try_="wait until it ends, or use another journal",
                ) from error
            yield

    def read(self) -> JournalEntries:
        """Return all entries; none when there is no file."""
        if not self.path.exists():
            return JournalEntries()
        head: Mapping[str, Any] | None = None
        baseline, spent, trials, damaged = "", None, list[Trial](), 0
        interruptions: list[Mapping[str, Any]] = []
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
                        f"The journal has the unknown version {entry[MARK]!r}",
                        on=self.path.name,
                        try_="a newer release of Loom",
                    )
                head = head or entry
            elif isinstance(entry.get("baseline_run"), str):
                baseline, spent = entry["baseline_run"], entry
            elif _INTERRUPTED in entry:
                interruptions.append(entry)
            else:
                try:
                    trials.append(Trial.read(entry))
                except (KeyError, TypeError, ValueError, AttributeError):
                    damaged += 1
        if head is None and (trials or baseline or damaged) and not _is_incomplete_head(content):
            raise EvalError("The file is not a research journal", on=self.path.name, try_="another file name")
        return JournalEntries(
            head=head,
            baseline_run=baseline,
            baseline_spent=spent,
            trials=tuple(trials),
            interruptions=tuple(interruptions),
            damaged=damaged,
        )

    def add_interruption(self, trial: int, used: Mapping[str, Any]) -> None:
        """Append the use of a run that a budget ended, so that it counts in the budget of a resumed search.

        Args:
            trial: The number of the trial; 0 for the baseline.
            used: What `Spent.plain` returns.
        """
        self.add({_INTERRUPTED: trial, **used})

    def add(self, entry: Mapping[str, Any]) -> None:
        """Append an entry and flush it to disk."""
        line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode()
        with self.path.open("ab+") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                # Ends the incomplete line left by a killed process, so that this entry gets its own line.
                if file.read(1) != b"\n":
                    line = b"\n" + line
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _is_incomplete_head(content: bytes) -> bool:
    """Return whether the file holds only a part of a first line."""
    start = f'{{"{MARK}"'.encode()
    line = content.strip()
    return b"\n" not in line and (line.startswith(start) or start.startswith(line))


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        document: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", document) if isinstance(document, dict) else None
