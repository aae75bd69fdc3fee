"""The token vault: OAuth2 tokens that were obtained, encrypted, and the vault's own settings."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from ...resources import Place, ResourceRecord
from ...resources.store import ResourceStore
from ...wire import invalid, not_found
from .providers import VAULT
from .sealing import Sealer, SealError, opened_object

_STORED: Final = "VaultToken"
_VAULT: Final = "TokenVault"
_EARLY_S: Final = 60.0  # a token that ends within a minute is renewed
_SHORT_LIVED_S: Final = 300.0  # RFC 6749 leaves a token without expires_in to the client


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredToken:
    """A token as an authorization server gave it."""

    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    expires_at: float = 0.0

    @classmethod
    def of(cls, answer: Mapping[str, Any], now: float, *, former_refresh: str = "") -> StoredToken | None:
        """Return the token of a token endpoint's answer; None when it holds none.

        Args:
            answer: The token endpoint's JSON.
            now: The current time in Unix seconds, from which the lifetime counts.
            former_refresh: The refresh token to keep when the answer has none.
        """
        nested: Any = answer.get("authed_user")  # Slack's form of a user's token
        token_fields = answer
        if not answer.get("access_token") and isinstance(nested, dict):
            token_fields = cast("dict[str, Any]", nested)
        access: Any = token_fields.get("access_token")
        if not isinstance(access, str) or not access:
            return None
        try:
            lifetime_s = float(token_fields.get("expires_in") or _SHORT_LIVED_S)
        except (TypeError, ValueError):
            lifetime_s = _SHORT_LIVED_S
        refresh = token_fields.get("refresh_token")
        return cls(
            access_token=access,
            refresh_token=refresh if isinstance(refresh, str) else former_refresh,
            expires_at=now + lifetime_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenKey:
    """The key of a stored token; it differs between workloads, tenants, users, flows, scopes and custom parameters."""

    workload: str
    user: str
    flow: str
    scopes: tuple[str, ...]
    resources: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    tenant: str = ""
    custom: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """A name that reveals nothing of its parts."""
        parts = [self.workload, self.user, self.flow, sorted(self.scopes), sorted(self.resources)]
        # Without a tenant and custom parameters it is the digest of earlier releases, whose tokens stay.
        tenant = [self.tenant] if self.tenant else []
        custom = [{"custom": sorted(self.custom)}] if self.custom else []
        return hashlib.sha256(json.dumps([*parts, sorted(self.audiences), *tenant, *custom]).encode()).hexdigest()


class TokenVault:
    """Stores tokens below their provider, with which they are deleted.

    Args:
        store: The home's resources.
        sealer: The home's encryption.
        clock: Seconds since 1970.
    """

    def __init__(self, store: ResourceStore, sealer: Sealer, clock: Callable[[], float] = time.time) -> None:
        self._store, self._sealer, self._clock = store, sealer, clock

    def find(self, provider: ResourceRecord, key: TokenKey) -> StoredToken | None:
        """Return the token that was stored last, even if it has expired; None without one."""
        record = self._store.of_arn(_arn(provider, key))
        if record is None or record.kind != _STORED:
            return None
        try:
            return StoredToken(**opened_object(self._sealer, record.internal["sealed"], record.arn))
        except (SealError, TypeError):
            return None

    def is_valid(self, token: StoredToken) -> bool:
        """Whether a token is good for another minute."""
        return token.expires_at - _EARLY_S > self._clock()

    async def keep(self, provider: ResourceRecord, key: TokenKey, token: StoredToken) -> None:
        """Store a token in place of the former."""
        arn, moment = _arn(provider, key), _moment(self._clock())
        content = {
            "access_token": token.access_token,
            "refresh_token": token.refresh_token,
            "expires_at": token.expires_at,
        }
        former = self._store.of_arn(arn)
        record = ResourceRecord(
            kind=_STORED,
            region=provider.region,
            parent=provider.arn,
            id=key.digest,
            name=key.digest,
            arn=arn,
            document={},
            internal={"sealed": self._sealer.seal(content, arn), "expires": token.expires_at, "flow": key.flow},
            created_at=former.created_at if former else moment,
            updated_at=moment,
            number=former.number if former else 0,
        )
        await asyncio.to_thread(self._store.put, [record])

    async def drop(self, provider: ResourceRecord, key: TokenKey) -> None:
        """Delete a token."""
        if record := self._store.of_arn(_arn(provider, key)):
            await asyncio.to_thread(self._store.remove, record)


class VaultSettings:
    """GetTokenVault, SetTokenVaultCMK and ResetTokenVaultKeyMaterial.

    A customer managed key is recorded and shown; tokens and secrets are encrypted with the home's own key all the same.

    Args:
        store: The home's resources.
        clock: Seconds since 1970.
    """

    def __init__(self, store: ResourceStore, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock

    async def get(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Answer GetTokenVault."""
        return _vault_response(self._vault(parameters, place))

    async def set_key(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Answer SetTokenVaultCMK."""
        configuration = parameters["kmsConfiguration"]
        arn = configuration.get("kmsKeyArn")
        if (configuration["keyType"] == "CustomerManagedKey") != bool(arn):
            raise invalid("kmsKeyArn is needed with CustomerManagedKey, and with nothing else")
        if arn and not await asyncio.to_thread(_has_key, arn):
            raise invalid(f"The KMS key {arn} does not exist")
        return await self._change(self._vault(parameters, place), dict(configuration))

    async def reset(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Answer ResetTokenVaultKeyMaterial: delete the tokens, whose customer managed key no longer exists."""
        vault = self._vault(parameters, place)
        arn = vault.document["kmsConfiguration"].get("kmsKeyArn")
        if not arn or await asyncio.to_thread(_has_key, arn):
            raise invalid("A token vault can be reset only if its customer managed key has been deleted")
        for token in self._store.records(_STORED, place=place):
            await asyncio.to_thread(self._store.remove, token)
        return await self._change(vault, {"keyType": "ServiceManagedKey"})

    def _vault(self, parameters: Mapping[str, Any], place: Place) -> ResourceRecord:
        name = parameters.get("tokenVaultId") or "default"
        if name != "default":
            raise not_found(f"Token vault not found: {name}")
        arn = f"arn:aws:bedrock-agentcore:{place.region}:{place.account_id}:{VAULT}"
        moment = _moment(self._clock())
        return self._store.of_arn(arn) or ResourceRecord(
            kind=_VAULT,
            region=place.region,
            id=name,
            name=name,
            arn=arn,
            document={"kmsConfiguration": {"keyType": "ServiceManagedKey"}},
            created_at=moment,
            updated_at=moment,
        )

    async def _change(self, vault: ResourceRecord, kms: dict[str, Any]) -> dict[str, Any]:
        vault = replace(vault, document={"kmsConfiguration": kms}, updated_at=_moment(self._clock()))
        (stored,) = await asyncio.to_thread(self._store.put, [vault])
        return _vault_response(stored)


def _vault_response(vault: ResourceRecord) -> dict[str, Any]:
    return {"tokenVaultId": vault.id, **vault.document, "lastModifiedDate": vault.updated_at}


def _has_key(arn: str) -> bool:
    from moto.kms.models import kms_backends

    _, _, _, region, account_id, key = arn.split(":", 5)
    backend: Any = kms_backends[account_id][region]
    return key.removeprefix("key/") in backend.keys


def _arn(provider: ResourceRecord, key: TokenKey) -> str:
    return f"{provider.arn}/token/{key.digest}"


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(round(seconds, 3), UTC)
