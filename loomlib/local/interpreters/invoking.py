"""InvokeCodeInterpreter: cells, commands, tasks and files of a session, answered with one result, as on AWS."""

from __future__ import annotations

import mimetypes
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, cast

from ..models.reply import encode_event
from ..resources import Place
from ..sessions.sandbox_worker import WorkerEndedError
from ..wire import EncodedStream, conflict, invalid
from .commands import CommandOutput, CommandTask
from .languages import node_program
from .pool import InterpreterPool
from .session import InterpreterSession
from .spans import InvocationSpans

_OUTPUT_BYTES: Final = 1 << 20  # as in `worker/session.py`
_KILLED: Final = 137  # a shell's exit code of a command that was killed
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "executeCode": ("code",),
    "executeCommand": ("command",),
    "startCommandExecution": ("command",),
    "getTask": ("taskId",),
    "stopTask": ("taskId",),
    "readFiles": ("paths",),
    "removeFiles": ("paths",),
    "writeFiles": ("content",),
    "listFiles": (),
}

Result = dict[str, Any]


class CodeInvocations:
    """Answers InvokeCodeInterpreter.

    Args:
        pool: The sessions.
        spans: Takes a span of each invocation.
    """

    def __init__(self, pool: InterpreterPool, spans: InvocationSpans) -> None:
        self._pool, self._spans = pool, spans
        self._tools: Mapping[str, Callable[[InterpreterSession, Mapping[str, Any]], Awaitable[Result]]] = {
            "executeCode": self._execute_code,
            "executeCommand": self._execute_command,
            "startCommandExecution": self._start_command,
            "getTask": self._get_task,
            "stopTask": self._stop_task,
            "readFiles": self._read_files,
            "listFiles": self._list_files,
            "removeFiles": self._remove_files,
            "writeFiles": self._write_files,
        }

    async def invoke_code_interpreter(self, parameters: Mapping[str, Any], *, place: Place) -> EncodedStream:
        """Run the request's tool, and answer with an event stream of one result."""
        result = await self.result(parameters, place=place)
        header = (b"x-amzn-code-interpreter-session-id", parameters["sessionId"].encode())
        return EncodedStream(encode_event("result", result), [header])

    async def result(self, parameters: Mapping[str, Any], *, place: Place) -> Result:
        """Run the request's tool.

        Args:
            parameters: Those of InvokeCodeInterpreter.
            place: The caller's region and account.

        Returns:
            The operation's result event.

        Raises:
            RefusedError: The session does not exist, or the tool's arguments are invalid.
        """
        if not parameters.get("sessionId"):
            raise invalid("sessionId is missing: start a session with StartCodeInterpreterSession")
        began_ns = time.time_ns()
        session = self._pool.find_ready(parameters, place)
        tool: str = parameters["name"]
        arguments: Mapping[str, Any] = parameters.get("arguments") or {}
        for member in _REQUIRED[tool]:
            if arguments.get(member) is None:
                raise invalid(f"{tool} requires arguments.{member}")
        try:
            result = await self._tools[tool](session, arguments)
        except WorkerEndedError as ended:
            result = _ended(str(ended))
        self._spans.write(parameters, place, session.plan.arn, began_ns=began_ns, result=result)
        return result

    async def file_states(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, tuple[int, int]]:
        """Return size and time of change, in nanoseconds since 1970, of each file in the session's working folder.

        Args:
            parameters: The interpreter and the session, as in InvokeCodeInterpreter.
            place: The caller's region and account.

        Raises:
            RefusedError: The session does not exist.
        """
        try:
            answer = await self._pool.find_ready(parameters, place).ask("list", {"path": ""})
        except WorkerEndedError:
            return {}
        numbers = [(entry, entry.get("size"), entry.get("changed_ns")) for entry in _entries(answer, "entries")]
        return {
            entry["path"]: (size, changed_ns)
            for entry, size, changed_ns in numbers
            if not entry.get("folder") and isinstance(size, int) and isinstance(changed_ns, int)
        }

    async def _execute_code(self, session: InterpreterSession, arguments: Mapping[str, Any]) -> Result:
        language, runtime = arguments.get("language") or "python", arguments.get("runtime")
        if language != "python":
            return await self._run_node(session, arguments["code"], language, runtime)
        if runtime not in (None, "python"):
            raise invalid(f"arguments.runtime {runtime} cannot run Python code")
        request = {"code": arguments["code"], "clear": bool(arguments.get("clearContext"))}
        async with session.cells:
            answer = await session.ask("cell", request)
        stdout, stderr = _text(answer, "stdout").rstrip("\n"), _text(answer, "stderr").rstrip("\n")
        exit_code, notes = answer.get("exitCode"), list[str]()
        cut: object = answer.get("cut")
        notes += [_cut(name) for name in ("stdout", "stderr") if isinstance(cut, list) and name in cut]
        if answer.get("ended"):
            session.check_limits()
            notes.append(f"The Python process ended with exit code {exit_code}; its variables are lost")
        return _executed(
            stdout,
            "\n".join([stderr, *notes] if stderr else notes),
            exit_code if isinstance(exit_code, int) else 1,
            _seconds(answer),
        )

    async def _run_node(self, session: InterpreterSession, code: str, language: str, runtime: str | None) -> Result:
        """Run JavaScript or TypeScript in a process of its own: no state is kept between two cells."""
        program = node_program(language, runtime)
        name = f".cells/{session.next_number()}.{'ts' if language == 'typescript' else 'js'}"
        wrote = await session.ask("write", {"files": [{"path": name, "text": code}]})
        if failure := wrote.get("failure"):
            return _failed(str(failure))
        try:
            return await self._command(session, f"{program} {shlex.quote(name)}")
        finally:
            await session.ask("remove", {"paths": [name]})

    async def _execute_command(self, session: InterpreterSession, arguments: Mapping[str, Any]) -> Result:
        return await self._command(session, _command(arguments))

    async def _command(self, session: InterpreterSession, command: str) -> Result:
        begun = time.monotonic()
        output = CommandOutput(_OUTPUT_BYTES)
        await output.run(session.process, command)
        if output.exit_code < 0 or output.exit_code == _KILLED:
            session.check_limits()
        return _executed(output.stdout, _with_cuts(output), output.exit_code, time.monotonic() - begun)

    async def _start_command(self, session: InterpreterSession, arguments: Mapping[str, Any]) -> Result:
        task = session.tasks.start(session.process, _command(arguments), _OUTPUT_BYTES)
        structured = {"taskId": task.id, "taskStatus": "submitted", "stdout": "", "stderr": ""}
        return _text_result("Successfully started a command execution task") | {"structuredContent": structured}

    async def _get_task(self, session: InterpreterSession, arguments: Mapping[str, Any]) -> Result:
        task = _task(session, arguments)
        structured: dict[str, Any] = {
            "taskId": task.id,
            "taskStatus": task.status,
            "stdout": task.output.stdout,
            "stderr": _with_cuts(task.output),
        }
        if task.status in ("completed", "failed"):
            structured |= {"exitCode": task.output.exit_code, "executionTime": task.took_s}
        return _text_result(f"Task is {task.status}") | {"structuredContent": structured}

    async def _stop_task(self, session: InterpreterSession, arguments: Mapping[str, Any]) -> Result:
        task = _task(session, arguments)
        if not await task.cancel():
            raise conflict(f"Task {task.id} is {task.status}")
        return _text_result("Successfully canceled a command execution task")

    async def _read_files(self, session: InterpreterSession, arguments: Mapping[str, Any]) -> Result:
        answer = await session.ask("read", {"paths": arguments["paths"]})
        if failure := answer.get("failure"):
            return _failed(str(failure))
        return {"content": [_resource(entry) for entry in _entries(answer, "files")], "isError": False}

    async def _list_files(self, session: InterpreterSession, arguments: Mapping[str, Any]) -> Result:
        path = arguments.get("directoryPath") or arguments.get("path") or ""
        answer = await session.ask("list", {"path": path})
        if failure := answer.get("failure"):
            return _failed(str(failure))
        return {"content": [_link(entry) for entry in _entries(answer, "entries")], "isError": False}

    async def _remove_files(self, session: InterpreterSession, arguments: Mapping[str, Any]) -> Result:
        return await self._change(session, "remove", {"paths": arguments["paths"]}, "removed", arguments["paths"])

    async def _write_files(self, session: InterpreterSession, arguments: Mapping[str, Any]) -> Result:
        files: Sequence[Mapping[str, Any]] = arguments["content"]
        for file in files:
            if (file.get("text") is None) == (file.get("blob") is None):
                raise invalid(f"arguments.content: {file['path']} must have either text or blob")
        return await self._change(session, "write", {"files": files}, "wrote", files)

    async def _change(
        self,
        session: InterpreterSession,
        operation: str,
        arguments: Mapping[str, Any],
        verb: str,
        items: Sequence[object],
    ) -> Result:
        answer = await session.ask(operation, arguments)
        if failure := answer.get("failure"):
            return _failed(str(failure))
        return _text_result(f"Successfully {verb} all {len(items)} files")


def _executed(stdout: str, stderr: str, exit_code: int, took_s: float) -> Result:
    output = "\n".join(filter(None, (stdout, stderr if exit_code or not stdout else "")))
    structured = {"stdout": stdout, "stderr": stderr, "exitCode": exit_code, "executionTime": took_s}
    return {
        "content": [{"type": "text", "text": output}],
        "structuredContent": structured,
        "isError": exit_code != 0,
    }


def _ended(why: str) -> Result:
    structured = {"stdout": "", "stderr": why, "exitCode": 137, "executionTime": 0.0}
    return {"content": [{"type": "text", "text": why}], "structuredContent": structured, "isError": True}


def _text_result(text: str) -> Result:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _failed(text: str) -> Result:
    return {"content": [{"type": "text", "text": f"Error: {text}"}], "isError": True}


def _cut(stream: str) -> str:
    return f"Resource limit reached: output ({_OUTPUT_BYTES:,} bytes); the rest of {stream} was dropped"


def _with_cuts(output: CommandOutput) -> str:
    notes = [_cut(stream) for stream in output.cut]
    return "\n".join([output.stderr, *notes] if output.stderr else notes)


def _command(arguments: Mapping[str, Any]) -> str:
    command: str = arguments["command"]
    if "\0" in command or not command:
        raise invalid("arguments.command must not be empty or contain a NUL character")
    return command


def _task(session: InterpreterSession, arguments: Mapping[str, Any]) -> CommandTask:
    task = session.tasks.find(arguments["taskId"])
    if task is None:
        raise invalid(f"Task {arguments['taskId']} not found in session {session.plan.session_id}")
    return task


def _text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    return value if isinstance(value, str) else ""


def _seconds(answer: Mapping[str, Any]) -> float:
    value = answer.get("executionTime")
    return float(value) if isinstance(value, int | float) else 0.0


def _entries(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the entries of an answer that have a path: a session's process may send anything."""
    entries: object = answer.get(name)
    if not isinstance(entries, list):
        return []
    objects = [cast("Mapping[str, Any]", entry) for entry in cast("list[object]", entries) if isinstance(entry, dict)]
    return [entry for entry in objects if isinstance(entry.get("path"), str)]


def _mime_type(path: str, *, is_text: bool) -> str:
    return mimetypes.guess_type(path)[0] or ("text/plain" if is_text else "application/octet-stream")


def _resource(entry: Mapping[str, Any]) -> Result:
    path: str = entry["path"]
    is_text = isinstance(entry.get("text"), str)
    kind = "text" if is_text else "blob"
    resource = {"type": kind, "uri": f"file:///{path}", "mimeType": _mime_type(path, is_text=is_text)}
    return {"type": "resource", "resource": {**resource, kind: _text(entry, kind)}}


def _link(entry: Mapping[str, Any]) -> Result:
    path: str = entry["path"]
    link: Result = {"type": "resource_link", "uri": f"file:///{path}", "name": path.rpartition("/")[2]}
    if entry.get("folder"):
        return {**link, "description": "Directory"}
    size = entry.get("size")
    link |= {"mimeType": _mime_type(path, is_text=True), "description": "File"}
    return {**link, "size": size} if isinstance(size, int) else link
