"""AMAZON.CodeInterpreter: the code interpreter session of an agent's session, and its input and output files."""

from __future__ import annotations

import asyncio
import base64
import mimetypes
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from ..gateways.schemas import object_bytes
from ..gateways.tools import TargetError
from ..interpreters import CodeInvocations, InterpreterPool
from ..resources import Place
from ..wire import RefusedError, invalid
from .sessions import AgentSession

_INTERPRETER: Final = "aws.codeinterpreter.v1"
_SESSION_S: Final = 3_600
_MOST_FILES: Final = 5  # the service model's limit of `FilePart.files`, and of the files in a request
_LARGEST_OUT_BYTES: Final = 1_000_000  # the service model's limit of a file in an answer
_LARGEST_IN_BYTES: Final = 10_485_760  # the service model's limit of `byteContent.data`


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRun:
    """The result of a code execution.

    Attributes:
        output: Its output.
        error: Its error output; "" if it succeeded.
        files: The names of the files that it created or changed.
    """

    output: str
    error: str
    files: tuple[str, ...]


class AgentSandboxes:
    """Executes agents' code in the local code interpreter, with one interpreter session for each agent session.

    Args:
        pool: Starts and stops sessions.
        invocations: Executes code and reads and writes files in them.
    """

    def __init__(self, pool: InterpreterPool, invocations: CodeInvocations) -> None:
        self._pool, self._invocations = pool, invocations

    async def run(self, session: AgentSession, code: str, place: Place) -> CodeRun:
        """Execute Python code in the session's sandbox, which starts with the first execution.

        Args:
            session: The agent's session; its uploads are written first, and the files that the code creates are
                added to its downloads.
            code: The code.
            place: The agent's region and account.
        """
        await self._start(session, place)
        if session.uploads:
            content = [{"path": name, "blob": data} for name, data in session.uploads.items()]
            await self._invoke(session, "writeFiles", {"content": content}, place)
            session.uploads = {}
        before = await self._states(session, place)
        result = await self._invoke(session, "executeCode", {"code": code, "language": "python"}, place)
        printed: Mapping[str, Any] = result.get("structuredContent") or {}
        after = await self._states(session, place)
        changed_files = [name for name, state in after.items() if before.get(name) != state][:_MOST_FILES]
        small_files = [name for name in changed_files if after[name][0] <= _LARGEST_OUT_BYTES]
        if small_files:
            read = await self._invoke(session, "readFiles", {"paths": small_files}, place)
            session.downloads |= dict(map(_download, read["content"]))
        failed = bool(result.get("isError"))
        error = str(printed.get("stderr") or "The code failed without an error message") if failed else ""
        return CodeRun(output=str(printed.get("stdout") or ""), error=error, files=tuple(changed_files))

    async def end(self, session: AgentSession) -> None:
        """Stop the sandbox of an agent's session, if it has one, and those of its collaborators."""
        for collaborator in session.collaborators.values():
            await self.end(collaborator)
        if (sandbox := session.sandbox) is not None:
            session.sandbox = None
            with suppress(RefusedError):  # it has ended by itself
                await self._pool.stop_code_interpreter_session(_session_members(sandbox[0]), place=sandbox[1])

    async def _start(self, session: AgentSession, place: Place) -> None:
        if session.sandbox is not None:
            try:
                self._pool.find_ready(_session_members(session.sandbox[0]), place)
            except RefusedError:  # it has expired: a new one starts, without its variables and files
                session.sandbox = None
        if session.sandbox is None:
            request = {"codeInterpreterIdentifier": _INTERPRETER, "sessionTimeoutSeconds": _SESSION_S}
            response = await self._pool.start_code_interpreter_session(request, place=place)
            session.sandbox = (response["sessionId"], place)

    async def _invoke(
        self, session: AgentSession, tool: str, arguments: Mapping[str, Any], place: Place
    ) -> dict[str, Any]:
        name = session.sandbox[0] if session.sandbox else ""
        return await self._invocations.result(
            {**_session_members(name), "name": tool, "arguments": arguments}, place=place
        )

    async def _states(self, session: AgentSession, place: Place) -> dict[str, tuple[int, int]]:
        """Return size and time of change of the files in the working folder, except hidden ones."""
        name = session.sandbox[0] if session.sandbox else ""
        states = await self._invocations.file_states(_session_members(name), place=place)
        return {name: state for name, state in states.items() if not name.startswith(".")}


async def read_uploads(files: Sequence[Mapping[str, Any]], place: Place) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Read the files in a request.

    Args:
        files: The member `sessionState.files`.
        place: The caller's region and account.

    Returns:
        The base64 contents of the files for the code interpreter by name, and the documents for the model.

    Raises:
        RefusedError: There are too many, or one cannot be read (400).
    """
    if len(files) > _MOST_FILES:
        raise invalid(f"A request can contain at most {_MOST_FILES} files, not {len(files)}")
    uploads: dict[str, str] = {}
    documents: list[dict[str, Any]] = []
    for file in files:
        source: Mapping[str, Any] = file["source"]
        content = await asyncio.to_thread(_content, file["name"], source, place)
        data = base64.b64encode(content).decode()
        if file["useCase"] == "CODE_INTERPRETER":
            uploads[file["name"]] = data
        else:
            name, _, kind = file["name"].rpartition(".")
            plain = "".join(letter if letter.isalnum() or letter in " -()[]" else "-" for letter in name or kind)
            documents.append({"document": {"format": kind.lower(), "name": plain, "source": {"bytes": data}}})
    return uploads, documents


def _content(name: str, source: Mapping[str, Any], place: Place) -> bytes:
    if source["sourceType"] == "BYTE_CONTENT":
        byte_content: Mapping[str, Any] = source.get("byteContent") or {}
        data: object = byte_content.get("data")
        if not data:
            raise invalid(f"The file {name} has no byteContent.data")
        return base64.b64decode(data) if isinstance(data, str) else bytes(data) if isinstance(data, bytes) else b""
    where: Mapping[str, Any] = source.get("s3Location") or {}
    try:
        return object_bytes(str(where.get("uri", "")), place, largest=_LARGEST_IN_BYTES)
    except TargetError as error:
        raise invalid(f"The file {name} cannot be read: {error}") from error


def file_part(downloads: Mapping[str, str]) -> dict[str, Any]:
    """Return the event `files` of a response.

    Args:
        downloads: The contents in base64, by name.
    """
    files = [
        {"name": name, "type": mimetypes.guess_type(name)[0] or "application/octet-stream", "bytes": data}
        for name, data in list(downloads.items())[:_MOST_FILES]
    ]
    return {"files": files}


def _session_members(session_id: str) -> dict[str, Any]:
    return {"codeInterpreterIdentifier": _INTERPRETER, "sessionId": session_id}


def _download(item: Mapping[str, Any]) -> tuple[str, str]:
    """Return a file's name and its content in base64."""
    resource: Mapping[str, str] = item["resource"]
    name = resource["uri"].rpartition("/")[2]
    return name, resource.get("blob") or base64.b64encode(resource.get("text", "").encode()).decode()
