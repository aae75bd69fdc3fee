"""Access keys: the owner's, and one for each session, valid until the session ends."""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_REMEMBERED: Final = 10_000  # ended keys; their callers receive an error about expired credentials


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPrincipal:
    """The session that a key belongs to.

    Attributes:
        mark: The session's unique id.
        runtime_id: Its runtime.
        role_arn: The role that the runtime runs as.
        session_id: The runtime session id.
        group: Its log group.
        named: The values of its runtime's environment variables; it can use the memories and runtimes that they name.
        tenant: The tenant for which a role was assumed; empty if the session or the role determines it.
    """

    mark: str
    runtime_id: str
    role_arn: str
    session_id: str = ""
    group: str = ""
    named: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    tenant: str = ""

    @property
    def account_id(self) -> str:
        """The account of the role."""
        return (self.role_arn.split(":") + [""] * 5)[4]

    @property
    def role_name(self) -> str:
        """The role's name, without its path."""
        return self.role_arn.rpartition("/")[2]

    @property
    def session_name(self) -> str:
        """The name of the session of the assumed role."""
        return f"BedrockAgentCore-{self.mark}"

    @property
    def arn(self) -> str:
        """The assumed role, as AWS's errors name a caller."""
        return f"arn:aws:sts::{self.account_id}:assumed-role/{self.role_name}/{self.session_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """An access key; without a principal it is the owner's and may do everything.

    Attributes:
        access_key: Its id.
        secret_key: The secret access key, which signs requests.
        principal: The session that it belongs to, or the role that was assumed.
        account_id: The account of the key; empty for the service's default account.
        session_token: The session token that its requests must contain; empty if they do not need one.
        expires_at: Expiration time in Unix seconds.
    """

    access_key: str
    secret_key: str = field(repr=False)
    principal: SessionPrincipal | None = None
    account_id: str = ""
    session_token: str = field(default="", repr=False)
    expires_at: float = math.inf

    @property
    def token(self) -> str:
        """The bearer token of requests that are not signed."""
        return bearer_token(self.secret_key)


class Keyring:
    """The keys that are valid.

    Args:
        owner: The owner's key.
    """

    def __init__(self, owner: Key) -> None:
        self._keys: dict[str, Key] = {owner.access_key: owner}
        self._by_token: dict[str, Key] = {owner.token: owner}
        self._by_mark: dict[str, Key] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def issue(self, principal: SessionPrincipal, account_id: str = "") -> Key:
        """Return a new key for a session of an account."""
        access_key = "ASIA" + secrets.token_hex(8).upper()  # AWS's prefix of temporary keys
        secret_key = secrets.token_urlsafe(30)
        key = Key(access_key=access_key, secret_key=secret_key, principal=principal, account_id=account_id)
        self._keys[key.access_key] = self._by_token[key.token] = self._by_mark[principal.mark] = key
        return key

    def add(self, key: Key) -> None:
        """Accept a key that another service issued, such as STS for a role."""
        self._keys[key.access_key] = key

    def end(self, mark: str) -> None:
        """Revoke the key of a session."""
        key = self._by_mark.pop(mark, None)
        if key is None:
            return
        del self._keys[key.access_key], self._by_token[key.token]
        self._remember(key.access_key, key.token)

    def find(self, access_key: str) -> Key | None:
        """Return the key with an id, unless it has ended."""
        key = self._keys.get(access_key)
        if key is not None and time.time() > key.expires_at:
            del self._keys[access_key]
            self._remember(access_key)
            return None
        return key

    def find_token(self, token: str) -> Key | None:
        """Return the key with a bearer token."""
        return self._by_token.get(token)

    def _remember(self, *identifiers: str) -> None:
        for identifier in identifiers:
            self._ended[identifier] = None
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)

    def has_ended(self, identifier: str) -> bool:
        """Return whether a key id or a bearer token belonged to a session that has ended."""
        return identifier in self._ended


def bearer_token(secret_key: str) -> str:
    """Return the bearer token of a secret key, which cannot be derived from the token."""
    return hmac.new(secret_key.encode(), b"loom bearer token", hashlib.sha256).hexdigest()
