"""Credentials of a gateway at a target: an API key, an OAuth2 token, or the gateway's own role."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as AwsCredentials

from ..access.keys import Key, Keyring, SessionPrincipal
from ..access.permissions import role_statements
from ..aws_names.hosts import is_served
from ..identity.outbound import OutboundIdentity
from ..resources import ResourceRecord
from ..wire import RefusedError
from .tools import TargetError

_DEFAULT_HEADER: Final = "Authorization"


class TargetCredentials:
    """Obtains the credentials in a target's configuration with the gateway's workload identity.

    Args:
        identity: Credential providers and workload tokens.
        keys: The service's keys; a gateway signs with a key of its role.
        address: The address of this service.
    """

    def __init__(self, identity: OutboundIdentity, keys: Keyring, address: str) -> None:
        self._identity, self._keys, self._own_netloc = identity, keys, urlsplit(address).netloc
        self._role_keys: dict[str, Key] = {}

    async def of(
        self,
        gateway: ResourceRecord,
        target: ResourceRecord,
        *,
        bearer: str,
        method: str,
        url: str,
        body: bytes,
        service: str = "bedrock-agentcore",
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return the headers and the query parameters that authorize a request to a target.

        Args:
            gateway: The gateway.
            target: The target, with its `credentialProviderConfigurations`.
            bearer: The caller's token; "" without one.
            method: HTTP method of the request.
            url: Its address.
            body: Its body.
            service: The service in a signature, if the target's configuration does not name one.

        Raises:
            TargetError: The credentials cannot be obtained.
        """
        configurations = target.document.get("credentialProviderConfigurations") or ()
        if not configurations:
            return {}, {}
        kind: str = configurations[0]["credentialProviderType"]
        provider: Mapping[str, Any] = configurations[0].get("credentialProvider") or {}
        try:
            if kind == "API_KEY":
                return await self._api_key(gateway, provider.get("apiKeyCredentialProvider") or {}, bearer)
            if kind == "OAUTH":
                return await self._token(gateway, provider.get("oauthCredentialProvider") or {}, bearer), {}
        except RefusedError as refused:
            raise TargetError(
                f"The credentials of target {target.name} could not be obtained: {refused.message}"
            ) from refused
        if kind == "JWT_PASSTHROUGH":
            if not bearer:
                raise TargetError(f"Target {target.name} requires the caller's token, but the caller did not send one")
            return {"authorization": f"Bearer {bearer}"}, {}
        if kind == "GATEWAY_IAM_ROLE":
            signing: Mapping[str, Any] = provider.get("iamCredentialProvider") or {}
            return self._signed(gateway, {"service": service, **signing}, method, url, body), {}
        raise TargetError(f"The local AgentCore does not support the credential provider type {kind} yet")

    def signer(self, gateway: ResourceRecord) -> SessionPrincipal | None:
        """Return the principal whose policies apply to a gateway's signed requests; None for an unrestricted role."""
        return self._role_key(gateway).principal

    async def _api_key(
        self, gateway: ResourceRecord, provider: Mapping[str, Any], bearer: str
    ) -> tuple[dict[str, str], dict[str, str]]:
        answer = await self._identity.data_handlers["GetResourceApiKey"](
            {
                "workloadIdentityToken": self._workload_token(gateway, bearer),
                "resourceCredentialProviderName": _name(provider),
            },
            gateway.place,
        )
        name = provider.get("credentialParameterName") or _DEFAULT_HEADER
        prefix = provider.get("credentialPrefix")
        value = f"{prefix} {answer['apiKey']}" if prefix else str(answer["apiKey"])
        if provider.get("credentialLocation") == "QUERY_PARAMETER":
            return {}, {name: value}
        return {name: value}, {}

    async def _token(self, gateway: ResourceRecord, provider: Mapping[str, Any], bearer: str) -> dict[str, str]:
        grant = provider.get("grantType") or "CLIENT_CREDENTIALS"
        flow = {"CLIENT_CREDENTIALS": "M2M", "TOKEN_EXCHANGE": "ON_BEHALF_OF_TOKEN_EXCHANGE"}.get(grant)
        if flow is None:
            raise TargetError(f"The local AgentCore does not support the grant type {grant} for targets yet")
        answer = await self._identity.data_handlers["GetResourceOauth2Token"](
            {
                "workloadIdentityToken": self._workload_token(gateway, bearer),
                "resourceCredentialProviderName": _name(provider),
                "oauth2Flow": flow,
                "scopes": provider.get("scopes") or [],
                "customParameters": provider.get("customParameters") or {},
            },
            gateway.place,
        )
        return {"authorization": f"Bearer {answer['accessToken']}"}

    def _workload_token(self, gateway: ResourceRecord, bearer: str) -> str:
        # Only this authorizer has verified the token; with another one, it may be forged.
        is_verified = gateway.document["authorizerType"] == "CUSTOM_JWT"
        return self._identity.tokens.issue(gateway.id, gateway.place, user_token=bearer if is_verified else "")

    def _signed(
        self, gateway: ResourceRecord, provider: Mapping[str, Any], method: str, url: str, body: bytes
    ) -> dict[str, str]:
        """Sign a request with a key of the gateway's role, which has the permissions of the role's policies."""
        parts = urlsplit(url)
        if not (is_served(parts.hostname or "") or parts.netloc == self._own_netloc):
            raise TargetError("A request that is signed with the gateway's role can be sent to this service only")
        key = self._role_key(gateway)
        signed = AWSRequest(method=method, url=url, data=body, headers={"host": parts.netloc})
        region = provider.get("region") or gateway.region
        SigV4Auth(AwsCredentials(key.access_key, key.secret_key), provider["service"], region).add_auth(signed)
        return {name: str(value) for name, value in signed.headers.items() if name.lower() != "host"}

    def _role_key(self, gateway: ResourceRecord) -> Key:
        """Return the key of a gateway's role; a role outside the local IAM is unrestricted, as with `AssumeRole`."""
        role: str = gateway.document["roleArn"]
        principal = SessionPrincipal(mark=f"gateway-{gateway.id}", runtime_id="", role_arn=role, tenant=gateway.tenant)
        # A tenant's gateway never signs as the owner, who is not limited to a tenant.
        effective_principal = principal if gateway.tenant or role_statements(principal) is not None else None
        name = f"{role} {gateway.tenant} {effective_principal is not None}"
        if name not in self._role_keys:
            key = Key(
                access_key="ASIA" + secrets.token_hex(8).upper(),
                secret_key=secrets.token_urlsafe(30),
                principal=effective_principal,
                account_id=gateway.place.account_id,
            )
            self._keys.add(key)
            self._role_keys[name] = key
        return self._role_keys[name]


def _name(provider: Mapping[str, Any]) -> str:
    return str(provider.get("providerArn", "")).rpartition("/")[2]
