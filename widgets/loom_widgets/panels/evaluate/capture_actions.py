"""Actions of the Evaluate panel that turn invocations into cases."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loomlib.errors import LoomError

from ...kit import Form, PanelPort, action
from ...kit.source import connect_code
from .capturing import captured_details, invocation_rows


class CaptureActions:
    """Actions that list an agent's invocations and create a case from one."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel

    @action(lane="view")
    def asked(self, form: Form) -> Mapping[str, Any]:
        """List an agent's invocations to choose from."""
        name = form.text("agent")
        rows = invocation_rows(self._panel.bench.agent(name)) if name else []
        return {"count": self._panel.tables.put("asked", rows), "agent": name}

    @action(lane="capture")
    def capture(self, form: Form) -> Mapping[str, Any]:
        """Create a redacted case from an invocation or its session; write it to the file or preview it."""
        name, path, id = form.text("agent"), form.path("path"), form.count("invocation", most=2**60)
        if path is None:
            raise LoomError("No file is named", try_="captured.json; it is created if it does not exist")
        if not id:
            raise LoomError("No invocation is chosen", try_="choose a row of the table")
        agent, write = self._panel.bench.agent(name), not form.flag("look")
        tags = [tag.strip() for tag in form.text("tags").split(",") if tag.strip()]
        session = form.text("session") if form.flag("whole") else ""
        argument = f"session_id={session!r}" if session else str(id)
        self._panel.show_code(
            f"{connect_code(self._panel.bench)}"
            f"bench.agent({name!r}).evals.capture_into({str(path)!r}, {argument}, tags={tags!r}, "
            f"expected={form.flag('expected')!r}{'' if write else ', write=False'})"
        )
        captured = agent.evals.capture_into(
            path, None if session else id, session_id=session or None, write=write, tags=tags,
            expected=form.flag("expected"),
        )  # fmt: skip
        described = captured_details(captured, written=write)
        self._panel.say(described["sentence"] if write else "Preview only: nothing was written.")
        return described
