"""What the local AgentCore says about a session's process and its spans, read where spans are looked for in vain.

AWS says nothing of the kind. There a missing span is known by waiting only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from .sources import RuntimeSource
from .span_records import SpanReader
from .trace_lookup import TracedCall

GIVEN_UP_S: Final = 20.0
"""The local exporter gives a request up after three attempts of five seconds at the most, and says so."""

_LONGEST_SESSION_S: Final = 28_800.0
_LOST: Final = "spans were not exported"
_DIED: Final = "what it had not exported by then is lost"
_SILENT: Final = "makes no spans"
_SPEAKS: Final = "makes spans now"

Word = Literal["silent", "lost", "died"]


@dataclass(frozen=True, slots=True)
class ProcessWords:
    """Of each session what was said, with when (Unix seconds), in the order of time."""

    lines: Sequence[tuple[float, str]]

    def about(self, call: TracedCall) -> Word | None:
        """Why the call's spans are missing: "lost", nobody took them; "died", the process ended before they left;
        "silent", the process makes none; None when nothing was said."""
        if call.sent_s is None:
            return None
        own = [(at_s, text) for at_s, text in self.lines if f"Loom: session {call.session_id}: " in text]
        until_s = (call.sent_s if call.done_s is None else call.done_s) + GIVEN_UP_S
        during = [text for at_s, text in own if call.sent_s <= at_s <= until_s]
        if any(_LOST in text for text in during):
            return "lost"
        habits = [text for _, text in own if _SILENT in text or _SPEAKS in text]
        if habits and _SILENT in habits[-1]:
            return "silent"
        return "died" if any(_DIED in text for text in during) else None


def read_words(
    reader: SpanReader, source: RuntimeSource, calls: Sequence[TracedCall], *, now_s: float, with_habits: bool
) -> ProcessWords:
    """What was said of the calls' sessions up to now.

    With habits also what each process said once, in its first invocation, whether it makes any spans.
    """
    start_s = min((call.sent_s for call in calls if call.sent_s is not None), default=now_s)
    lines: list[tuple[float, str]] = []
    for qualifier in sorted({call.qualifier for call in calls}):
        lines += reader.words(source, qualifier, start_s=start_s, end_s=now_s)
        if with_habits:
            start_of_all_s = start_s - _LONGEST_SESSION_S
            lines += reader.words(source, qualifier, start_s=start_of_all_s, end_s=now_s, habits=True)
    return ProcessWords(sorted(lines, key=lambda line: line[0]))
