"""The error form of each protocol: JSON-RPC for MCP and A2A, a RUN_ERROR event for AG-UI.

Codes, HTTP statuses and messages are those of the developer guide's protocol contracts. The local reason is added in
the members that these forms provide: `data.reason` of JSON-RPC, `rawEvent.reason` of AG-UI.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..wire import ChallengeError, RefusedError
from .mcp import json_rpc_id


@dataclass(frozen=True, slots=True)
class _Form:
    code: int | str
    status: int
    message: str


_RETRY: Final = "Session operation in progress, please retry"
_EXISTS: Final = "Resource conflict - Resource already exists"
_RATE: Final = "Rate limit exceeded - Too many requests"
_MISSING: Final = "Resource not found - Requested resource does not exist"
_WRONG: Final = "Validation error - Invalid request data"
_LOGS: Final = "Please check your CloudWatch logs for more information"

_MCP: Final[Mapping[str, _Form]] = {
    "UnauthorizedException": _Form(-32001, 401, "Authentication error - Invalid credentials"),
    "AccessDeniedException": _Form(-32002, 403, "Authorization error - Insufficient permissions"),
    "ThrottlingException": _Form(-32003, 200, _RATE),
    "ServiceQuotaExceededException": _Form(-32003, 200, _RATE),
    "ResourceNotFoundException": _Form(-32004, 200, _MISSING),
    "ConflictException": _Form(-32005, 200, _EXISTS),
    "RetryableConflictException": _Form(-32005, 200, _RETRY),
    "ValidationException": _Form(-32006, 200, _WRONG),
    "RuntimeClientError": _Form(-32010, 200, f"Tool execution error - {_LOGS}"),
    "McpRequestUnacceptableException": _Form(
        -32011, 406, "Accept Header Error - MCP protocol requires Accept header: application/json, text/event-stream"
    ),
}
_A2A: Final[Mapping[str, _Form]] = {
    "ResourceNotFoundException": _Form(-32051, 404, _MISSING),
    "ValidationException": _Form(-32052, 400, _WRONG),
    "ThrottlingException": _Form(-32053, 429, _RATE),
    "ServiceQuotaExceededException": _Form(-32053, 429, _RATE),
    "ConflictException": _Form(-32054, 409, _EXISTS),
    "RetryableConflictException": _Form(-32054, 409, _RETRY),
    "RuntimeClientError": _Form(-32055, 424, f"Runtime client error - {_LOGS}"),
}
_AGUI: Final[Mapping[str, _Form]] = {
    "UnauthorizedException": _Form("UNAUTHORIZED", 401, "Authentication required or invalid credentials"),
    "AccessDeniedException": _Form("ACCESS_DENIED", 403, "Insufficient permissions for requested operation"),
    "ResourceNotFoundException": _Form("VALIDATION_ERROR", 404, "Invalid request data or parameters"),
    "ValidationException": _Form("VALIDATION_ERROR", 400, "Invalid request data or parameters"),
    "ThrottlingException": _Form("RATE_LIMIT_EXCEEDED", 429, "Too many requests from client"),
    "ConflictException": _Form("SESSION_BUSY", 409, _EXISTS),
    "RetryableConflictException": _Form("SESSION_BUSY", 409, _RETRY),
    "ServiceQuotaExceededException": _Form("SERVICE_QUOTA_EXCEEDED", 429, "Service quota exceeded"),
    "RuntimeClientError": _Form("AGENT_ERROR", 200, "Agent code failed during execution - check your CloudWatch logs"),
}
_OTHER: Final[Mapping[str, _Form]] = {
    "MCP": _Form(-32603, 200, "Internal error - Server error"),
    "A2A": _Form(-32603, 500, "Internal error - An unexpected error occurred while processing the request"),
    "AGUI": _Form("INTERNAL_ERROR", 500, "An internal error occurred while processing the request"),
}
_FORMS: Final = {"MCP": _MCP, "A2A": _A2A, "AGUI": _AGUI}


class AgentStatusError(RefusedError):
    """An agent's answer with an error status (RuntimeClientError, 424).

    Args:
        message: The agent's response, and its last log lines.
        agent_status: The HTTP status of the agent's response.
    """

    def __init__(self, message: str, agent_status: int) -> None:
        super().__init__("RuntimeClientError", 424, message)
        self.agent_status = agent_status


def keeps_aws_form(protocol: str, refused: RefusedError) -> bool:
    """Return whether an error of a runtime has AWS's own form, whatever its protocol."""
    if isinstance(refused, ChallengeError):
        return protocol != "AGUI"  # AgentCore's form of 401 is JSON-RPC for every other protocol
    return protocol == "HTTP" or (protocol == "A2A" and refused.code == "AccessDeniedException")


def protocol_error(
    protocol: str, refused: RefusedError, body: bytes, request_id: str
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return the status, headers and body of an error in the form of a runtime's protocol.

    Args:
        protocol: MCP, A2A or AGUI.
        refused: The error.
        body: The request's body, whose JSON-RPC id the error carries.
        request_id: Id of the request.
    """
    form = _FORMS[protocol].get(refused.code, _OTHER[protocol])
    headers = [(b"x-amzn-requestid", request_id.encode())]
    if isinstance(refused, ChallengeError):
        headers.append((b"www-authenticate", refused.challenge.encode()))
    if form.status >= 400:
        headers.append((b"x-amzn-errortype", refused.code.encode()))  # SDKs read the error's name here
    if protocol == "AGUI":
        event = {
            "type": "RUN_ERROR",
            "code": form.code,
            "message": form.message,
            "rawEvent": {"reason": refused.message},
        }
        headers.append((b"content-type", b"text/event-stream"))
        return form.status, headers, f"data: {json.dumps(event)}\n\n".encode()
    message = form.message
    if protocol == "MCP" and isinstance(refused, AgentStatusError):
        message = f"Received error ({refused.agent_status}) from runtime. {_LOGS}."
    error: dict[str, Any] = {"code": form.code, "message": message}
    if refused.message != message:
        error["data"] = {"reason": refused.message}
    document = {"jsonrpc": "2.0", "id": json_rpc_id(body), "error": error}
    headers.append((b"content-type", b"application/json"))
    return form.status, headers, json.dumps(document).encode()
