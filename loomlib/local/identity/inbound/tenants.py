"""The tenants of callers and of sessions: no caller can use another tenant's session.

AWS leaves the mapping from users to sessions to the caller's backend; the local AgentCore enforces it instead. The
tenant is read from the verified token, never from a payload or a header. Requests that a session signs act for the
session's tenant. If the session has no tenant, or the key is an assumed role's, the role's tags name the tenant.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Final, cast

from ...access.keys import SessionPrincipal
from ...access.permissions import role_tags
from ...contract import CallIdentity, RuntimeVersion
from ...guard import Caller
from ...tenancy import tenant_of
from ...wire import RefusedError

_FILE: Final = "session-tenants.jsonl"


class SessionTenants:
    """The tenants of sessions, which persist across restarts of the service, as a session's files do.

    Args:
        home: The service's folder.
    """

    def __init__(self, home: Path) -> None:
        self._file = home / _FILE
        self._tenants: dict[str, str] = {}
        if self._file.exists():
            text = self._file.read_text("utf-8", errors="replace")
            for line in text.splitlines():
                self._read(line)
            if text and not text.endswith("\n"):  # the next line would be appended to the incomplete one
                with self._file.open("a", encoding="utf-8") as file:
                    file.write("\n")

    def enter(self, caller: Caller, version: RuntimeVersion, session_id: str, identity: CallIdentity) -> str:
        """Admit a caller to a session and bind the session to the caller's tenant; return the tenant, "" for none.

        Args:
            caller: The caller.
            version: The version that is called.
            session_id: The runtime session.
            identity: The verified identity of the caller.

        Raises:
            RefusedError: The session belongs to another tenant. The owner of the service can use every session.
        """
        tenant = identity.tenant if caller.key is None else self.tenant_for(caller.principal)
        if tenant is None:
            return ""
        key = _key(version.runtime_id, session_id)
        if (owner := self._tenants.get(key, "")) != tenant:
            if owner:
                raise RefusedError("AccessDeniedException", 403, "The session belongs to another tenant")
            self._keep(key, tenant)
        return tenant

    def tenant_for(self, principal: SessionPrincipal | None) -> str | None:
        """Return the tenant for which a signed caller acts; "" for none, None for the owner, who acts for all.

        Args:
            principal: The session or the assumed role that signed the request; None for the owner.
        """
        if principal is None:
            return None
        own = self._tenants.get(_key(principal.runtime_id, principal.session_id), "") if principal.runtime_id else ""
        return principal.tenant or own or tenant_of(role_tags(principal))

    def _keep(self, key: str, tenant: str) -> None:
        line = json.dumps({"session": key, "tenant": tenant}) + "\n"
        descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
        self._tenants[key] = tenant

    def _read(self, line: str) -> None:
        try:
            record: object = json.loads(line)
        except ValueError:  # the line that was being written when the machine stopped
            return
        if isinstance(record, dict):
            values = cast("dict[str, object]", record)
            self._tenants[str(values.get("session"))] = str(values.get("tenant"))


def _key(runtime_id: str, session_id: str) -> str:
    return hashlib.sha256(f"{runtime_id}\n{session_id}".encode()).hexdigest()[:32]
