"""What happened to an actor's memory when: what was said, and what was extracted and changed because of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..aws.memory_shapes import MemoryEvent, MemoryRecord, MemoryStrategy
from ..presentation.theme import PALETTE, SYMBOLS, shown, styled

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_MARKS: Final = 4_000
"""More marks than this make a chart slow: the newest are drawn, the table has all."""
TIMELINE_COLUMNS: Final = (
    "at", "what", "lane", "memory_session_id", "text", "branch", "namespace", "extractor", "id",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One thing that happened: `what` is "said", "record created" or "record changed"."""

    at: datetime
    what: str
    lane: str
    id: str
    text: str = field(repr=False)
    session_id: str = ""
    branch: str = ""
    namespace: str = ""
    extractor: str = ""

    def row(self) -> dict[str, Any]:
        """As a table has it."""
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
    """Messages and records in the order of time. AgentCore keeps no former texts of a record, only its last."""
    names: Mapping[str, str] = {each.strategy_id: each.name for each in strategies}
    found: list[TimelineEntry] = []
    for event in events:
        for message in event.messages:
            found.append(
                TimelineEntry(
                    at=event.timestamp,
                    what="said",
                    lane=f"said by {message.role.lower()}",
                    id=event.event_id,
                    text=message.text,
                    session_id=event.session_id,
                    branch=event.branch,
                )
            )
    for record in records:
        lane = f"records of {names.get(record.strategy_id, record.strategy_id or 'no strategy')}"
        changed = record.updated_at
        times = [(record.created_at, "record created")]
        # The time of a record is that of what was said, which may lie before the extraction.
        if changed is not None and changed > record.created_at:
            times.append((changed, "record changed"))
        for at, what in times:
            found.append(
                TimelineEntry(
                    at=at,
                    what=what,
                    lane=lane,
                    id=record.record_id,
                    text=record.text,
                    namespace=", ".join(record.namespaces),
                    extractor=record.extractor,
                )
            )
    return sorted((each for each in found if since is None or each.at >= since), key=lambda each: each.at)


def draw_timeline(moments: Sequence[TimelineEntry], *, title: str, subtitle: str = "") -> go.Figure:
    """One lane for each who spoke and for each strategy. Texts are shown as they were written, never as markup."""
    from loomlib.presentation.charts import Chart

    drawn = moments[-MOST_MARKS:]
    lanes = list(dict.fromkeys(each.lane for each in sorted(drawn, key=lambda each: (each.what != "said", each.lane))))
    traces: list[dict[str, Any]] = []
    for number, lane in enumerate(lanes):
        marks = [each for each in drawn if each.lane == lane]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": shown(lane),
                "x": [each.at for each in marks],
                "y": [shown(lane)] * len(marks),
                "text": [f"{shown(each.what)}: {shown(each.text, 160)}" for each in marks],
                "hovertemplate": "%{text}<br>%{x}<extra></extra>",
                "marker": {
                    "size": 10,
                    "color": PALETTE[number % len(PALETTE)],
                    "symbol": [
                        SYMBOLS[number % len(SYMBOLS)] + ("-open" if each.what == "record changed" else "")
                        for each in marks
                    ],
                },
                "showlegend": False,
            }
        )
    left_out = len(moments) - len(drawn)
    note = f"the {len(drawn):,} newest of {len(moments):,}; the table has all" if left_out else ""
    return Chart(
        styled(
            traces,
            title=shown(title, 120),
            subtitle=" · ".join(filter(None, (shown(subtitle, 300), note))),
            xaxis={"title": {"text": "time (UTC)"}, "type": "date"},
            yaxis={"categoryorder": "array", "categoryarray": [shown(each) for each in reversed(lanes)]},
            empty="Nothing was said and nothing is known yet.",
            height=160 + 44 * max(1, len(lanes)),
        )
    )
