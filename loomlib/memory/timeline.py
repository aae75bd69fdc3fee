"""An actor's timeline: messages, and when records were extracted and changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..aws.memory_shapes import MemoryEvent, MemoryRecord, MemoryStrategy
from ..presentation.formats import number, timestamp
from ..presentation.theme import PALETTE, SYMBOLS, inert_text, styled

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_MARKS: Final = 4_000
"""The most marks of a chart, because more make it slow: the newest are drawn, the table has all."""
TIMELINE_COLUMNS: Final = (
    "at", "what", "lane", "memory_session_id", "text", "branch", "namespace", "extractor", "id",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """A message, an agent's stored state, or a record that was created or changed.

    Attributes:
        at: When it happened.
        what: "message", "stored state", "record created" or "record changed".
        lane: The chart's row: the message's role or the record's strategy.
        id: Id of the event or record.
        text: The words of the message, the stored state as JSON, or the record's current text.
        session_id: The memory's session of the message.
        branch: The branch of the message.
        namespace: The namespaces of the record.
        extractor: What extracted the record.
    """

    at: datetime
    what: str
    lane: str
    id: str
    text: str = field(repr=False)
    session_id: str = ""
    branch: str = ""
    namespace: str = ""
    extractor: str = ""

    @property
    def is_message(self) -> bool:
        """Whether it is a message of a conversation."""
        return self.what == "message"

    @property
    def is_state(self) -> bool:
        """Whether it is what an agent stored for itself, which charts and pages leave out."""
        return self.what == "stored state"

    def row(self) -> dict[str, Any]:
        """Return the entry as a table row."""
        values = (
            self.at, self.what, self.lane, self.session_id, self.text, self.branch, self.namespace, self.extractor,
            self.id,
        )  # fmt: skip
        return dict(zip(TIMELINE_COLUMNS, values, strict=True))


def timeline_entries(
    events: Iterable[MemoryEvent],
    records: Iterable[MemoryRecord],
    strategies: Sequence[MemoryStrategy] = (),
    *,
    since: datetime | None = None,
) -> list[TimelineEntry]:
    """Return messages, stored states and records in order of time.

    AgentCore stores only the current text of a record, so earlier texts are not known.

    Args:
        events: The actor's events.
        records: The actor's records.
        strategies: The memory's strategies, for their names.
        since: Leaves out what is older.
    """
    names: Mapping[str, str] = {strategy.strategy_id: strategy.name for strategy in strategies}
    entries: list[TimelineEntry] = []
    for event in events:
        for message in event.messages:
            entries.append(
                TimelineEntry(
                    at=event.timestamp,
                    what="stored state" if message.is_state else "message",
                    lane="stored state" if message.is_state else f"messages from {message.role.lower()}",
                    id=event.event_id,
                    text=message.text if message.is_state else message.spoken,
                    session_id=event.session_id,
                    branch=event.branch,
                )
            )
    for record in records:
        lane = f"records of {names.get(record.strategy_id, record.strategy_id or 'no strategy')}"
        changed_at = record.updated_at
        times = [(record.created_at, "record created")]
        # A record's time is that of the message it came from, which may be before the extraction.
        if changed_at is not None and changed_at > record.created_at:
            times.append((changed_at, "record changed"))
        for at, kind in times:
            entries.append(
                TimelineEntry(
                    at=at,
                    what=kind,
                    lane=lane,
                    id=record.record_id,
                    text=record.text,
                    namespace=", ".join(record.namespaces),
                    extractor=record.extractor,
                )
            )
    return sorted((entry for entry in entries if since is None or entry.at >= since), key=lambda entry: entry.at)


def lanes_of(entries: Iterable[TimelineEntry]) -> list[str]:
    """Return the lanes of a chart in order: those of messages first."""
    return list(dict.fromkeys(entry.lane for entry in sorted(entries, key=lambda e: (not e.is_message, e.lane))))


def draw_timeline(entries: Sequence[TimelineEntry], *, title: str, subtitle: str = "") -> go.Figure:
    """Draw one lane per message role and strategy; texts are shown literally, never as markup.

    Args:
        entries: What to draw, oldest first; the newest `MOST_MARKS` are drawn.
        title: The chart's title.
        subtitle: Text under the title.
    """
    from loomlib.presentation.charts import Chart

    drawn = entries[-MOST_MARKS:]
    lanes = lanes_of(drawn)
    traces: list[dict[str, Any]] = []
    for index, lane in enumerate(lanes):
        marks = [entry for entry in drawn if entry.lane == lane]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": inert_text(lane),
                "x": [entry.at for entry in marks],
                "y": [inert_text(lane)] * len(marks),
                "text": [f"{inert_text(entry.what)}: {inert_text(entry.text, 160)}" for entry in marks],
                "customdata": [[timestamp(entry.at)] for entry in marks],
                "hovertemplate": "%{text}<br>%{customdata[0]}<extra></extra>",
                "marker": {
                    "size": 10,
                    "color": PALETTE[index % len(PALETTE)],
                    "symbol": [
                        SYMBOLS[index % len(SYMBOLS)] + ("-open" if entry.what == "record changed" else "")
                        for entry in marks
                    ],
                },
                "showlegend": False,
            }
        )
    left_out = len(entries) - len(drawn)
    note = f"the newest {number(len(drawn))} of {number(len(entries))}; .table() has all" if left_out else ""
    return Chart(
        styled(
            traces,
            title=inert_text(title, 120),
            subtitle=" · ".join(filter(None, (inert_text(subtitle, 300), note))),
            xaxis={"title": {"text": "time (UTC)"}, "type": "date"},
            yaxis={"categoryorder": "array", "categoryarray": [inert_text(lane) for lane in reversed(lanes)]},
            empty="No messages and no records yet.",
            height=160 + 44 * max(1, len(lanes)),
        )
    )
