"""The keys that STS issues for an assumed role."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from ..tenancy import acting_tenant
from .keys import Key, Keyring, SessionPrincipal
from .permissions import role_statements

_MEMBERS: Final = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration", "Arn")


class AssumedRoles:
    """Makes the keys of `AssumeRole` valid.

    A role that was created in the local IAM has the permissions of its policies. Any other role of the owner has all
    permissions in its account; a session cannot assume one. A tenant that assumes a role remains that tenant.

    Args:
        keys: The keys that are valid.
    """

    def __init__(self, keys: Keyring) -> None:
        self._keys = keys

    def accept(self, role_arn: str, answer: bytes, caller: SessionPrincipal | None) -> None:
        """Accept the key in an answer of STS.

        Args:
            role_arn: The role that was assumed.
            answer: The body of AssumeRole's answer.
            caller: The session that called; None for the owner.
        """
        matches = {name: re.search(rf"<{name}>([^<]+)</{name}>".encode(), answer) for name in _MEMBERS}
        credentials = {name: match[1].decode() for name, match in matches.items() if match}
        if len(credentials) < len(_MEMBERS):
            return  # an error
        account_id = role_arn.split(":")[4]
        principal = SessionPrincipal(
            mark=credentials["Arn"].rpartition("/")[2], runtime_id="", role_arn=role_arn, tenant=acting_tenant() or ""
        )
        if role_statements(principal) is None:
            if caller is not None:
                return
            principal = None
        self._keys.add(
            Key(
                access_key=credentials["AccessKeyId"],
                secret_key=credentials["SecretAccessKey"],
                principal=principal,
                account_id=account_id,
                session_token=credentials["SessionToken"],
                expires_at=datetime.fromisoformat(credentials["Expiration"]).timestamp(),
            )
        )
