"""An invocation: answer and duration; trace, start, events and logs are read on demand."""

# pyright: basic

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import pandas as pd

from loomlib import Invocation
from loomlib.workbench import Workbench

from ..kit import Cancel, Form, action
from ..kit.source import connect_code
from ..kit.texts import well_formed
from ..panels.test.figures import figures_of
from .display import LONGEST_TEXT, Display
from .rows import flat
from .traced import Traced


class InvocationDisplay(Traced):
    """One request with its answer."""

    called: ClassVar[str] = "Invocation"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.displays", "invocation.js")
    parts: ClassVar[tuple[tuple[str, str], ...]] = (*Display.parts, ("loom_widgets.displays", "spans.js"))

    def fill(self) -> Mapping[str, Any]:
        """Return the answer and the figures measured at the client."""
        invocation: Invocation = self.value
        record = invocation.record
        self.title = f"Answer of {record.agent_name}"
        self.show_code(self._line(invocation))
        answer = well_formed(invocation.text)
        return {
            "status": record.status,
            "labels": list(record.labels),
            "prompt": well_formed(record.prompt or "")[:LONGEST_TEXT],
            "answer": answer[:LONGEST_TEXT],
            "left_out": max(0, len(answer) - LONGEST_TEXT),
            "failure": "" if invocation.ok else well_formed(invocation.sentence()),
            "session": record.session_id,
            "figures": [row for row in figures_of(invocation) if row["value"] is not None],
        }

    @action(lane="after")
    def start(self, form: Form, cancel: Cancel) -> None:
        """Show when the agent started, by its logs."""
        invocation: Invocation = self.value
        self.show_code(f"{self._line(invocation)}\ninv.latency()")
        latency = invocation.latency(progress=self._progress(cancel))
        self.say(latency.sentence() if latency.state != "found" else "")
        figures = [row for row in figures_of(invocation, latency) if row["value"] is not None]
        self._ask(figures=figures)

    @action(lane="after")
    def trace(self, form: Form, cancel: Cancel) -> None:
        """Show where the time went: the agent's spans that have arrived."""
        invocation: Invocation = self.value
        line = f"{self._line(invocation)}\ntrace = inv.trace()"
        self.show_code(line)
        trace = invocation.trace(progress=self._progress(cancel))
        cancel.check()
        self.say("")
        self._ask(trace=self.put_trace(trace, line))

    @action(lane="view")
    def events(self) -> None:
        """Show the received chunks with their times, and the typed events of a protocol, if any."""
        invocation: Invocation = self.value
        line = f"{self._line(invocation)}\n"
        offsets = invocation.record.chunk_offsets_ms
        pieces = pd.DataFrame({"piece": range(1, len(offsets) + 1), "after_ms": [float(offset) for offset in offsets]})
        pieces_code = "import pandas as pd\ntable = pd.DataFrame({'after_ms': inv.record.chunk_offsets_ms})"
        stored = invocation.protocols.events()
        typed = pd.DataFrame({"kind": [_kind(run) for run in stored], "event": [str(run) for run in stored]})
        events_code = "table = inv.protocols.events()"
        self.show_code(f"{line}inv.record.chunk_offsets_ms")
        self._ask(
            pieces=self.put_frame("pieces", pieces, f"{line}{pieces_code}"),
            events=self.put_frame("events", typed, f"{line}{events_code}") if stored else None,
        )

    @action(lane="view")
    def logs(self) -> None:
        """Show the log lines of the invocation's session."""
        invocation: Invocation = self.value
        line = f"{self._line(invocation)}\ntable = inv.telemetry.logs()"
        self.show_code(line)
        self._ask(logs=self.put_frame("logs", flat(invocation.telemetry.logs()), line))

    def _ask(self, **fields: Any) -> None:
        self.show(asked={**self.state.get("asked", {}), **fields})

    def _progress(self, cancel: Cancel) -> Any:
        def say(sentence: str) -> None:
            cancel.check()
            self.say(sentence)

        return say

    def _line(self, invocation: Invocation) -> str:
        opened = connect_code(Workbench(invocation.context))
        return f"{opened}inv = bench.agent({invocation.entry.name!r}).history.get({invocation.record.id})"


def _kind(event: str) -> str:
    try:
        document = json.loads(event)
    except (ValueError, RecursionError):
        return "text"
    return (
        str(document.get("type") or document.get("kind") or "–")
        if isinstance(document, dict)
        else type(document).__name__
    )
