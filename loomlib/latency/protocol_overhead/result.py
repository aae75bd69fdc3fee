"""The result of a study of protocol overhead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.dispatch import call
from loomlib.experiments import MeasuredUnit, StudyRecord, StudyTable, unit_fields

from .design import ProtocolDesign

if TYPE_CHECKING:
    import pandas as pd

    from loomlib.store import MeasurementRow, StudyRow

DETAILS = ("sent", "received", "text_bytes", "events", "first_byte_ms", "first_event_ms", "first_text_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class WayCall(MeasuredUnit):
    """One call in one way. Sizes and times are None unless the call was answered.

    Attributes:
        block: Block of the randomized order; the calls of a block are compared with each other.
        way: The way, such as "A2A message/stream".
        sent: Bytes sent on the wire.
        received: Bytes received on the wire.
        text_bytes: Bytes of the answer's text.
        events: Events or messages of the answer; 1 for a plain body.
        first_byte_ms: Until the first byte of the answer.
        first_event_ms: Until the first event, whatever is in it.
        first_text_ms: Until the first event with text of the answer.
        is_reused: Whether an open connection was used.
    """

    block: int
    way: str
    sent: int | None = None
    received: int | None = None
    text_bytes: int | None = None
    events: int | None = None
    first_byte_ms: float | None = None
    first_event_ms: float | None = None
    first_text_ms: float | None = None
    is_reused: bool | None = None

    @property
    def framing(self) -> float | None:
        """The share of the received bytes that is not the answer's text."""
        if not self.received or self.text_bytes is None:
            return None
        return max(0.0, 1 - self.text_bytes / self.received)


@dataclass(frozen=True, kw_only=True, repr=False)
class ProtocolResult(StudyRecord):
    """A study of protocol overhead as it is currently stored."""

    agent_name: str
    design: ProtocolDesign
    calls: tuple[WayCall, ...] = field(repr=False)

    @classmethod
    def read(cls, study: StudyRow, rows: Sequence[MeasurementRow]) -> dict[str, Any]:
        """Return the fields of a stored study."""
        return {
            "agent_name": study.agent_name or study.agent_arn,
            "design": ProtocolDesign.read(study.design),
            "calls": tuple(
                WayCall(
                    **unit_fields(row),
                    block=row.block,
                    way=row.scenario,
                    is_reused=row.details.get("is_reused"),
                    **_details(row.details),
                )
                for row in rows
            ),
        }

    @property
    def units(self) -> tuple[WayCall, ...]:
        """The calls, in order."""
        return self.calls

    @property
    def subject_line(self) -> str:
        """The agent and the number of ways."""
        return f"{self.agent_name} in {len(self.design.ways)} ways"

    def sizes(self) -> pd.DataFrame:
        """Return bytes, events and the share of framing as text: one row for each way, with 95 % intervals."""
        table: StudyTable = call("ProtocolResult.sizes", self)
        return table.frame()


def _details(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: stored.get(name) for name in DETAILS}
