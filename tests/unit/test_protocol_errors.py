"""The forms of errors that the developer guide gives for each protocol."""

from __future__ import annotations

import json

import pytest

from loomlib.local.protocols import AgentStatusError, keeps_aws_form, protocol_error
from loomlib.local.wire import RefusedError, invalid, not_found

BODY = b'{"jsonrpc": "2.0", "id": "req-001", "method": "tools/list"}'


@pytest.mark.parametrize(
    ("protocol", "code", "status", "number"),
    [
        ("MCP", "AccessDeniedException", 403, -32002),
        ("MCP", "ThrottlingException", 200, -32003),
        ("MCP", "ServiceQuotaExceededException", 200, -32003),
        ("MCP", "ResourceNotFoundException", 200, -32004),
        ("MCP", "RetryableConflictException", 200, -32005),
        ("MCP", "ValidationException", 200, -32006),
        ("MCP", "RuntimeClientError", 200, -32010),
        ("MCP", "McpRequestUnacceptableException", 406, -32011),
        ("MCP", "SomethingElse", 200, -32603),
        ("A2A", "ResourceNotFoundException", 404, -32051),
        ("A2A", "ValidationException", 400, -32052),
        ("A2A", "ThrottlingException", 429, -32053),
        ("A2A", "RetryableConflictException", 409, -32054),
        ("A2A", "RuntimeClientError", 424, -32055),
        ("A2A", "SomethingElse", 500, -32603),
    ],
)
def test_json_rpc_errors_have_the_codes_of_the_contract(protocol: str, code: str, status: int, number: int) -> None:
    actual_status, headers, content = protocol_error(protocol, RefusedError(code, 418, "why"), BODY, "r-1")
    document = json.loads(content)
    assert (actual_status, document["error"]["code"], document["id"]) == (status, number, "req-001")
    assert document["error"]["data"] == {"reason": "why"}
    assert ((b"x-amzn-errortype", code.encode()) in headers) == (status >= 400)
    assert (b"x-amzn-requestid", b"r-1") in headers


@pytest.mark.parametrize(
    ("code", "status", "name"),
    [
        ("UnauthorizedException", 401, "UNAUTHORIZED"),
        ("AccessDeniedException", 403, "ACCESS_DENIED"),
        ("ValidationException", 400, "VALIDATION_ERROR"),
        ("ThrottlingException", 429, "RATE_LIMIT_EXCEEDED"),
        ("RetryableConflictException", 409, "SESSION_BUSY"),
        ("ServiceQuotaExceededException", 429, "SERVICE_QUOTA_EXCEEDED"),
        ("RuntimeClientError", 200, "AGENT_ERROR"),
        ("SomethingElse", 500, "INTERNAL_ERROR"),
    ],
)
def test_agui_errors_are_events_with_the_codes_of_the_contract(code: str, status: int, name: str) -> None:
    actual_status, headers, content = protocol_error("AGUI", RefusedError(code, 418, "why"), BODY, "r-1")
    event = json.loads(content.removeprefix(b"data: "))
    assert (actual_status, event["type"], event["code"]) == (status, "RUN_ERROR", name)
    assert content.endswith(b"\n\n")
    assert (b"content-type", b"text/event-stream") in headers


def test_a_servers_own_error_status_is_named_as_aws_does() -> None:
    _, _, content = protocol_error("MCP", AgentStatusError("The agent answered 404: gone", 404), BODY, "r-1")
    message = "Received error (404) from runtime. Please check your CloudWatch logs for more information."
    assert json.loads(content)["error"]["message"] == message


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b'{"id": true}', b'{"id": {}}', b"\xff"])
def test_a_body_without_an_id_gets_an_error_without_one(body: bytes) -> None:
    assert json.loads(protocol_error("MCP", invalid("no"), body, "r-1")[2])["id"] is None


def test_denied_access_to_an_a2a_agent_has_awss_form() -> None:
    denied = RefusedError("AccessDeniedException", 403, "no")
    assert keeps_aws_form("A2A", denied)
    assert not keeps_aws_form("MCP", denied)
    assert not keeps_aws_form("A2A", not_found("no"))
    assert keeps_aws_form("HTTP", not_found("no"))
