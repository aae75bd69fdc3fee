"""The frames of tools' views (MCP Apps) in the Test panel: each has exactly one channel."""

# pyright: basic

from __future__ import annotations

import json
from collections.abc import Mapping
from threading import Lock
from typing import Any, Final

from loomlib import Workbench
from loomlib.agents.mcp_apps import VIEW_SANDBOX, FrameChannel, frame_document
from loomlib.errors import LoomError

from ...kit import Form, action
from .conversing import Conversing
from .words import short_text, well_formed

_MOST_CHANNELS: Final = 40
_LANES: Final = 8


def _lane(panel: Frames, form: Form) -> str:
    """Return a frame's own queue, so that its slow tool blocks no other frame; with many frames, several share one."""
    with panel._framing:
        lanes, name = panel._frame_lanes, form.text("frame")
        if name not in lanes:
            taken = list(lanes.values())
            while len(lanes) >= _MOST_CHANNELS:
                del lanes[next(iter(lanes))]
            lanes[name] = min(range(_LANES), key=taken.count)
        return f"frame {lanes[name]}"


class Frames(Conversing):
    """Frames, opened by the page under their own names; their messages are handled or rejected here."""

    _channels: dict[str, FrameChannel]

    def __init__(self, bench: Workbench, **options: Any) -> None:
        self._framing = Lock()
        self._channels, self._frame_lanes = {}, dict[str, int]()
        super().__init__(bench, **options)

    @action(lane=_lane)
    def frame(self, form: Form) -> Mapping[str, Any]:
        """Return the document of a view's frame."""
        from loomlib.workbench import view_channel

        turn = next((item for item in self._turns if item.id == form.get("turn")), None)
        number = form.count("view", most=1_000)
        if turn is None or number >= len(turn.views) or not turn.session:
            raise LoomError("There is no such view", try_="open the session again")
        view = turn.views[number]
        if view.problem:
            raise LoomError(view.problem, on=view.tool)
        agent = self._agent(self.state.get("agent", ""), self.state.get("qualifier", "DEFAULT"))
        channel = view_channel(agent, view, session_id=turn.session, theme=form.text("theme", "light"))
        with self._framing:
            while len(self._channels) >= _MOST_CHANNELS:
                del self._channels[next(iter(self._channels))]
            self._channels[form.text("frame")] = channel
        title = short_text(view.title or f"View of {view.tool}")[:200]
        return {"document": frame_document(well_formed(view.html), title=title), "sandbox": VIEW_SANDBOX}

    @action(lane=_lane)
    def frame_message(self, form: Form) -> Mapping[str, Any]:
        """Handle a message of a frame (JSON text).

        The result holds the answers to post back (JSON texts), the frame's height, and the reasons of refusals.
        """
        channel = self._channels.get(form.text("frame"))
        if channel is None:
            return {"answers": [], "closed": True}
        answers = channel.receive(form.text("message"))
        return {
            "answers": [json.dumps(answer) for answer in answers],
            "height": channel.height_px,
            "refused": [short_text(reason) for reason in channel.refused[-20:]],
            "calls_left": channel.calls_left,
        }

    @action(lane="frames gone")
    def frame_gone(self, form: Form) -> None:
        """Remove a frame that the page has closed."""
        with self._framing:
            self._channels.pop(form.text("frame"), None)
            self._frame_lanes.pop(form.text("frame"), None)
