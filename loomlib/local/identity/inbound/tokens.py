"""Verification of a JWT: its form, its signature by one of the issuer's keys, its issuer and its time."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from joserfc import jws
from joserfc.errors import JoseError

from .key_sets import IssuerKey, KeySets

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Algorithms with a private key. `none` and HS* are excluded: a JWKS is public, so it cannot verify them."""

LARGEST_CHARACTERS: Final = 16_384
"""Maximum length of a token in characters; most HTTP servers limit headers to 8 to 16 KB."""

LEAST_REMAINING_S: Final = 60.0
"""AgentCore refuses a token that expires within the next minute ("Ineffectual token")."""

SKEW_S: Final = 5.0
"""Maximum seconds by which `nbf` may be ahead of this machine's clock."""

_REMEMBERED: Final = 2_048
_FORM: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


class MalformedTokenError(Exception):
    """The text is not a JWT."""


class RefusedTokenError(Exception):
    """A JWT that does not prove its claims; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedToken:
    """A token with a valid signature of its issuer, and its claims."""

    issuer: str
    algorithm: str
    key: IssuerKey
    claims: Mapping[str, Any] = field(repr=False)


class _Registry(jws.JWSRegistry):
    """joserfc's registry with this module's limits: a header may contain a certificate chain."""

    max_header_length = LARGEST_CHARACTERS
    max_payload_length = LARGEST_CHARACTERS


class TokenVerifier:
    """Verifies tokens; a verified token is cached by its digest while its key still belongs to its issuer.

    Args:
        keys: The issuers' keys.
    """

    def __init__(self, keys: KeySets) -> None:
        self._keys = keys
        self._registry = _Registry(algorithms=ALGORITHMS, strict_check_header=False)
        self._verified: OrderedDict[tuple[str, bytes], VerifiedToken] = OrderedDict()

    async def verify(self, token: str, discovery_url: str) -> VerifiedToken:
        """Verify a token and return its claims.

        Args:
            token: The token.
            discovery_url: URL of the metadata of the only issuer that may have issued it.

        Raises:
            MalformedTokenError: It is not a JWT.
            RefusedTokenError: Its signature, issuer or time is not valid.
            IssuerError: The issuer's keys cannot be read.
        """
        _check_form(token)
        place = (discovery_url, hashlib.sha256(token.encode()).digest())
        verified_token = self._verified.get(place)
        if verified_token is None or not (await self._keys.current(discovery_url)).has(verified_token.key):
            self._verified.pop(place, None)
            verified_token = await self._verify(token, discovery_url)
            self._verified[place] = verified_token
            if len(self._verified) > _REMEMBERED:
                self._verified.popitem(last=False)
        _check_time(verified_token.claims)
        return verified_token

    async def _verify(self, token: str, discovery_url: str) -> VerifiedToken:
        header, claims = (_decoded(part) for part in token.split(".")[:2])
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            raise RefusedTokenError("The token's algorithm is not allowed")
        key_set, key = await self._keys.find(discovery_url, kid if isinstance(kid, str) else None, str(algorithm))
        if key is None:
            raise RefusedTokenError("The token's key is not one of its issuer's")
        try:
            jws.deserialize_compact(token, key.key, algorithms=[algorithm], registry=self._registry)
        except (JoseError, ValueError, TypeError) as error:
            raise RefusedTokenError("The token's signature is not valid") from error
        if claims.get("iss") != key_set.issuer:
            raise RefusedTokenError("Claim 'iss' value mismatch with configuration.")
        return VerifiedToken(issuer=key_set.issuer, algorithm=str(algorithm), key=key, claims=claims)


def claims_of(token: str) -> Mapping[str, Any]:
    """Return the claims of a token without verifying them.

    Raises:
        MalformedTokenError: It is not a JWT.
    """
    _check_form(token)
    return _decoded(token.split(".")[1])


def _check_form(token: str) -> None:
    if len(token) > LARGEST_CHARACTERS or not _FORM.fullmatch(token):
        raise MalformedTokenError("Failed to parse token")


def _check_time(claims: Mapping[str, Any]) -> None:
    expires, not_before, now = _moment(claims, "exp"), _moment(claims, "nbf"), time.time()
    if expires is None:
        raise RefusedTokenError("The token has no expiration time: the claim 'exp' is missing")
    if expires <= now:
        raise RefusedTokenError("Token has expired")
    if expires - now < LEAST_REMAINING_S:
        raise RefusedTokenError("Ineffectual token, will expire within the next minute")
    if not_before is not None and not_before > now + SKEW_S:
        raise RefusedTokenError("The token is not valid yet")


def _moment(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RefusedTokenError(f"Claim '{name}' is not a time")
    return float(value)


def _decoded(part: str) -> dict[str, Any]:
    try:
        document = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError) as error:
        raise MalformedTokenError("Failed to parse token") from error
    if not isinstance(document, dict):
        raise MalformedTokenError("Failed to parse token")
    return cast("dict[str, Any]", document)
