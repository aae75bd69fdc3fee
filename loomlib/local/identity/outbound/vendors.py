"""OAuth2 vendors: the member of a provider's configuration, its authorization server, and their form in responses."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from ...wire import invalid

INCLUDED: Final = "includedOauth2ProviderConfig"
_SECRETS: Final = ("clientSecret", "clientSecretConfig", "clientSecretSource")
_TENANT_MEMBERS: Final = ("issuer", "authorizationEndpoint", "tokenEndpoint", "tenantId")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """A row of `vendors.toml`; its fields are explained there."""

    name: str
    member: str = INCLUDED
    discovery: str = ""
    tenant: str = ""
    issuer: str = ""
    authorize: str = ""
    token: str = ""
    client_auth: str = "post"


@cache
def _vendors() -> Mapping[str, Vendor]:
    rows = tomllib.loads(Path(__file__).with_name("vendors.toml").read_text("utf-8"))
    return {name: Vendor(name=name, **row) for name, row in rows.items()}


def vendor_named(name: str) -> Vendor:
    """Return a vendor by its name in the service model, such as `GithubOauth2`."""
    return _vendors()[name]


def configured(vendor_name: str, provider_input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the vendor's member of `oauth2ProviderConfigInput`.

    Raises:
        RefusedError: The configuration belongs to another vendor, or lacks a member that this vendor requires.
    """
    vendor = vendor_named(vendor_name)
    (member, config), *_ = provider_input.items()
    if member != vendor.member:
        raise invalid(f"credentialProviderVendor {vendor_name} requires {vendor.member}, not {member}")
    if vendor_name == "CustomOauth2":
        return config
    if not vendor.discovery and not vendor.token:
        missing = [name for name in ("issuer", "authorizationEndpoint", "tokenEndpoint") if not config.get(name)]
        if missing:
            raise invalid(f"credentialProviderVendor {vendor_name} requires {', '.join(missing)}")
    return config


def shown_config(vendor_name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration as responses show it: with its authorization server and without secrets."""
    vendor = vendor_named(vendor_name)
    public_config = {name: value for name, value in config.items() if name not in (*_SECRETS, *_TENANT_MEMBERS)}
    return {vendor.member: {"oauthDiscovery": _discovery(vendor, config), **public_config}}


def _discovery(vendor: Vendor, config: Mapping[str, Any]) -> Mapping[str, Any]:
    if "oauthDiscovery" in config:
        return config["oauthDiscovery"]
    if vendor.discovery:
        return {"discoveryUrl": vendor.discovery.format(tenantId=config.get("tenantId") or vendor.tenant)}
    metadata = {
        "issuer": config.get("issuer") or vendor.issuer,
        "authorizationEndpoint": config.get("authorizationEndpoint") or vendor.authorize,
        "tokenEndpoint": config.get("tokenEndpoint") or vendor.token,
        "responseTypes": ["code"],
        "tokenEndpointAuthMethods": [f"client_secret_{vendor.client_auth}"],
    }
    return {"authorizationServerMetadata": metadata}
