"""Code interpreter sessions of AgentCore: start, invoke, stop, and results as values."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from loomlib.errors import MalformedResponseError

from .connection import Clients
from .errors import failure, translated

MANAGED: Final = "aws.codeinterpreter.v1"
"""The code interpreter that AWS manages, available in every region."""

_READ_TIMEOUT_S = 900  # a cell may take as long as its session, 900 s unless another time-out is given


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOutput:
    """The result of a code interpreter's tool call.

    Attributes:
        text: The answer's text: the output, or the error.
        stdout: The standard output; empty for file operations.
        stderr: The errors; of a failed cell, its traceback.
        exit_code: 0 for success; None for file operations.
        is_error: Whether the code, the command or the file operation failed.
        execution_ms: How long the code ran, as the service reports it; None for file operations.
        duration_ms: Time from the call to its complete answer, measured at the client, in milliseconds.
        content: The answer's content blocks in AWS's form: text, images, resources.
    """

    text: str
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    is_error: bool = False
    execution_ms: float | None = None
    duration_ms: float
    content: Sequence[Mapping[str, Any]] = field(default=(), repr=False)


def start_code_session(clients: Clients, interpreter: str, *, name: str = "", timeout_s: int = 900) -> str:
    """Start a session and return its id (StartCodeInterpreterSession).

    Args:
        clients: The AWS clients of a connection.
        interpreter: The code interpreter's id or ARN.
        name: The session's name.
        timeout_s: Seconds after which it ends, even while code runs in it; at most 28,800.

    Raises:
        ResourceNotFoundError: There is no such code interpreter.
    """
    options = {"name": name} if name else {}
    with translated("Starting a code interpreter session", on=interpreter):
        answer: dict[str, Any] = clients.data().start_code_interpreter_session(
            codeInterpreterIdentifier=interpreter, sessionTimeoutSeconds=timeout_s, **options
        )
    return str(answer["sessionId"])


def stop_code_session(clients: Clients, interpreter: str, session_id: str) -> None:
    """Stop a session (StopCodeInterpreterSession).

    Args:
        clients: The AWS clients of a connection.
        interpreter: The code interpreter's id; `aws.codeinterpreter.v1` is AWS's own.
        session_id: The session's id.
    """
    with translated("Stopping the code interpreter session", on=session_id):
        clients.data().stop_code_interpreter_session(codeInterpreterIdentifier=interpreter, sessionId=session_id)


def invoke_code(
    clients: Clients, interpreter: str, session_id: str, tool: str, arguments: Mapping[str, Any]
) -> CodeOutput:
    """Call a tool of a session and return its result (InvokeCodeInterpreter).

    Args:
        clients: The AWS clients of a connection.
        interpreter: The code interpreter's id or ARN.
        session_id: The session.
        tool: AWS's name of the tool, such as `executeCode`.
        arguments: Its arguments.

    Raises:
        ConflictError: The session has ended.
        MalformedResponseError: The stream does not contain a result.
    """
    begun = time.perf_counter()
    client = clients.client("bedrock-agentcore", read_timeout_s=_READ_TIMEOUT_S)
    result: Mapping[str, Any] | None = None
    with translated(f"Calling {tool} of the code interpreter", on=session_id):
        answer = client.invoke_code_interpreter(
            codeInterpreterIdentifier=interpreter, sessionId=session_id, name=tool, arguments=arguments
        )
        for event in answer["stream"]:
            result = event.get("result", result)
    if result is None:
        raise failure(
            MalformedResponseError, f"Calling {tool} of the code interpreter: no result was returned", on=session_id
        )
    return _output(result, (time.perf_counter() - begun) * 1000)


def _output(result: Mapping[str, Any], duration_ms: float) -> CodeOutput:
    content = cast("list[dict[str, Any]]", result.get("content") or [])
    structured = cast("dict[str, Any]", result.get("structuredContent") or {})
    seconds = structured.get("executionTime")
    return CodeOutput(
        text="\n".join(str(block["text"]) for block in content if block.get("text")),
        stdout=str(structured.get("stdout") or ""),
        stderr=str(structured.get("stderr") or ""),
        exit_code=structured.get("exitCode"),
        is_error=bool(result.get("isError")),
        execution_ms=None if seconds is None else float(seconds) * 1000,
        duration_ms=duration_ms,
        content=content,
    )
