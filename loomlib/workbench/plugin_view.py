"""The installed plugins as a DataFrame, as static HTML and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..plugins import PluginLine
from ..presentation.html import card, table
from ..presentation.text import printable

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("distribution", "version", "target", "status", "offers", "error", "fix")


@dataclass(frozen=True, slots=True)
class PluginView:
    """The installed plugins: what each provides, whether it works, and how to fix a broken one."""

    lines: tuple[PluginLine, ...]

    @property
    def broken(self) -> tuple[PluginLine, ...]:
        """The plugins with a problem."""
        return tuple(line for line in self.lines if line.problems)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per plugin; `offers` is a dict of names by kind."""
        from ..presentation.text_frame import TextFrame

        records = [line.record() for line in self.lines]
        return TextFrame([[record[name] for name in _COLUMNS] for record in records], columns=list(_COLUMNS))

    def __repr__(self) -> str:
        lines = [f"{line.distribution} {line.version} · {line.status} · {line.summary()}" for line in self.lines]
        for failure in self.broken:
            lines += [f"broken: {failure.target} of {failure.distribution}: {failure.error}", f"  fix: {failure.fix}"]
        return "\n".join(printable(line) for line in [self._title(), *lines])

    def _repr_html_(self) -> str:
        rows = [
            (f"{line.distribution} {line.version}", line.target, line.status, line.summary(), line.error, line.fix)
            for line in self.lines
        ]
        printable_rows = [tuple(printable(text) for text in row) for row in rows]
        return card(
            self._title(), body=table(("plugin", "target", "status", "provides", "error", "fix"), printable_rows)
        )

    def _title(self) -> str:
        several = "plugin" if len(self.lines) == 1 else "plugins"
        return f"{len(self.lines)} {several}, {len(self.broken) or 'none'} broken"
