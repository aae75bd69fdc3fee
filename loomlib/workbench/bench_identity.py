"""Identity: the local issuer of tokens, and the credentials with which agents call others; `bench.identity`."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import local
from ..aws import credential_providers
from ..aws.authorizers import JwtAuthorizer
from ..aws.credential_providers import CredentialProvider, TokenStatus
from .context import Context
from .frames import provider_frame

if TYPE_CHECKING:
    import pandas as pd


class BenchIdentity:
    """Identity of callers and of agents; `bench.identity`.

    Tokens for trying out runtimes that have a JWT authorizer, and the credential providers from which agents get API
    keys and OAuth2 tokens.

        agent = bench.deploy("calculator", authorizer="local")
        agent.invoke("What is 2+2?", bearer=bench.identity.token(user="alice"))

    Args:
        context: The workbench's resources.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def discovery_url(self) -> str:
        """The discovery URL of the local issuer, for an authorizer.

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

        AgentCore refuses a token in the last minute before it expires.

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

    def providers(self, *, region: str | None = None) -> pd.DataFrame:
        """Return the account's credential providers, one row each, without their secrets.

        Args:
            region: The AWS region; the connection's by default.
        """
        return provider_frame(credential_providers.list_providers(self._context.clients, region=region))

    def create_api_key_provider(
        self, name: str, api_key: str | None = None, *, region: str | None = None
    ) -> CredentialProvider:
        """Store an API key that an agent gets with `@requires_api_key(provider_name=name)`.

        Args:
            name: The provider's name.
            api_key: The key; if omitted, a hidden prompt asks for it, so that it does not appear in the notebook.
            region: The AWS region; the connection's by default.

        Raises:
            RequestRejectedError: The name is taken or not valid.
        """
        key = _secret_or_prompt(api_key, f"API key of {name}: ")
        return credential_providers.create_api_key_provider(self._context.clients, name, key, region=region)

    def create_oauth2_provider(
        self,
        name: str,
        *,
        client_id: str,
        client_secret: str | None = None,
        discovery_url: str = "",
        vendor: str = "CustomOauth2",
        options: Mapping[str, Any] | None = None,
        region: str | None = None,
    ) -> CredentialProvider:
        """Store an OAuth2 client whose tokens an agent gets with `@requires_access_token(provider_name=name, …)`.

            bench.identity.create_oauth2_provider("mail", vendor="GoogleOauth2", client_id="…")

        Args:
            name: The provider's name.
            client_id: The client's id at its authorization server.
            client_secret: The client's secret; if omitted, a hidden prompt asks for it.
            discovery_url: The authorization server's metadata, for a custom vendor.
            vendor: AgentCore's name of the vendor, such as `GithubOauth2`.
            options: Further members of the vendor's configuration in AWS's form, such as
                `{"onBehalfOfTokenExchangeConfig": {"grantType": "TOKEN_EXCHANGE"}}`.
            region: The AWS region; the connection's by default.

        Returns:
            The provider. Register its `callback_url` at the authorization server if users are to give consent.

        Raises:
            RequestRejectedError: The name is taken, or the configuration does not match the vendor.
        """
        return credential_providers.create_oauth2_provider(
            self._context.clients,
            name,
            vendor=vendor,
            client_id=client_id,
            client_secret=_secret_or_prompt(client_secret, f"Client secret of {name}: "),
            discovery_url=discovery_url,
            options=options,
            region=region,
        )

    def delete_provider(self, name: str, *, region: str | None = None) -> None:
        """Delete a credential provider with its secret and all tokens that it obtained.

        Args:
            name: The provider's name.
            region: The AWS region; the connection's by default.

        Raises:
            ResourceNotFoundError: There is no such provider.
        """
        credential_providers.delete_provider(self._context.clients, name, region=region)

    def token_status(
        self,
        provider: str,
        *,
        user: str,
        workload: str,
        scopes: Sequence[str],
        return_url: str,
        region: str | None = None,
    ) -> TokenStatus:
        """Return whether a user has given consent; the token itself is not shown.

        Without consent, this starts an authorization session, and the result has the address where the user gives
        consent. As on AWS, a runtime's own workload identity cannot be used: its agent gets a token per invocation.

        Args:
            provider: The OAuth2 credential provider.
            user: The user's id.
            workload: The workload identity that acts for the user.
            scopes: The scopes that the agent requests.
            return_url: One of the workload identity's `allowedResourceOauth2ReturnUrls`.
            region: The AWS region; the connection's by default.

        Raises:
            RequestRejectedError: The provider or the return address is not suitable.
            ResourceNotFoundError: There is no such provider or workload identity.
        """
        return credential_providers.token_status(
            self._context.clients,
            provider,
            user=user,
            workload=workload,
            scopes=scopes,
            return_url=return_url,
            region=region,
        )


def _secret_or_prompt(secret: str | None, prompt: str) -> str:
    return getpass.getpass(prompt) if secret is None else secret
