"""The session that sent an export request, identified by the log stream in the request."""

from __future__ import annotations

from collections import OrderedDict

from ..sessions import SessionPool

_REMEMBERED = 10_000


class SessionOrigins:
    """The session id and log group of each log stream, by its UUID.

    They are remembered after the session's end, for spans that arrive later.
    """

    def __init__(self, sessions: SessionPool) -> None:
        self._sessions = sessions
        self._origins: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def find(self, mark: str) -> tuple[str, str] | None:
        """Return a stream's session id and log group; None if the stream does not belong to a session."""
        if mark not in self._origins:
            for session in self._sessions.sessions():
                group = f"/aws/bedrock-agentcore/runtimes/{session.runtime_id}-{session.qualifier}"
                self._origins.setdefault(session.stream.rpartition("]")[2], (session.session_id, group))
            while len(self._origins) > _REMEMBERED:
                self._origins.popitem(last=False)
        return self._origins.get(mark)
