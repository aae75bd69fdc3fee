"""The two pages of a user's consent, which a browser opens without a signature: authorization and callback."""

from __future__ import annotations

from typing import Final

from ...wire import AsgiScope, RefusedError, Send, send_body
from .consent import (
    AUTHORIZE_PATH,
    CALLBACK_PATH,
    ConsentSession,
    ConsentSessions,
    authorization_request,
    only,
    with_query,
)
from .plane import IdentityPlane

_HEADERS: Final = (
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),  # the URLs contain codes and states
    (b"x-content-type-options", b"nosniff"),
)
_CODE_LIMIT: Final = 4_096


class ConsentPages:
    """Redirects browsers to the authorization server, and from there to the application.

    Args:
        plane: Provides the credential providers.
        sessions: Users' consent.
    """

    def __init__(self, plane: IdentityPlane, sessions: ConsentSessions) -> None:
        self._plane, self._sessions = plane, sessions

    def has(self, scope: AsgiScope) -> bool:
        """Whether a request asks for one of the pages."""
        path: str = scope["path"]
        return scope["method"] == "GET" and (path == AUTHORIZE_PATH or path.startswith(CALLBACK_PATH))

    async def answer(self, scope: AsgiScope, send: Send) -> None:
        """Answer one request of a browser; the guard has checked its host."""
        if scope["path"] == AUTHORIZE_PATH:
            await self._authorize(scope["query_string"], send)
        else:
            await self._returned(scope["path"], scope["query_string"], send)

    async def _authorize(self, query: bytes, send: Send) -> None:
        session = self._sessions.find(only(query, "request_uri"))
        if session is None:
            await _say(send, 404, "This authorization does not exist or has expired. Ask the agent for a new one.")
            return
        try:
            client_id, metadata = await self._plane.authorization_server(session.provider)
            address = authorization_request(
                session, metadata, client_id=client_id, redirect_uri=self._plane.redirect_uri(session.provider)
            )
        except RefusedError as refused:
            session.failure = refused.message
            await _say(send, 502, f"The authorization server cannot be used: {session.failure}")
            return
        await _redirect(send, address)

    async def _returned(self, path: str, query: bytes, send: Send) -> None:
        session = self._sessions.of_state(only(query, "state"))
        if session is None or not self._plane.redirect_uri(session.provider).endswith(path):
            await _say(
                send, 400, "This response does not belong to a pending authorization. Ask the agent for a new one."
            )
            return
        if code := only(query, "code")[:_CODE_LIMIT]:
            session.code = code
        else:
            session.failure = only(query, "error")[:80] or "the authorization server sent no code"
        await _redirect(send, _way_back(session))


def _way_back(session: ConsentSession) -> str:
    added = {"session_id": session.uri}
    if session.custom_state:
        added["state"] = session.custom_state
    if session.failure:
        added["error"] = session.failure
    return with_query(session.return_url, added)


async def _redirect(send: Send, address: str) -> None:
    await send_body(send, b"", 302, [*_HEADERS, (b"location", address.encode("ascii", "replace"))])


async def _say(send: Send, status: int, sentence: str) -> None:
    await send_body(send, sentence.encode(), status, _HEADERS)
