"""A memory's timeline and a record's provenance as tables, charts and static HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..memory import Provenance
from ..memory.timeline import TIMELINE_COLUMNS, TimelineEntry, draw_timeline, lanes_of
from ..presentation.formats import plural, timestamp
from ..presentation.html import fragment
from ..presentation.text import one_line
from ..presentation.theme import GRID, INK, PALETTE
from . import memory_tables as tables

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from .memory_frame import MemoryFrame

_EMPTY = "This actor has no events and no records. memory.actors() lists the actors with events."
_SHOWN = 200


class TimelineView:
    """An actor's events and records in order of time; returned by `memory.timeline(actor)`."""

    def __init__(
        self, moments: Sequence[TimelineEntry], *, title: str, labels: Sequence[str] = (), cut: str = ""
    ) -> None:
        self.moments, self._title, self._labels, self._cut = tuple(moments), title, tuple(labels), cut

    def table(self) -> MemoryFrame:
        """Return one row per event or record, oldest first, with the states that agents stored for themselves."""
        rows = (tuple(moment.row().values()) for moment in self.moments)
        return tables.frame(rows, TIMELINE_COLUMNS, title=self._title, note=self.note(), empty=_EMPTY)

    def figure(self) -> go.Figure:
        """Return a plotly chart with one row for each role and each strategy."""
        return draw_timeline(
            self.spoken, title=self._title, subtitle=" · ".join(filter(None, (self.note(), self._left_out())))
        )

    @property
    def spoken(self) -> tuple[TimelineEntry, ...]:
        """The messages and records, without the states that agents stored for themselves."""
        return tuple(moment for moment in self.moments if not moment.is_state)

    def note(self) -> str:
        """Return the provenance labels, the extractors, and whether a limit left out events or records."""
        extractors = sorted({moment.extractor for moment in self.moments if moment.extractor})
        parts = [*self._labels, *(f"extracted by: {extractor}" for extractor in extractors), self._cut]
        return " · ".join(filter(None, parts))

    def _left_out(self) -> str:
        states = len(self.moments) - len(self.spoken)
        return f"{plural(states, 'stored state')} of the agent in .table() only" if states else ""

    def __len__(self) -> int:
        return len(self.moments)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        spoken = self.spoken
        if not spoken:
            return tables.html_table(self._title, _EMPTY, TIMELINE_COLUMNS, ())
        newest_entries = spoken[-_SHOWN:]
        rows = [tuple(entry.row().values()) for entry in newest_entries]
        more = len(spoken) - len(newest_entries)
        cut = f"the newest {len(newest_entries)}; .table() has all" if more else ""
        note = " · ".join(filter(None, (self.note(), self._left_out(), cut)))
        return _lanes(newest_entries) + tables.html_table(self._title, note, TIMELINE_COLUMNS, rows)


class ProvenanceView:
    """The sources of a record; returned by `memory.provenance(record_id)`. `state` is one of `PROVENANCE_STATES`."""

    def __init__(self, provenance: Provenance, *, labels: Sequence[str] = ()) -> None:
        self.found, self._labels = provenance, tuple(labels)

    @property
    def state(self) -> str:
        """Whether the sources are stated by the service, inferred, or unknown."""
        return self.found.state

    def sentence(self) -> str:
        """Return how the sources are known."""
        return self.found.sentence()

    def table(self) -> MemoryFrame:
        """Return one row per source, each labelled as stated or inferred."""
        rows = (tuple(row.values()) for row in self.found.table())
        note = f"{self.found.record.text}\n{self.sentence()}"
        return tables.frame(
            rows, tables.SOURCES, title=f"Sources of {self.found.record.record_id}", note=note, empty=note
        )

    def __len__(self) -> int:
        return len(self.found.sources)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table().html()


def _lanes(moments: Sequence[TimelineEntry]) -> str:
    """Return the timeline as inline SVG, without a script; the table below has the same data."""
    start, end = moments[0].at, moments[-1].at
    span_s = max((end - start).total_seconds(), 1e-3)
    lanes: list[tuple[str, str, list[tuple[float, bool, str]]]] = []
    for number, lane in enumerate(lanes_of(moments)):
        dots = [
            (
                (moment.at - start).total_seconds() / span_s,
                moment.what == "record changed",
                f"{timestamp(moment.at)} {moment.what}: {tables.cell_text(moment.text)}",
            )
            for moment in moments
            if moment.lane == lane
        ]
        lanes.append((one_line(lane, 34), PALETTE[number % len(PALETTE)], dots))
    return str(fragment("loomlib.workbench:timeline.html.j2", lanes=lanes, start=start, end=end, ink=INK, grid=GRID))
