"""Tokens of the local issuer, requested by its owner."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .loopback import ask
from .state import ServiceState

DEFAULT_CLIENT: Final = "loom"
"""The default `client_id` of tokens."""


def issue_token(
    state: ServiceState,
    user: str,
    *,
    client: str = DEFAULT_CLIENT,
    scopes: Sequence[str] = (),
    audience: Sequence[str] = (),
    expires_s: float = 3_600.0,
    claims: Mapping[str, Any] | None = None,
) -> str:
    """Return a token that the service's own issuer signs.

    Args:
        state: The service.
        user: The subject (`sub`).
        client: The client (`client_id`).
        scopes: The scopes.
        audience: The audiences (`aud`).
        expires_s: How long it is valid, in seconds.
        claims: Further claims.

    Raises:
        LocalServiceError: The service is not running, or refuses an argument.
    """
    request = {
        "user": user,
        "client": client,
        "scopes": list(scopes),
        "audience": list(audience),
        "expires_s": expires_s,
        "claims": dict(claims or {}),
    }
    answer = json.loads(ask(state, "POST", "/_loom/identity/tokens", body=json.dumps(request).encode()))
    return str(answer["token"])


def issuer_address(state: ServiceState) -> str:
    """Return the address of the local issuer's metadata (`discoveryUrl`)."""
    return str(json.loads(ask(state, "GET", "/_loom/identity"))["discoveryUrl"])
