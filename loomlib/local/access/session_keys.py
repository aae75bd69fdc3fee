"""The keys of sessions: valid from the start of a process until its end."""

from __future__ import annotations

from ..contract import RuntimeVersion, SessionKey
from ..log_groups import runtime_group
from ..resources import place_of
from .keys import Keyring, SessionPrincipal


class SessionKeys:
    """Issues one key for each session's process, with the permissions of its runtime's role."""

    def __init__(self, keys: Keyring, *, account_id: str) -> None:
        self._keys, self._account_id = keys, account_id

    def issue(self, runtime: RuntimeVersion, *, qualifier: str, session_id: str, mark: str) -> SessionKey:
        """Return a new key.

        Args:
            runtime: The version that the session runs.
            qualifier: The endpoint's name.
            session_id: The runtime session id.
            mark: The session's mark.
        """
        principal = SessionPrincipal(
            mark=mark,
            runtime_id=runtime.runtime_id,
            role_arn=runtime.role_arn or f"arn:aws:iam::{self._account_id}:role/loom-local",
            session_id=session_id,
            group=runtime_group(runtime, f"/aws/bedrock-agentcore/runtimes/{runtime.runtime_id}-{qualifier}"),
            named=runtime.environment,
        )
        key = self._keys.issue(principal, account_id=place_of(runtime.arn).account_id)
        return SessionKey(
            environment={"AWS_ACCESS_KEY_ID": key.access_key, "AWS_SECRET_ACCESS_KEY": key.secret_key}, token=key.token
        )

    def end(self, mark: str) -> None:
        """End the key of a session whose process has ended."""
        self._keys.end(mark)
