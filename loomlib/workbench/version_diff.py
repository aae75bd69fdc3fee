"""The difference of two versions, as notebooks show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..presentation.formats import join, number, plural, size
from ..presentation.html import fragment
from ..presentation.text import printable
from ..releases.differences import CHANGE_COLUMNS, FileDifference, VersionDifference
from .frames import rows_frame

if TYPE_CHECKING:
    import pandas as pd


class VersionDiff:
    """What differs between two versions of an agent; returned by `agent.releases.diff(1, 2)`.

    Secrets and personal data in the code are redacted. Of environment variables, only the names are known.

    Args:
        value: The differences.
        agent_name: The agent's name.
    """

    def __init__(self, value: VersionDifference, agent_name: str) -> None:
        self.value, self._agent_name = value, agent_name

    @property
    def text(self) -> str:
        """The unified diffs of all files."""
        return self.value.unified()

    def table(self) -> pd.DataFrame:
        """Return the differences, one row each: files (sizes in bytes), settings, names of environment variables."""
        return rows_frame(list(self.value.rows()), CHANGE_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Return the differences as JSON-ready values."""
        value = self.value
        return {
            "agent": self._agent_name,
            "before": value.before,
            "after": value.after,
            "differences": list(value.rows()),
            "diff": value.unified(),
            "note": value.code_note,
            "redacted": dict(value.redacted),
        }

    def sentence(self) -> str:
        """Return how much differs in one line."""
        value = self.value
        if value.is_empty:
            return f"Versions {value.before} and {value.after} have the same code and configuration."
        files = "files unknown" if value.files is None else plural(len(value.files), "file")
        counts = [files, plural(len(value.settings), "setting"), plural(len(value.variables), "environment variable")]
        return f"{join(counts)} differ between version {value.before} and version {value.after}."

    def _note(self) -> str:
        hidden = [f"{number(count)} × {name}" for name, count in self.value.redacted.items()]
        notes = [self.value.code_note, f"Redacted: {', '.join(hidden)}." if hidden else ""]
        return " ".join(note for note in notes if note)

    def __repr__(self) -> str:
        value = self.value
        lines = [f"{self._agent_name}: {self.sentence()}"]
        lines += [f"  {setting.name}: {setting.before or '–'} → {setting.after or '–'}" for setting in value.settings]
        lines += [f"  variable {variable.name}: {variable.change}" for variable in value.variables]
        lines += [f"  {_line(file)}" for file in value.files or ()]
        lines += [self._note()] if self._note() else []
        return printable("\n".join([*lines, self.text]))

    def _repr_html_(self) -> str:
        value = self.value
        return fragment(
            "loomlib.workbench:version_diff.html.j2",
            title=f"{self._agent_name}: version {value.before} → {value.after}",
            summary=self.sentence(),
            settings=[(setting.name, setting.before or "–", setting.after or "–") for setting in value.settings],
            variables=[(variable.name, variable.change) for variable in value.variables],
            files=[{"line": _line(file), "diff": file.diff} for file in value.files or ()],
            note=self._note(),
        )


def _line(file: FileDifference) -> str:
    if file.diff:
        return f"{file.path}: {file.change}, +{number(file.lines_added)} −{number(file.lines_removed)}"
    sizes = size(file.before or file.after) if file.change != "changed" else f"{size(file.before)} → {size(file.after)}"
    return f"{file.path}: {file.change}, {sizes}" + (f" ({file.reason})" if file.reason else "")
