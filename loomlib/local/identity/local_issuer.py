"""Token issuers of the service: metadata, public keys, and tokens for any user that the owner names.

The issuer for users is for experiments: anyone with the owner's key can obtain a token for any user. The issuer for web
identities of AWS principals (sts:GetWebIdentityToken) is separate and has its own keys: sessions can obtain its tokens,
so an authorizer for users must not accept them.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from ...recovery import set_aside
from ..private_files import write_private
from ..tokens import DEFAULT_CLIENT
from ..wire import RefusedError, invalid

PATHS: Final = "/identity/"
_WELL_KNOWN = "/.well-known/"
_METADATA = (f"{_WELL_KNOWN}openid-configuration", f"{_WELL_KNOWN}oauth-authorization-server")
_JWKS = f"{_WELL_KNOWN}jwks.json"
_LONGEST_S = 7 * 86_400
_RSA_BITS = 2_048
_RESERVED = frozenset({"iss", "sub", "aud", "client_id", "scope", "iat", "nbf", "exp", "jti"})


class LocalIssuer:
    """An issuer of one home folder, whose keys are created on first use in `identity/<part>-keys.json`, mode 0600.

    Args:
        home: The home folder.
        url: The service's address.
        part: The last part of its URL and of its file's name.
    """

    def __init__(self, home: Path, url: str, part: str = "issuer") -> None:
        self._path, self._file = f"{PATHS}{part}", home / "identity" / f"{part}-keys.json"
        self.name = url + self._path
        self._read: Mapping[str, Any] = {}
        self._reading = threading.Lock()

    @property
    def discovery_url(self) -> str:
        """The URL of its metadata."""
        return self.name + _METADATA[0]

    def documents(self, discovery_url: str) -> tuple[str, Mapping[str, Any]] | None:
        """Return its name and its public keys if the URL is its own, otherwise None."""
        return (self.name, self._public) if discovery_url == self.discovery_url else None

    def document(self, path: str) -> Mapping[str, Any] | None:
        """Return the public document at a path of the service, or None."""
        part = path.removeprefix(self._path)
        if part == path or part not in (*_METADATA, _JWKS):
            return None
        if part == _JWKS:
            return self._public
        return {
            "issuer": self.name,
            "authorization_endpoint": f"{self.name}/authorize",
            "token_endpoint": f"{self.name}/token",
            "jwks_uri": self.name + _JWKS,
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "ES384"],
        }

    def issue(
        self,
        user: str,
        *,
        client: str = DEFAULT_CLIENT,
        scopes: Sequence[str] = (),
        audience: Sequence[str] = (),
        expires_s: float = 3_600.0,
        claims: Mapping[str, Any] | None = None,
    ) -> str:
        """Return a signed token.

        Args:
            user: The subject (`sub`).
            client: The client (`client_id`).
            scopes: The scopes.
            audience: The audiences (`aud`).
            expires_s: Lifetime in seconds.
            claims: Further claims.

        Raises:
            RefusedError: An argument is not allowed in a token.
        """
        if not user or not client:
            raise invalid("A token needs a user and a client")
        if not 1 <= expires_s <= _LONGEST_S:
            raise invalid(f"expires must be between 1 and {_LONGEST_S} seconds")
        if reserved_claims := sorted(_RESERVED & set(claims or {})):
            raise invalid(
                f"These claims have separate arguments or are set by the issuer: {', '.join(reserved_claims)}"
            )
        now = int(time.time())
        content: dict[str, Any] = {
            **(claims or {}),
            "iss": self.name,
            "sub": user,
            "client_id": client,
            "iat": now,
            "nbf": now,
            "exp": now + int(expires_s),
            "jti": str(uuid.uuid4()),
        }
        if scopes:
            content["scope"] = " ".join(scopes)
        if audience:
            content["aud"] = audience[0] if len(audience) == 1 else list(audience)
        return self.sign(content)

    def sign(self, claims: Mapping[str, Any], algorithm: str = "RS256") -> str:
        """Sign claims without changes and return the token.

        Args:
            claims: The claims.
            algorithm: "RS256" or "ES384".
        """
        from joserfc import jwt

        key = self._keys[algorithm]
        return jwt.encode({"alg": algorithm, "kid": key.thumbprint()}, dict(claims), key, algorithms=[algorithm])

    def issue_as_asked(self, request: bytes) -> dict[str, str]:
        """Answer the owner's request for a token.

        Args:
            request: A JSON object with the arguments of `issue`.

        Raises:
            RefusedError: The request has another form.
        """
        try:
            parameters = json.loads(request)
            arguments: dict[str, Any] = {
                "user": _text(parameters["user"]),
                "client": _text(parameters.get("client", DEFAULT_CLIENT)),
                "scopes": [_text(item) for item in parameters.get("scopes", ())],
                "audience": [_text(item) for item in parameters.get("audience", ())],
                "expires_s": float(parameters.get("expires_s", 3_600.0)),
                "claims": dict(parameters.get("claims") or {}),
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RefusedError(
                "ValidationException", 400, "The request for a token does not have the expected form"
            ) from error
        return {"token": self.issue(arguments.pop("user"), **arguments)}

    @property
    def _keys(self) -> Mapping[str, Any]:
        """The private keys by algorithm. A damaged file is set aside, and new keys are created."""
        with self._reading:
            if not self._read:
                self._read = self._stored() or self._create_keys()
            return self._read

    def _stored(self) -> Mapping[str, Any]:
        """Return the keys of the file; empty if the file does not exist or was damaged."""
        from joserfc import jwk
        from joserfc.errors import JoseError

        try:
            document = json.loads(self._file.read_text("utf-8"))
            return {"RS256": jwk.RSAKey.import_key(document["RS256"]), "ES384": jwk.ECKey.import_key(document["ES384"])}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError, JoseError) as error:
            reason = f"it does not contain an issuer's keys: {type(error).__name__}; its tokens are no longer valid"
            set_aside(self._file, reason)
            return {}

    def _create_keys(self) -> Mapping[str, Any]:
        """Create new keys and store them."""
        from joserfc import jwk

        keys = {
            "RS256": jwk.RSAKey.generate_key(_RSA_BITS, auto_kid=False),
            "ES384": jwk.ECKey.generate_key("P-384", auto_kid=False),
        }
        self._file.parent.mkdir(mode=0o700, exist_ok=True)
        document = {algorithm: key.as_dict(private=True) for algorithm, key in keys.items()}
        write_private(self._file, json.dumps(document).encode())
        return keys

    @cached_property
    def _public(self) -> Mapping[str, Any]:
        return {
            "keys": [
                {**key.as_dict(private=False), "kid": key.thumbprint(), "use": "sig", "alg": algorithm}
                for algorithm, key in self._keys.items()
            ]
        }


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not a string")
    return value
