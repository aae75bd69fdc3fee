"""The frames of tools' views (MCP Apps) in the Test panel: each has exactly one channel."""

# pyright: basic

from __future__ import annotations

import json
from collections.abc import Mapping
from threading import Lock
from typing import Any, Final

from loomlib.agents.mcp_apps import VIEW_SANDBOX, FrameChannel, frame_document
from loomlib.errors import LoomError

from ...kit import Form, action
from .conversation import ChatConversation
from .words import short_text, well_formed

_MOST_CHANNELS: Final = 40
_LANES: Final = 8


class ViewFrames:
    """Frames, opened by the page under their own names; their messages are handled or rejected here."""

    def __init__(self, conversation: ChatConversation) -> None:
        self._conversation = conversation
        self._lock = Lock()
        self.channels: dict[str, FrameChannel] = {}
        """The channels of the open frames, by the frames' names."""
        self._lanes: dict[str, int] = {}

    def lane(self, form: Form) -> str:
        """Return a frame's own lane: its slow tool blocks no other frame. With many frames, several share one."""
        with self._lock:
            name = form.text("frame")
            if name not in self._lanes:
                lanes = list(self._lanes.values())
                while len(self._lanes) >= _MOST_CHANNELS:
                    del self._lanes[next(iter(self._lanes))]
                self._lanes[name] = min(range(_LANES), key=lanes.count)
            return f"frame {self._lanes[name]}"

    @action(lane=lambda frames, form: frames.lane(form))
    def frame(self, form: Form) -> Mapping[str, Any]:
        """Return the document of a view's frame."""
        from loomlib.workbench import view_channel

        turn = self._conversation.turn(form)
        number = form.count("view", most=1_000)
        if turn is None or number >= len(turn.views) or not turn.session:
            raise LoomError("There is no such view", try_="open the session again")
        view = turn.views[number]
        if view.problem:
            raise LoomError(view.problem, on=view.tool)
        agent = self._conversation.chosen_agent()
        channel = view_channel(agent, view, session_id=turn.session, theme=form.text("theme", "light"))
        with self._lock:
            while len(self.channels) >= _MOST_CHANNELS:
                del self.channels[next(iter(self.channels))]
            self.channels[form.text("frame")] = channel
        title = short_text(view.title or f"View of {view.tool}")[:200]
        return {"document": frame_document(well_formed(view.html), title=title), "sandbox": VIEW_SANDBOX}

    @action(lane=lambda frames, form: frames.lane(form))
    def frame_message(self, form: Form) -> Mapping[str, Any]:
        """Handle a message of a frame (JSON text).

        The result has the responses to post back (JSON texts), the frame's height, and the reasons for refusals.
        """
        channel = self.channels.get(form.text("frame"))
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
        with self._lock:
            self.channels.pop(form.text("frame"), None)
            self._lanes.pop(form.text("frame"), None)
