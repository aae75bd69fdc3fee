"""A code interpreter in the Tools panel: cells, commands and files of one session."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import LoomError
from loomlib.presentation.formats import milliseconds

from ...kit import Form, PanelPort, action
from ...kit.source import connect_code, frame_rows
from ...kit.texts import short_text

if TYPE_CHECKING:
    from loomlib.workbench.code_interpreter import CodeInterpreter

_LANGUAGES: Final = ("python", "javascript", "typescript", "command")


class CodeActions:
    """The panel's session, which starts with the first cell."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel
        self._session: CodeInterpreter | None = None

    @action(lane="code")
    def run_code(self, form: Form) -> None:
        """Run a cell or a command, and show its output and the session's files."""
        text, language = form.text("code"), form.text("language") or "python"
        if language not in _LANGUAGES:
            raise LoomError("The code interpreter has no such language", on=language[:40], try_=", ".join(_LANGUAGES))
        if not text.strip():
            raise LoomError("There is nothing to run", try_="write a cell")
        call = f"code.command({text!r})" if language == "command" else f"code.run({text!r}, language={language!r})"
        self._panel.show_code(f"{connect_code(self._panel.bench)}code = bench.tools.code_interpreter()\n{call}.text")
        if self._session is None:
            self._panel.say("Starting a session …")
            self._session = self._panel.bench.tools.code_interpreter()
        session = self._session
        result = session.command(text) if language == "command" else session.run(text, language=language)
        took = milliseconds(result.duration_ms)
        output: dict[str, Any] = {
            "ok": result.ok,
            "text": short_text(result.text),
            "took": took,
            "labels": list(result.labels),
        }
        self._panel.show(output=output)
        self._panel.tables.put("files", frame_rows(session.files()))
        self._panel.send_message("files")
        self._panel.say(f"{'Done' if result.ok else 'Failed'} in {took}.")

    @action(lane="code")
    def stop_code(self) -> Mapping[str, Any]:
        """Stop the session; its variables and files are deleted."""
        self.close()
        self._panel.tables.put("files", [])
        self._panel.show(output={})
        self._panel.send_message("files")
        self._panel.say("The session has ended. The next cell starts a new one.")
        return {}

    def close(self) -> None:
        """Stop the session, if there is one."""
        session, self._session = self._session, None
        if session is not None:
            session.close()
