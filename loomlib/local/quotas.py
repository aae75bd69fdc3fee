"""AgentCore's quotas, enforced only when requested."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, fields

from .contract import SessionLimitError

_MINUTE_S, _SECOND_S = 60.0, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """Limits on sessions and invocations of one endpoint and on active sessions of the account; None means no limit."""

    sessions_per_minute: int | None = None
    invocations_per_s: int | None = None
    active_sessions: int | None = None

    @classmethod
    def of(cls, text: str, region: str) -> Quotas:
        """Parse quotas.

        Args:
            text: "none", "aws" (the Amazon Bedrock AgentCore service quotas) or figures such as
                "sessions_per_minute=5,active_sessions=3".
            region: The region, on which AWS's figures depend.

        Raises:
            ValueError: The text is none of these.
        """
        if text == "none":
            return cls()
        if text == "aws":
            active = 1000 if region == "us-east-1" else 500
            return cls(sessions_per_minute=100, invocations_per_s=50, active_sessions=active)
        figures: dict[str, int] = {}
        quota_names = [field.name for field in fields(cls)]
        for item in text.split(","):
            name, _, figure = item.strip().partition("=")
            if name not in quota_names or not figure.isdecimal():
                raise ValueError(f"quotas must be none, aws or figures of {', '.join(quota_names)}, not {text!r}")
            figures[name] = int(figure)
        return cls(**figures)


class QuotaKeeper:
    """Counts invocations and sessions, and raises `SessionLimitError` above a quota."""

    def __init__(self, quotas: Quotas, clock: Callable[[], float] = time.monotonic) -> None:
        self._quotas, self._clock = quotas, clock
        self._invocations: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)
        self._sessions: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)

    def admit_call(self, runtime_id: str, qualifier: str) -> None:
        """Count one invocation of an endpoint. Raise `SessionLimitError` above the quota."""
        limit = self._quotas.invocations_per_s
        if limit is not None and not self._is_below(self._invocations[runtime_id, qualifier], limit, _SECOND_S):
            raise SessionLimitError("throttle", f"Rate exceeded: {limit} invocations a second on endpoint {qualifier}")

    def admit_session(self, runtime_id: str, qualifier: str, active_sessions: int) -> None:
        """Count one new session of an endpoint.

        Args:
            runtime_id: The runtime.
            qualifier: The endpoint's name.
            active_sessions: Active sessions of the account.

        Raises:
            SessionLimitError: A quota is exceeded.
        """
        most = self._quotas.active_sessions
        if most is not None and active_sessions >= most:
            raise SessionLimitError("quota", f"The account's quota of {most} active sessions is exhausted")
        limit = self._quotas.sessions_per_minute
        if limit is not None and not self._is_below(self._sessions[runtime_id, qualifier], limit, _MINUTE_S):
            raise SessionLimitError("throttle", f"Rate exceeded: {limit} new sessions a minute on endpoint {qualifier}")

    def _is_below(self, times: deque[float], limit: int, window_s: float) -> bool:
        now = self._clock()
        while times and times[0] <= now - window_s:
            times.popleft()
        if len(times) >= limit:
            return False
        times.append(now)
        return True
