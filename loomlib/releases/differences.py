"""Differences between two versions of an agent, as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

FileChange = Literal["added", "removed", "changed"]
CHANGE_COLUMNS: Final = ("kind", "name", "change", "before", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDifference:
    """A file that differs.

    Attributes:
        path: Its path in the package.
        change: "added", "removed" or "changed".
        before: Size before, in bytes; 0 when it was added.
        after: Size after, in bytes; 0 when it was removed.
        diff: The unified diff, with secrets and personal data redacted; empty if only the name is shown.
        reason: Why only the name is shown: the file is binary or large, or there are many.
        lines_added: Number of lines that the diff adds.
        lines_removed: Number of lines that the diff removes.
    """

    path: str
    change: FileChange
    before: int = 0
    after: int = 0
    diff: str = field(default="", repr=False)
    reason: str = ""
    lines_added: int = 0
    lines_removed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDifference:
    """A setting that differs, by its path in AWS's description; a missing value is empty."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableDifference:
    """An environment variable that was added, removed or changed. Its values are not stored."""

    name: str
    change: FileChange


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDifference:
    """Differences between two versions of an agent.

    Attributes:
        before: The earlier version.
        after: The later version.
        files: The files that differ; None when the code of one of them cannot be read.
        code_note: Why the files are not known, or which were left out.
        settings: The settings that differ, without environment variables.
        variables: The environment variables that differ, by name.
        redacted: Number of redacted values in the diffs, by kind.
    """

    before: str
    after: str
    files: tuple[FileDifference, ...] | None
    code_note: str = ""
    settings: tuple[SettingDifference, ...] = ()
    variables: tuple[VariableDifference, ...] = ()
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def is_empty(self) -> bool:
        """Whether the versions are known to be equal."""
        return self.files == () and not self.settings and not self.variables

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row for each difference; sizes are in bytes, values of variables are not shown."""
        for file in self.files or ():
            yield _row("file", file.path, file.change, file.before or None, file.after or None)
        for setting in self.settings:
            change = "changed" if setting.before and setting.after else "added" if setting.after else "removed"
            yield _row("setting", setting.name, change, setting.before, setting.after)
        for variable in self.variables:
            yield _row("variable", variable.name, variable.change, "", "")

    def unified(self) -> str:
        """Return the unified diffs of all files, one after the other."""
        return "".join(file.diff for file in self.files or ())


def _row(kind: str, name: str, change: str, before: object, after: object) -> dict[str, Any]:
    return dict(zip(CHANGE_COLUMNS, (kind, name, change, before, after), strict=True))
