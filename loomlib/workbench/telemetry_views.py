"""The six layers of an invocation's telemetry, and an agent's processes, as tables and static HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..presentation.html import fragment
from ..telemetry.layers import Layer, layer_rows
from ..telemetry.processes import ProcessList
from .frames import rows_frame

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 50


class LayersView:
    """What six sources show about one invocation, and what each cannot show; `inv.telemetry.layers()`."""

    def __init__(self, layers: Sequence[Layer], *, title: str) -> None:
        self.layers, self._title = tuple(layers), title

    def __getitem__(self, name: str) -> Layer:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(f"{name}: one of {', '.join(layer.name for layer in self.layers)}")

    def table(self) -> pd.DataFrame:
        """Return one row per layer, from the outermost to the innermost."""
        return rows_frame(layer_rows(self.layers))

    def __repr__(self) -> str:
        return f"<Layers of {self._title}: {', '.join(f'{layer.name} {layer.state}' for layer in self.layers)}>"

    def _repr_html_(self) -> str:
        return _html(self._title, "", layer_rows(self.layers))


class ProcessesView:
    """The processes of an endpoint, each by its log lines, newest first; returned by `agent.telemetry.processes()`."""

    def __init__(self, listed: ProcessList, *, title: str) -> None:
        self.found, self._title = listed, title

    def sentence(self) -> str:
        """Return the numbers of processes, sessions and invocations."""
        return self.found.sentence()

    def table(self) -> pd.DataFrame:
        """Return one row per process, newest first; `agent.telemetry.logs(session_id=…)` has the lines of one."""
        return rows_frame(self._rows())

    def __len__(self) -> int:
        return len(self.found.processes)

    def __repr__(self) -> str:
        return f"<Processes of {self._title}: {self.sentence()}>"

    def _repr_html_(self) -> str:
        return _html(self._title, self.sentence(), self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "process_id": process.process_id,
                "first_line": process.first_line,
                "last_line": process.last_line,
                "seconds": process.seconds,
                "invocations": process.invocations,
                "failed": process.failed,
                "sessions": len(process.session_ids),
                "session_id": process.session_ids[0] if process.session_ids else None,
                "boots": process.boots,
                "lines": process.lines,
            }
            for process in self.found.processes
        ]


def _html(title: str, sentence: str, rows: Sequence[Mapping[str, Any]]) -> str:
    return fragment(
        "loomlib.workbench:rows.html.j2",
        title=title,
        sentence=sentence,
        head=list(rows[0]) if rows else [],
        rows=[list(row.values()) for row in rows[:_SHOWN]],
        more=max(0, len(rows) - _SHOWN),
    )
