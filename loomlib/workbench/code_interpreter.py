"""Code interpreters from notebooks: `bench.tools.code_interpreter()`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..aws.code_interpreters import MANAGED, CodeOutput, invoke_code, start_code_session, stop_code_session
from ..closing import Closing
from ..errors import CodeFailedError
from ..presentation.formats import milliseconds
from ..presentation.html import card
from .context import Context

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("path", "kind", "size_bytes", "mime_type")


class CodeResult:
    """The result of a cell, a command or a file operation, also of a failed one.

    Attributes:
        output: The answer, with all of its members.
        labels: Provenance labels, such as "local AgentCore".
    """

    def __init__(self, output: CodeOutput, labels: tuple[str, ...]) -> None:
        self.output, self.labels = output, labels

    @property
    def text(self) -> str:
        """The output, or the error."""
        return self.output.text

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return not self.output.is_error

    @property
    def duration_ms(self) -> float:
        """Milliseconds from the call to its complete answer, measured at the client."""
        return self.output.duration_ms

    def raise_for_status(self) -> CodeResult:
        """Return this result if it succeeded.

        Raises:
            CodeFailedError: It failed.
        """
        if self.ok:
            return self
        lines = (self.output.stderr or self.output.text).strip().splitlines()
        last = lines[-1] if lines else f"exit code {self.output.exit_code}"
        raise CodeFailedError(
            f"The code interpreter returned an error: {last}",
            on=f"exit code {self.output.exit_code}" if self.output.exit_code is not None else "a file operation",
            try_="read the whole text in .text",
        )

    def __repr__(self) -> str:
        return f"<CodeResult: {'ok' if self.ok else 'failed'}, {milliseconds(self.duration_ms)}>\n{self.text}"

    def _repr_html_(self) -> str:
        output = self.output
        facts = [("client duration", milliseconds(output.duration_ms))]
        if output.execution_ms is not None:
            facts.append(("execution", milliseconds(output.execution_ms)))
        if output.exit_code is not None:
            facts.append(("exit code", str(output.exit_code)))
        state = ("good", "ok") if self.ok else ("bad", "failed")
        return card("Code", state=state, labels=self.labels, facts=facts, text=output.text)


class CodeInterpreter(Closing):
    """A session of a code interpreter, started at the first call and stopped by `close()` or at the end of `with`.

    Examples:
        >>> with bench.tools.code_interpreter() as code:
        ...     code.write("numbers.txt", "1 2 3")
        ...     code.run("total = sum(map(int, open('numbers.txt').read().split()))")
        ...     print(code.run("total").text)

    Args:
        context: The workbench's resources.
        interpreter: The code interpreter's id or ARN.
        timeout_s: Seconds after which the session ends, even if work is still running; at most 28,800.
    """

    def __init__(self, context: Context, interpreter: str = MANAGED, *, timeout_s: int = 900) -> None:
        self._context, self.interpreter, self.timeout_s = context, interpreter, timeout_s
        self.session_id = ""

    def run(self, code: str, *, language: str = "python", clear: bool = False) -> CodeResult:
        """Run code; variables are kept until the next `clear`, if the language is Python.

        Args:
            code: The code; the value of its last expression is shown.
            language: "python", "javascript" or "typescript".
            clear: Delete all variables first.
        """
        return self._invoke("executeCode", {"code": code, "language": language, "clearContext": clear})

    def command(self, command: str) -> CodeResult:
        """Run a shell command in the session's folder."""
        return self._invoke("executeCommand", {"command": command})

    def files(self, folder: str = "") -> pd.DataFrame:
        """Return the files in a folder of the session, one row each.

        Args:
            folder: The folder, relative to the session's folder, which is the default.

        Raises:
            CodeFailedError: There is no such folder.
        """
        import pandas as pd

        result = self._invoke("listFiles", {"directoryPath": folder}).raise_for_status()
        rows = [
            (
                str(block.get("uri", "")).removeprefix("file:///"),
                str(block.get("description", "")),
                block.get("size"),
                str(block.get("mimeType", "")),
            )
            for block in result.output.content
        ]
        return pd.DataFrame(rows, columns=list(_COLUMNS))

    def write(self, path: str, content: str | bytes) -> CodeResult:
        """Write a file.

        Args:
            path: The file's path, relative to the session's folder.
            content: Text or bytes.

        Raises:
            CodeFailedError: The file cannot be written there.
        """
        kind = "text" if isinstance(content, str) else "blob"
        return self._invoke("writeFiles", {"content": [{"path": path, kind: content}]}).raise_for_status()

    def read(self, path: str) -> str | bytes:
        """Return a file's content: text where it is UTF-8, else bytes.

        Args:
            path: The file, relative to the session's folder.

        Raises:
            CodeFailedError: There is no such file.
        """
        result = self._invoke("readFiles", {"paths": [path]}).raise_for_status()
        for block in result.output.content:
            resource: Mapping[str, Any] = block.get("resource") or {}
            if "text" in resource:
                return str(resource["text"])
            if "blob" in resource:
                return bytes(resource["blob"])
        raise CodeFailedError("The answer has no content", on=path, try_="list the files with .files()")

    def close(self) -> None:
        """Stop the session and everything that runs in it; without effect if none was started."""
        if self.session_id:
            session_id, self.session_id = self.session_id, ""
            stop_code_session(self._context.clients, self.interpreter, session_id)

    def _invoke(self, tool: str, arguments: Mapping[str, Any]) -> CodeResult:
        clients = self._context.clients
        if not self.session_id:
            self.session_id = start_code_session(clients, self.interpreter, timeout_s=self.timeout_s)
        output = invoke_code(clients, self.interpreter, self.session_id, tool, arguments)
        return CodeResult(output, self._context.labels)

    def __repr__(self) -> str:
        return f"<CodeInterpreter: {self.interpreter}, {self.session_id or 'no session yet'}>"
