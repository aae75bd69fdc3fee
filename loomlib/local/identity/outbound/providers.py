"""Credential providers and workload identities as resources of the control plane."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ...resources import Behaviour, Draft, Resource, ResourceRecord
from ...resources.store import ResourceStore
from ...wire import RefusedError, invalid
from . import secrets_manager
from .sealing import KEY_FILE, Sealer, SealError
from .vendors import configured, shown_config, vendor_named

DIRECTORY: Final = "workload-identity-directory/default"
VAULT: Final = "token-vault/default"
_TAKEN: Final = "{noun} with name: {name} already exists"  # AWS's message

WORKLOAD_IDENTITY = Resource(
    noun="WorkloadIdentity",
    id="{name}",
    arn=f"{DIRECTORY}/workload-identity/{{name}}",
    duplicate="ValidationException",
    duplicate_message=_TAKEN.format(noun="WorkloadIdentity", name="{name}"),
    page_size=20,
)
API_KEY_PROVIDER = Resource(
    noun="ApiKeyCredentialProvider",
    id="{name}",
    arn=f"{VAULT}/apikeycredentialprovider/{{name}}",
    aliases={"credentialProviderArn": "arn"},
    duplicate="ValidationException",
    duplicate_message=_TAKEN.format(noun="Credential provider", name="{name}"),
    page_size=20,
)
OAUTH2_PROVIDER = Resource(
    noun="Oauth2CredentialProvider",
    id="{name}",
    arn=f"{VAULT}/oauth2credentialprovider/{{name}}",
    aliases={"credentialProviderArn": "arn"},
    duplicate="ValidationException",
    duplicate_message=_TAKEN.format(noun="Credential provider", name="{name}"),
    page_size=20,
)


def linked_identity(owner: ResourceRecord) -> ResourceRecord:
    """Return the workload identity of a runtime or a gateway; its name is the resource's id."""
    start = ":".join(owner.arn.split(":")[:5])
    return ResourceRecord(
        kind=WORKLOAD_IDENTITY.noun,
        region=owner.region,
        id=owner.id,
        name=owner.id,
        arn=f"{start}:{DIRECTORY}/workload-identity/{owner.id}",
        document={},
        internal={"linked": owner.arn},
        created_at=owner.created_at,
        updated_at=owner.created_at,
    )


def give_identities(store: ResourceStore) -> None:
    """Add the workload identities of runtimes and gateways that an older release created."""
    missing = [
        identity
        for noun in ("AgentRuntime", "Gateway")
        for owner in store.records(noun)
        if store.of_arn((identity := linked_identity(owner)).arn) is None
    ]
    if missing:
        store.put(missing)


def discovery_urls(store: ResourceStore) -> Iterator[str]:
    """Yield the discovery URLs in authorizers and OAuth2 credential providers."""
    for owner in (*store.records("AgentRuntime"), *store.records("Gateway")):
        for version in store.versions(owner) or [owner]:
            configuration: dict[str, Any] = version.document.get("authorizerConfiguration") or {}
            if authorizer := configuration.get("customJWTAuthorizer"):
                yield authorizer["discoveryUrl"]
    for provider in store.records(OAUTH2_PROVIDER.noun):
        for config in provider.document["oauth2ProviderConfigOutput"].values():
            if url := config["oauthDiscovery"].get("discoveryUrl"):
                yield url


class WorkloadIdentityBehaviour(Behaviour):
    """Adds return URLs, and protects the identities of runtimes and gateways."""

    async def before_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Refuse to delete the identity of a runtime or a gateway."""
        if record.internal.get("linked"):
            raise invalid("WorkloadIdentity is linked to a service and cannot be deleted by the caller")

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return an empty list if no URL is set."""
        return {"allowedResourceOauth2ReturnUrls": record.document.get("allowedResourceOauth2ReturnUrls") or []}


class _SecretKeeper(Behaviour):
    """Stores the secret of a provider: encrypted in the home, and in the local Secrets Manager.

    Args:
        sealer: The home's encryption.
    """

    kind: str
    """The secret's part in the names of managed secrets."""
    member: str
    """Start of the members that describe the secret: `apiKey` in `apiKeySecretArn`."""
    json_key: str
    """Key of the secret in its JSON object. AWS does not publish its own."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def secret(self, record: ResourceRecord) -> str:
        """Return the provider's secret.

        Raises:
            RefusedError: A user's secret no longer exists, or the home's key has been replaced.
        """
        internal: Mapping[str, str] = record.internal
        if internal.get("external"):
            return secrets_manager.read_external(internal["external"], internal["jsonKey"], **_place(record))
        try:
            return str(self._sealer.open(internal["sealed"], record.arn))
        except SealError as error:
            raise RefusedError(
                "InternalServerException",
                500,
                f"The secret of {record.name} cannot be decrypted: update the provider. The key that encrypted it is "
                f"no longer in the home's {KEY_FILE}",
            ) from error

    def restore(self, record: ResourceRecord) -> None:
        """Put a managed secret back into the local Secrets Manager."""
        if not record.internal.get("external"):
            self._put(record, self.secret(record))

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Delete the managed secret."""
        if not record.internal.get("external"):
            await asyncio.to_thread(secrets_manager.remove_managed, self._name(record), **_place(record))

    async def keep(self, record: ResourceRecord, request: Mapping[str, Any], value: str | None) -> ResourceRecord:
        """Return the record with the secret of a request; without one, the record keeps its secret.

        Args:
            record: The provider.
            request: The request's members for the secret: `<member>SecretConfig` and `<member>SecretSource`.
            value: The secret itself, if the request contains it.

        Raises:
            RefusedError: Source and secret do not match, or the secret does not exist.
        """
        config: Mapping[str, str] | None = request.get(f"{self.member}SecretConfig")
        if value is None and config is None and record.internal.get("secretArn"):
            return record
        source = request.get(f"{self.member}SecretSource") or ("EXTERNAL" if config else "MANAGED")
        if source == "EXTERNAL":
            if config is None or value is not None:
                raise invalid(
                    f"{self.member}SecretSource EXTERNAL requires {self.member}SecretConfig, without the secret itself"
                )
            arn = await asyncio.to_thread(secrets_manager.find_external, config["secretId"], **_place(record))
            internal = {"external": arn, "jsonKey": config["jsonKey"], "secretArn": arn}
            return replace(record, internal=internal)
        if config is not None:
            raise invalid(f"{self.member}SecretConfig requires {self.member}SecretSource EXTERNAL")
        former: Mapping[str, Any] = {} if record.internal.get("external") else record.internal
        record = replace(
            record, internal={**former, "sealed": self._sealer.seal(value or "", record.arn), "jsonKey": self.json_key}
        )
        arn = await asyncio.to_thread(self._put, record, value or "")
        return replace(record, internal={**record.internal, "secretArn": arn})

    def secret_members(self, record: ResourceRecord) -> dict[str, Any]:
        """Return the members that describe the secret."""
        return {
            f"{self.member}SecretArn": {"secretArn": record.internal["secretArn"]},
            f"{self.member}SecretJsonKey": record.internal["jsonKey"],
            f"{self.member}SecretSource": "EXTERNAL" if record.internal.get("external") else "MANAGED",
        }

    def _put(self, record: ResourceRecord, value: str) -> str:
        return secrets_manager.put_managed(
            self._name(record),
            value,
            json_key=self.json_key,
            arn="" if record.internal.get("external") else record.internal.get("secretArn", ""),
            **_place(record),
        )

    def _name(self, record: ResourceRecord) -> str:
        return f"{secrets_manager.OWNER}!default/{self.kind}/{record.name}"


def _place(record: ResourceRecord) -> dict[str, str]:
    """Return the region and the account of a provider as arguments for Secrets Manager."""
    return record.place._asdict()


class ApiKeyProviderBehaviour(_SecretKeeper):
    """Stores API keys."""

    kind, member, json_key = "apikey", "apiKey", "api_key_value"

    async def before_create(self, draft: Draft) -> None:
        """Remove the key from the stored document and encrypt it."""
        parameters = draft.parameters
        if not parameters.get("apiKey") and not parameters.get("apiKeySecretConfig"):
            raise invalid("apiKey is missing: provide it, or apiKeySecretConfig with apiKeySecretSource EXTERNAL")
        draft.record = await self.keep(replace(draft.record, document={}), parameters, parameters.get("apiKey"))

    async def before_update(self, draft: Draft) -> None:
        """Replace the key."""
        parameters = draft.parameters
        draft.record = await self.keep(replace(draft.record, document={}), parameters, parameters.get("apiKey"))

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return the location of the key, never the key itself."""
        return self.secret_members(record)


class Oauth2ProviderBehaviour(_SecretKeeper):
    """Stores OAuth2 clients.

    Args:
        sealer: The home's encryption.
        url: The service's address.
    """

    kind, member, json_key = "oauth2", "client", "client_secret_value"

    def __init__(self, sealer: Sealer, *, url: str) -> None:
        super().__init__(sealer)
        self._url = url

    async def before_create(self, draft: Draft) -> None:
        """Remove the client's secret from the stored document and encrypt it."""
        draft.record = replace(draft.record, internal={"callback": str(uuid.uuid4())})
        await self._change(draft)

    async def before_update(self, draft: Draft) -> None:
        """Replace the configuration."""
        assert draft.former is not None
        if draft.parameters["credentialProviderVendor"] != draft.former.document["credentialProviderVendor"]:
            raise invalid("credentialProviderVendor cannot be changed")
        await self._change(draft)

    async def _change(self, draft: Draft) -> None:
        vendor_name = draft.parameters["credentialProviderVendor"]
        config = configured(vendor_name, draft.parameters["oauth2ProviderConfigInput"])
        secretless = config.get("clientAuthenticationMethod") in ("AWS_IAM_ID_TOKEN_JWT", "PRIVATE_KEY_JWT")
        has_secret = secretless or config.get("clientSecret") or config.get("clientSecretConfig")
        if not has_secret and not draft.record.internal.get("secretArn"):
            raise invalid("clientSecret is missing: provide it, or clientSecretConfig with clientSecretSource EXTERNAL")
        callback = draft.record.internal["callback"]
        record = await self.keep(draft.record, config, config.get("clientSecret"))
        draft.record = replace(
            record,
            document={
                "credentialProviderVendor": vendor_name,
                "oauth2ProviderConfigOutput": shown_config(vendor_name, config),
            },
            internal={**record.internal, "callback": callback},
        )

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return the location of the client's secret, and the callback URL for the authorization server."""
        return {
            **self.secret_members(record),
            "callbackUrl": f"{self._url}/identities/oauth2/callback/{record.internal['callback']}",
        }

    def config(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return the provider's configuration without secrets."""
        (config,) = record.document["oauth2ProviderConfigOutput"].values()
        return config

    def sends_basic(self, record: ResourceRecord) -> bool | None:
        """Whether the vendor's token endpoint takes the secret as HTTP basic authentication; None for a custom one."""
        name = record.document["credentialProviderVendor"]
        return None if name == "CustomOauth2" else vendor_named(name).client_auth == "basic"
