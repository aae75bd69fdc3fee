"""The issuers' public keys: read once, cached for a limited time, and read again when a token names an unknown key."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast
from urllib.parse import urlsplit

from joserfc import jwk
from joserfc.errors import JoseError

from ..addresses import IssuerError, check_address, is_loopback

FRESH_S: Final = 600.0
"""Age in seconds at which keys are read again, while the cached ones are still used."""

STALE_S: Final = 3_600.0
"""Maximum age of keys in seconds, if their issuer cannot be read."""

AGAIN_S: Final = 1.0
"""Minimum seconds between two requests after unknown keys or failures, so that invalid tokens do not cause load."""

_MOST_KEYS: Final = 100
_MOST_RSA_BITS: Final = 8_192

PublicKey = jwk.RSAKey | jwk.ECKey


class KnownIssuer(Protocol):
    """An issuer of this service itself, whose keys are read without HTTP."""

    def documents(self, discovery_url: str) -> tuple[str, Mapping[str, Any]] | None:
        """Return its name (`iss`) and its JWKS if the URL is its own, otherwise None."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerKey:
    """A public key; `algorithm` is the only permitted algorithm, if its issuer states one."""

    kid: str | None
    algorithm: str | None
    key: PublicKey
    thumbprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySet:
    """An issuer's name and keys; `read_at` is on the monotonic clock."""

    issuer: str
    keys: tuple[IssuerKey, ...]
    read_at: float

    def find(self, kid: str | None, algorithm: str) -> IssuerKey | None:
        """Return the key that a token's header names; without a key id, the only key for the algorithm."""
        kind = jwk.ECKey if algorithm.startswith("ES") else jwk.RSAKey
        fitting = [key for key in self.keys if type(key.key) is kind and key.algorithm in (None, algorithm)]
        if kid is not None:
            return next((key for key in fitting if key.kid == kid), None)
        return fitting[0] if len(fitting) == 1 else None

    def has(self, key: IssuerKey) -> bool:
        """Return whether a key still belongs to the issuer."""
        return any(candidate.thumbprint == key.thumbprint and candidate.kid == key.kid for candidate in self.keys)


class KeySets:
    """The key sets of all issuers by their discovery URL.

    Args:
        own_issuers: Issuers of this service itself.
    """

    def __init__(self, own_issuers: Sequence[KnownIssuer] = ()) -> None:
        self._own_issuers = own_issuers
        self._sets: dict[str, KeySet] = {}
        self._tried_at: dict[str, float] = {}
        self._failures: dict[str, IssuerError] = {}
        self._reading: dict[str, asyncio.Task[KeySet]] = {}

    async def current(self, discovery_url: str) -> KeySet:
        """Return an issuer's keys, at most an hour old.

        Raises:
            IssuerError: They cannot be read.
        """
        key_set = self._sets.get(discovery_url)
        age_s = time.monotonic() - key_set.read_at if key_set else STALE_S
        if key_set is None or age_s >= STALE_S:
            return await self._read(discovery_url)
        if age_s >= FRESH_S and self._may_read(discovery_url):
            # In the background, so that a slow issuer does not delay calls while its keys are cached.
            self._start(discovery_url)
        return key_set

    async def find(self, discovery_url: str, kid: str | None, algorithm: str) -> tuple[KeySet, IssuerKey | None]:
        """Return an issuer's keys and the one that a token's header names; the set is read again for unknown keys.

        Args:
            discovery_url: The URL of the issuer's metadata.
            kid: The key id of the token's header, if it has one.
            algorithm: The algorithm of the token's header, such as RS256.

        Returns:
            The issuer's keys, and the token's key or None.

        Raises:
            IssuerError: The keys cannot be read.
        """
        key_set = await self.current(discovery_url)
        key = key_set.find(kid, algorithm)
        if key is None and (self._may_read(discovery_url) or discovery_url in self._reading):
            key_set = await self._read(discovery_url)
            key = key_set.find(kid, algorithm)
        return key_set, key

    async def close(self) -> None:
        """Stop reading."""
        reading = list(self._reading.values())
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)

    def _may_read(self, discovery_url: str) -> bool:
        return time.monotonic() - self._tried_at.get(discovery_url, -AGAIN_S) >= AGAIN_S

    async def _read(self, discovery_url: str) -> KeySet:
        if discovery_url not in self._reading:
            if not self._may_read(discovery_url) and (failed := self._failures.get(discovery_url)):
                raise failed
            self._start(discovery_url)
        # Shielded: the client of one call may disconnect while others wait for the same keys.
        return await asyncio.shield(self._reading[discovery_url])

    def _start(self, discovery_url: str) -> None:
        if discovery_url in self._reading:
            return
        self._tried_at[discovery_url] = time.monotonic()
        task = asyncio.get_running_loop().create_task(self._fetch(discovery_url))
        self._reading[discovery_url] = task
        task.add_done_callback(lambda finished_task: self._ended(discovery_url, finished_task))

    def _ended(self, discovery_url: str, task: asyncio.Task[KeySet]) -> None:
        del self._reading[discovery_url]
        if task.cancelled():
            return
        if (error := task.exception()) is None:
            self._sets[discovery_url] = task.result()
            self._failures.pop(discovery_url, None)
        elif isinstance(error, IssuerError):
            self._failures[discovery_url] = error

    async def _fetch(self, discovery_url: str) -> KeySet:
        for issuer in self._own_issuers:
            if documents := issuer.documents(discovery_url):
                return _key_set(*documents)
        from ..documents import read_document

        metadata = await read_document(discovery_url)
        name, address = metadata.get("issuer"), metadata.get("jwks_uri")
        if not isinstance(name, str) or not name or not isinstance(address, str):
            raise IssuerError(f"{discovery_url} does not name an issuer and a jwks_uri")
        _check_same_side(discovery_url, address)
        return _key_set(name, await read_document(address))


def _check_same_side(discovery_url: str, address: str) -> None:
    """Refuse an external issuer whose keys would be read from this machine, and vice versa."""
    if fault := check_address(address):
        raise IssuerError(f"the jwks_uri {address} is refused: {fault}")
    if is_loopback(urlsplit(discovery_url)) != is_loopback(urlsplit(address)):
        raise IssuerError(f"the jwks_uri {address} is refused: only one of it and the issuer is on loopback")


def _key_set(issuer: str, document: Mapping[str, Any]) -> KeySet:
    items = document.get("keys")
    if not isinstance(items, list):
        raise IssuerError(f"the JWKS of {issuer} has no keys")
    keys = [key for item in cast("list[object]", items)[:_MOST_KEYS] if (key := _key(item)) is not None]
    if not keys:
        raise IssuerError(f"the JWKS of {issuer} has no RSA or EC key for signatures")
    return KeySet(issuer=issuer, keys=tuple(keys), read_at=time.monotonic())


def _key(item: object) -> IssuerKey | None:
    """Return a public signature key of a JWKS; None for any other key, because RFC 7517 requires ignoring it."""
    if not isinstance(item, dict):
        return None
    fields = cast("dict[str, Any]", item)
    kid, algorithm = fields.get("kid"), fields.get("alg")
    if fields.get("use", "sig") != "sig" or fields.get("kty") not in ("RSA", "EC"):
        return None
    members = ("n", "e") if fields["kty"] == "RSA" else ("crv", "x", "y")
    if any(not isinstance(fields.get(name), str) for name in members):
        return None
    public = {name: fields[name] for name in ("kty", *members)}
    if fields["kty"] == "RSA" and len(public["n"]) * 6 > _MOST_RSA_BITS + 16:
        return None
    try:
        key = jwk.import_key(public)
        thumbprint = key.thumbprint()
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    if not isinstance(key, jwk.RSAKey | jwk.ECKey):
        return None
    return IssuerKey(
        kid=kid if isinstance(kid, str) else None,
        algorithm=algorithm if isinstance(algorithm, str) else None,
        key=key,
        thumbprint=thumbprint,
    )
