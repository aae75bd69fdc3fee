"""An invocation's six layers, and the lives of an agent's processes, as a notebook sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ..telemetry.layers import Layer, layer_rows
from ..telemetry.processes import ProcessList
from .frames import rows_frame

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 50


class LayersView:
    """What six places say about one invocation, and what each cannot see; made by `Invocation.layers()`."""

    def __init__(self, layers: Sequence[Layer], *, title: str) -> None:
        self.layers, self._title = tuple(layers), title

    def __getitem__(self, name: str) -> Layer:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(f"{name}: one of {', '.join(layer.name for layer in self.layers)}")

    def table(self) -> pd.DataFrame:
        """One row a layer, from outside in."""
        return rows_frame(layer_rows(self.layers))

    def __repr__(self) -> str:
        return f"<Layers of {self._title}: {', '.join(f'{each.name} {each.state}' for each in self.layers)}>"

    def _repr_html_(self) -> str:
        return _html(self._title, "", layer_rows(self.layers))


class ProcessesView:
    """The processes of an endpoint, each from its first line to its last; made by `agent.telemetry.processes()`."""

    def __init__(self, found: ProcessList, *, title: str) -> None:
        self.found, self._title = found, title

    def sentence(self) -> str:
        """Sessions against invocations."""
        return self.found.sentence()

    def table(self) -> pd.DataFrame:
        """One row a process, the newest first; `agent.logs(session_id=…)` has all lines of one."""
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
                "process_id": life.process_id,
                "first_line": life.first_line,
                "last_line": life.last_line,
                "seconds": life.seconds,
                "invocations": life.invocations,
                "failed": life.failed,
                "sessions": len(life.session_ids),
                "session_id": life.session_ids[0] if life.session_ids else None,
                "boots": life.boots,
                "lines": life.lines,
            }
            for life in self.found.processes
        ]


def _html(title: str, sentence: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A table; every cell is a stranger's text and is escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row.values())}</tr>" for row in rows[:_SHOWN]
    )
    more = f"<p>… {len(rows) - _SHOWN:,} more in .table()</p>" if len(rows) > _SHOWN else ""
    said = f"<p>{escape(sentence)}</p>" if sentence else ""
    return (
        f'<div class="mathjax_ignore"><p><strong>{escape(title)}</strong></p>{said}'
        f'<div style="overflow-x:auto"><table><tr>{head}</tr>{body}</table></div>{more}</div>'
    )


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:,.1f}" if isinstance(value, float) else str(value)
