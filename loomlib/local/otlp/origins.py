"""Whose telemetry a request holds, by the log stream that its sender names."""

from __future__ import annotations

from collections import OrderedDict

from ..sessions import SessionPool

_REMEMBERED = 10_000


class SessionOrigins:
    """Session id and log group by the uuid of a session's log stream; remembered, for spans that come after its end."""

    def __init__(self, sessions: SessionPool) -> None:
        self._sessions = sessions
        self._known: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def find(self, mark: str) -> tuple[str, str] | None:
        """Session id and log group of the stream, None when no such session was seen alive."""
        if mark not in self._known:
            for session in self._sessions.sessions():
                group = f"/aws/bedrock-agentcore/runtimes/{session.runtime_id}-{session.qualifier}"
                self._known.setdefault(session.stream.rpartition("]")[2], (session.session_id, group))
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return self._known.get(mark)
