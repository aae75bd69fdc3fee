"""Writes a generated agent into a folder, and keeps edits.

Its subfolder `.loom-import` contains the files of the last generation:

    .loom-import/files.json       the digest of each file's text
    .loom-import/<digest>.text    the texts
    .loom-import/staged.json      the remaining steps of an interrupted write
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from ....errors import LoomError
from ....jobs import whole_file
from .generated import GeneratedAgent
from .merge import has_conflict, merge_texts

STATE_FOLDER: Final = ".loom-import"
"""The folder with the files of the last generation."""

_RECORD: Final = "files.json"
_STAGED: Final = "staged.json"

FileChange = Literal["created", "updated", "merged", "conflict", "removed", "unchanged", "kept"]
"""Outcome of a file: "kept" if the user edited or deleted it and its generated text is unchanged or gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAgent:
    """Outcomes of a folder's files after an agent was written into it.

    Attributes:
        folder: The folder.
        files: The outcome of each file.
        unresolved: Files with an unresolved conflict, from this write or an earlier one.
    """

    folder: Path
    files: Mapping[str, FileChange] = field(default_factory=dict[str, FileChange])
    unresolved: tuple[str, ...] = ()

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The files in which an edit conflicts with a change of the agent."""
        return self.with_change("conflict")

    @property
    def is_changed(self) -> bool:
        """Whether any file was written or removed."""
        return any(change not in ("unchanged", "kept") for change in self.files.values())

    def with_change(self, change: FileChange) -> tuple[str, ...]:
        """Return the files with an outcome.

        Args:
            change: The outcome.
        """
        return tuple(path for path, file_change in self.files.items() if file_change == change)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A pending change of a file; None for a file that does not exist."""

    change: FileChange
    before: str | None
    after: str | None


def write_agent(generated: GeneratedAgent, folder: Path | str) -> WrittenAgent:
    """Write a generated agent, and keep edits since the last write.

    Each file is merged from three texts: the last generated one, the current file, and the newly generated one. A
    conflict keeps the lines of both sides between markers. An interrupted write is finished first.

        written = write_agent(generate_agent(agent, "strands"), "my_agent")
        written.conflicts

    Args:
        generated: The agent.
        folder: The folder; it is created if it does not exist.

    Raises:
        LoomError: The folder contains unrelated files with the names of generated files, or cannot be written.
    """
    target = Path(folder)
    try:
        state = _FolderState(target)
        state.finish()
        steps = _plan(generated.files, state)
        state.stage(steps, generated.files)
        state.finish()
    except OSError as error:
        raise LoomError(
            f"The agent cannot be written: {error}", on=str(target), try_="choose another folder"
        ) from error
    unresolved = [path for path, step in steps.items() if step.after is not None and has_conflict(step.after)]
    changes: dict[str, FileChange] = {path: step.change for path, step in steps.items()}
    return WrittenAgent(folder=target, files=changes, unresolved=tuple(unresolved))


def _plan(files: Mapping[str, str], state: _FolderState) -> dict[str, _Step]:
    bases = state.bases()
    if not bases and (foreign_paths := [path for path, text in files.items() if state.read(path) not in (None, text)]):
        raise LoomError(
            "The folder contains files that were not generated",
            on=", ".join(f"{state.folder / path}" for path in foreign_paths),
            try_="choose an empty folder",
        )
    return {path: _step(bases.get(path), state.read(path), files.get(path)) for path in sorted({*bases, *files})}


def _step(base: str | None, mine: str | None, emitted: str | None) -> _Step:
    if emitted is None:
        if mine is None or mine != base:
            return _Step(change="kept", before=mine, after=mine)
        return _Step(change="removed", before=mine, after=None)
    if mine is None:
        if base is None:
            return _Step(change="created", before=None, after=emitted)
        return _Step(change="kept" if emitted == base else "conflict", before=None, after=None)
    if mine == emitted or emitted == base:
        return _Step(change="unchanged" if mine == emitted else "kept", before=mine, after=mine)
    if mine == base:
        return _Step(change="updated", before=mine, after=emitted)
    merged = merge_texts(base or "", mine, emitted)
    return _Step(change="conflict" if merged.conflicts else "merged", before=mine, after=merged.text)


class _FolderState:
    """An agent's folder, and the files of its last generation."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._own = folder, folder / STATE_FOLDER

    def read(self, path: str) -> str | None:
        """Return a file's text, None if it does not exist."""
        file = self.folder / path
        if not file.is_file():
            return None
        try:
            return file.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise LoomError(
                "A file of the agent is not UTF-8 text", on=str(file), try_="save it as UTF-8, or delete it"
            ) from error

    def bases(self) -> dict[str, str]:
        """Return the texts of the last generation."""
        digests = cast("dict[str, str]", self._json(_RECORD).get("files", {}))
        return {path: (self._own / f"{digest}.text").read_bytes().decode() for path, digest in digests.items()}

    def stage(self, steps: Mapping[str, _Step], files: Mapping[str, str]) -> None:
        """Store the pending steps, so that they can be finished after an interruption."""
        digests = {path: _digest(text) for path, text in files.items()}
        record = {"files": digests}
        due = {path: step for path, step in steps.items() if step.after != step.before}
        if not due and self._json(_RECORD) == record:
            return
        self._own.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            self._write(self._own / f"{digests[path]}.text", text)
        writes = {
            path: {"before": None if step.before is None else _digest(step.before), "after": step.after}
            for path, step in due.items()
        }
        self._write(self._own / _STAGED, json.dumps({"writes": writes, "record": record}, indent=1))

    def finish(self) -> None:
        """Carry out the staged steps; a file that was edited since is not changed, and the next write merges it."""
        staged = self._json(_STAGED)
        if not staged:
            return
        record = cast("dict[str, Any]", staged["record"])
        former_digests = cast("dict[str, str]", self._json(_RECORD).get("files", {}))
        for path, write in cast("dict[str, dict[str, str | None]]", staged["writes"]).items():
            if not (self.folder / path).resolve().is_relative_to(self.folder.resolve()):
                raise LoomError(
                    "The record of the last generation names a file outside the folder",
                    on=path,
                    try_=f"delete {self._own / _STAGED}",
                )
            current, after = self.read(path), write["after"]
            if (None if current is None else _digest(current)) != write["before"]:
                if current != after and path in former_digests:
                    record["files"][path] = former_digests[path]  # the text on which the edit is based
                continue
            if after is None:
                (self.folder / path).unlink()
            else:
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                self._write(self.folder / path, after)
        self._write(self._own / _RECORD, json.dumps(record, indent=1, sort_keys=True))
        (self._own / _STAGED).unlink()
        base_names = {f"{digest}.text" for digest in cast("dict[str, str]", record["files"]).values()}
        for file in self._own.glob("*.text"):
            if file.name not in base_names:
                with suppress(OSError):
                    file.unlink()

    def _write(self, file: Path, text: str) -> None:
        if not file.is_file() or file.read_bytes() != text.encode():
            with whole_file("The agent's file", file, private=False) as stream:
                stream.write(text)

    def _json(self, name: str) -> dict[str, Any]:
        file = self._own / name
        if not file.is_file():
            return {}
        try:
            return cast("dict[str, Any]", json.loads(file.read_text("utf-8")))
        except ValueError as error:
            raise LoomError(
                "The record of the last generation cannot be read",
                on=str(file),
                try_=f"restore it, or delete {file.parent}",
            ) from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
