"""Records of the credentials that sessions obtain for outbound calls: the provider and the user, never a secret."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, cast

from ..access.keys import Key, SessionPrincipal
from ..contract import LogSink
from ..wire import RefusedError

STREAM: Final = "outbound"
_RUNTIMES: Final = "/aws/bedrock-agentcore/runtimes/"
_GROUPS: Final = "/loom/authorization/"
_OPERATIONS: Final = frozenset(
    {
        "GetResourceApiKey",
        "GetResourceOauth2Token",
        "GetWorkloadAccessToken",
        "GetWorkloadAccessTokenForJWT",
        "GetWorkloadAccessTokenForUserId",
    }
)
_SHOWN: Final = ("resourceCredentialProviderName", "oauth2Flow", "workloadName", "userId")
_SHOWN_CHARACTERS: Final = 200


class OutboundCredentialLog:
    """Records sessions' requests for credentials in the log group of their runtime's authorization decisions.

    Args:
        sink: Receives the log lines.
    """

    def __init__(self, sink: LogSink) -> None:
        self._sink = sink

    @contextmanager
    def recording(self, key: Key | None, operation: str, body: bytes, request_id: str) -> Generator[None]:
        """Record a request after it has been answered, if a session requested credentials.

        Args:
            key: The key of the caller.
            operation: The operation.
            body: The request's body.
            request_id: Id of the request.
        """
        principal = key.principal if key is not None else None
        if principal is None or operation not in _OPERATIONS:
            yield
            return
        try:
            yield
        except RefusedError as refused:
            self._record(principal, operation, body, request_id, refused.code)
            raise
        self._record(principal, operation, body, request_id, "")

    def _record(self, principal: SessionPrincipal, operation: str, body: bytes, request_id: str, error: str) -> None:
        members = _members(body)
        scopes = members.get("scopes")
        document: dict[str, Any] = {
            "requestId": request_id,
            "sessionId": principal.session_id,
            "operation": operation,
            "caller": principal.arn,
            "error": error,
            **{name: str(members[name])[:_SHOWN_CHARACTERS] for name in _SHOWN if isinstance(members.get(name), str)},
        }
        if isinstance(scopes, list):
            first_scopes = cast("list[object]", scopes)[:20]
            document["scopes"] = [str(scope)[:_SHOWN_CHARACTERS] for scope in first_scopes]
        self._sink.write(
            group=principal.group.replace(_RUNTIMES, _GROUPS),
            stream=STREAM,
            timestamp_ms=int(time.time() * 1000),
            message=json.dumps(document),
        )


def _members(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", document) if isinstance(document, dict) else {}
