"""Identity: the local issuer of tokens; `bench.identity`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import local
from ..aws.authorizers import JwtAuthorizer
from .context import Context


class BenchIdentity:
    """The identity of callers: tokens for trying out runtimes that have a JWT authorizer; `bench.identity`.

        agent = bench.deploy("calculator", authorizer="local")
        agent.invoke("What is 2+2?", bearer=bench.identity.token(user="alice"))

    Args:
        context: The workbench's resources.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def discovery_url(self) -> str:
        """The address of the local issuer's metadata, as an authorizer names it.

        Raises:
            NotSupportedError: On AWS, where the issuer is your identity provider.
        """
        return self._context.environment.issuer_address()

    def token(
        self,
        user: str,
        *,
        client: str = local.DEFAULT_CLIENT,
        scopes: Sequence[str] = (),
        audience: Sequence[str] = (),
        expires_s: float = 3_600.0,
        claims: Mapping[str, Any] | None = None,
    ) -> str:
        """Return a token of the local issuer for any user. It is a secret: do not display or store it.

        AgentCore refuses a token in its last minute.

        Args:
            user: The subject (`sub`).
            client: The client (`client_id`).
            scopes: The scopes.
            audience: The audiences (`aud`).
            expires_s: How long it is valid, in seconds, at most a week.
            claims: Further claims, such as `{"groups": ["admin"]}`.

        Raises:
            LocalServiceError: The service refuses an argument.
            NotSupportedError: On AWS, where tokens come from your identity provider.
        """
        return self._context.environment.issue_token(
            user, client=client, scopes=scopes, audience=audience, expires_s=expires_s, claims=claims
        )

    def authorizer(self) -> JwtAuthorizer:
        """Return the authorizer that `bench.deploy(…, authorizer="local")` sets: tokens of the local issuer."""
        return JwtAuthorizer(discovery_url=self.discovery_url, clients=[local.DEFAULT_CLIENT])
