"""Lambda functions in the Tools panel: calls with an event."""

# pyright: basic

from __future__ import annotations

import json

from loomlib.errors import LoomError
from loomlib.presentation.formats import milliseconds

from ...kit import Form, PanelPort, action
from ...kit.source import connect_code
from ...kit.texts import short_text


class FunctionActions:
    """Calls of Lambda functions."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel

    @action(lane="function")
    def call_function(self, form: Form) -> None:
        """Call a function with an event, and show its result and its log."""
        key, text = form.text("key"), form.text("event").strip() or "{}"
        if not key:
            raise LoomError("No function is chosen", try_="choose a row of the table")
        try:
            event = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise LoomError("The event is not JSON", on=text[:200], try_='such as {"order": "4711"}') from error
        function = self._panel.bench.tools.functions.get(key)
        name = function.value.name
        self._panel.show_code(f"{connect_code(self._panel.bench)}bench.tools.functions.get({name!r}).call({event!r})")
        self._panel.say(f"Calling {name} …")
        reply = function.call(event)
        took = milliseconds(reply.answer.duration_ms)
        self._panel.show(
            reply={
                "key": key,
                "ok": reply.ok,
                "text": short_text(reply.text),
                "log": short_text(reply.log),
                "took": took,
                "labels": list(reply.labels),
            }
        )
        self._panel.say(f"{name} {'answered' if reply.ok else 'failed'} in {took}.")
