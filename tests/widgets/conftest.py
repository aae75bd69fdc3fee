"""Panels without a browser: a local AgentCore in a temporary folder, and what a panel told its views."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from own_bench import bench, home
from waiting import PATIENCE_S, wait_until

from loom_widgets.kit import Panel

__all__ = ["PATIENCE_S", "Watched", "bench", "home", "wait_until"]


class Watched:
    """A panel with everything that it told; asks as a view would, and waits for the answers."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.messages: list[Mapping[str, Any]] = []
        self._numbers = itertools.count(1)
        panel.listen(self.messages.append)

    def begin(self, name: str, /, **form: Any) -> int:
        number = next(self._numbers)
        self.panel.receive({"do": name, "with": form, "id": number})
        return number

    def answer(self, number: int) -> Mapping[str, Any]:
        """Return the answer's value, or {"failed": True} if the action failed."""
        wait_until(
            lambda: any(message.get("id") == number and message["is"] != "received" for message in self.messages)
        )
        reply = next(
            message for message in self.messages if message.get("id") == number and message["is"] != "received"
        )
        return {"failed": True} if reply["is"] == "failed" else reply["value"]

    def ask(self, name: str, /, **form: Any) -> Mapping[str, Any]:
        return self.answer(self.begin(name, **form))

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        return [message for message in self.messages if message["is"] == kind]
