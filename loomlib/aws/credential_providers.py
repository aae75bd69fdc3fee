"""Credential providers of AgentCore Identity, which let an agent call other services without holding their secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from loomlib.errors import ResourceNotFoundError

from .connection import Clients
from .errors import translated
from .paging import iter_items

_PAGE: Final = 20  # the limit of ListOauth2CredentialProviders
_OWN_MEMBER: Final[Mapping[str, str]] = {
    "GoogleOauth2": "googleOauth2ProviderConfig",
    "GithubOauth2": "githubOauth2ProviderConfig",
    "SlackOauth2": "slackOauth2ProviderConfig",
    "SalesforceOauth2": "salesforceOauth2ProviderConfig",
    "MicrosoftOauth2": "microsoftOauth2ProviderConfig",
    "CustomOauth2": "customOauth2ProviderConfig",
    "AtlassianOauth2": "atlassianOauth2ProviderConfig",
    "LinkedinOauth2": "linkedinOauth2ProviderConfig",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialProvider:
    """A credential provider.

    Attributes:
        name: Its name, which the agent's code uses.
        kind: "api_key" or "oauth2".
        vendor: The OAuth2 vendor, such as `GithubOauth2`; "" for an API key.
        arn: Its ARN.
        created_at: When it was created.
        updated_at: When it was changed last.
        callback_url: Where the authorization server sends users back: register it there. "" in lists.
    """

    name: str
    kind: Literal["api_key", "oauth2"]
    vendor: str
    arn: str
    created_at: datetime
    updated_at: datetime
    callback_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStatus:
    """Whether a user's token is in the token vault; never the token itself.

    Attributes:
        provider: The credential provider.
        user: The user's id.
        granted: Whether an agent gets a token for the user without asking the user for consent.
        authorization_url: Where the user gives consent; "" when granted.
        session_uri: The authorization session, "" when granted.
    """

    provider: str
    user: str
    granted: bool
    authorization_url: str = field(default="", repr=False)
    session_uri: str = field(default="", repr=False)


def list_providers(clients: Clients, *, region: str | None = None) -> Iterator[CredentialProvider]:
    """Return every credential provider of the account in a region."""
    control, where = clients.control(region), region or clients.region
    query = {"maxResults": _PAGE}
    for call in (control.list_api_key_credential_providers, control.list_oauth2_credential_providers):
        for shape in iter_items(call, "credentialProviders", query, "Listing credential providers", where):
            yield _provider(shape)


def create_api_key_provider(
    clients: Clients, name: str, api_key: str, *, region: str | None = None
) -> CredentialProvider:
    """Create a provider of an API key and return it.

    Args:
        clients: The AWS clients of a connection.
        name: The provider's name, unique in the account and region.
        api_key: The secret; AWS stores it in Secrets Manager.
        region: The region, if it is not the connection's.
    """
    with translated("Creating a credential provider", on=name):
        control = clients.control(region)
        control.create_api_key_credential_provider(name=name, apiKey=api_key)
        return _provider(control.get_api_key_credential_provider(name=name))


def create_oauth2_provider(
    clients: Clients,
    name: str,
    *,
    vendor: str,
    client_id: str,
    client_secret: str,
    discovery_url: str = "",
    options: Mapping[str, Any] | None = None,
    region: str | None = None,
) -> CredentialProvider:
    """Create a provider of an OAuth2 client and return it.

    Args:
        clients: The AWS clients of a connection.
        name: The provider's name, unique in the account and region.
        vendor: A vendor of AWS's list, such as `GoogleOauth2` or `CustomOauth2`.
        client_id: The client's id at the vendor.
        client_secret: The client's secret; AWS stores it in Secrets Manager.
        discovery_url: The issuer's metadata, which `CustomOauth2` needs.
        options: Further members of the vendor's configuration, in AWS's form.
        region: The region, if it is not the connection's.
    """
    config: dict[str, Any] = {"clientId": client_id, "clientSecret": client_secret, **(options or {})}
    if discovery_url:
        config["oauthDiscovery"] = {"discoveryUrl": discovery_url}
    member = _OWN_MEMBER.get(vendor, "includedOauth2ProviderConfig")
    with translated("Creating a credential provider", on=name):
        control = clients.control(region)
        control.create_oauth2_credential_provider(
            name=name, credentialProviderVendor=vendor, oauth2ProviderConfigInput={member: config}
        )
        return _provider(control.get_oauth2_credential_provider(name=name))


def delete_provider(clients: Clients, name: str, *, region: str | None = None) -> None:
    """Delete a provider with its secret and its tokens.

    Args:
        clients: The AWS clients of a connection.
        name: The provider's name.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is no such provider.
    """
    provider = next((item for item in list_providers(clients, region=region) if item.name == name), None)
    if provider is None:
        raise ResourceNotFoundError(
            "There is no such credential provider", on=name, try_="bench.identity.providers() lists them"
        )
    control = clients.control(region)
    delete = (
        control.delete_api_key_credential_provider
        if provider.kind == "api_key"
        else control.delete_oauth2_credential_provider
    )
    with translated("Deleting a credential provider", on=name):
        delete(name=name)


def token_status(
    clients: Clients,
    provider: str,
    *,
    user: str,
    workload: str,
    scopes: Sequence[str],
    return_url: str,
    region: str | None = None,
) -> TokenStatus:
    """Return whether a workload gets a user's token; if not, start an authorization session.

    Args:
        clients: The AWS clients of a connection.
        provider: The OAuth2 provider's name.
        user: The user's id, as the workload names it.
        workload: The name of the workload identity.
        scopes: The requested scopes.
        return_url: Where the user's browser is sent after consent; the workload identity must allow it.
        region: The region, if it is not the connection's.
    """
    data = clients.data(region)
    with translated("Reading the status of a token", on=provider):
        token = data.get_workload_access_token_for_user_id(workloadName=workload, userId=user)
        answer: Mapping[str, str] = data.get_resource_oauth2_token(
            workloadIdentityToken=token["workloadAccessToken"],
            resourceCredentialProviderName=provider,
            scopes=list(scopes),
            oauth2Flow="USER_FEDERATION",
            resourceOauth2ReturnUrl=return_url,
        )
    return TokenStatus(
        provider=provider,
        user=user,
        granted="accessToken" in answer,
        authorization_url=answer.get("authorizationUrl", ""),
        session_uri=answer.get("sessionUri", ""),
    )


def _provider(shape: Mapping[str, Any]) -> CredentialProvider:
    arn: str = shape["credentialProviderArn"]
    return CredentialProvider(
        name=shape["name"],
        kind="api_key" if "/apikeycredentialprovider/" in arn else "oauth2",
        vendor=shape.get("credentialProviderVendor", ""),
        arn=arn,
        created_at=shape["createdTime"],
        updated_at=shape["lastUpdatedTime"],
        callback_url=shape.get("callbackUrl", ""),
    )
