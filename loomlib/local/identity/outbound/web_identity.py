"""STS's responses about an agent's identity: its role, and a JWT for services outside AWS that accept it.

moto treats sessions as one of its own users, and lacks GetWebIdentityToken and IAM's operations that enable it.
Here it is always enabled, and the issuer is the local one.
Source: AWS, "IAM outbound identity federation".
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl

from ...access.keys import SessionPrincipal
from ...access.permissions import caller_identity
from ...resources import Place
from ...wire import RefusedError

_DEFAULT_S: Final = 300
_LIFETIMES_S: Final = range(60, 3_601)
_ALGORITHMS: Final = ("ES384", "RS256")
_MOST_AUDIENCES: Final = 10
_MOST_TAGS: Final = 50


class TokenSigner(Protocol):
    """Signs tokens."""

    @property
    def name(self) -> str:
        """Its name, the claim `iss`."""
        ...

    def sign(self, claims: Mapping[str, Any], algorithm: str = "RS256") -> str:
        """Sign claims and return the token."""
        ...


class WebIdentity:
    """Answers STS's GetWebIdentityToken and sessions' GetCallerIdentity, and IAM's operations about its issuer.

    Args:
        issuer: Signs the tokens.
        clock: Seconds since 1970.
    """

    def __init__(self, issuer: TokenSigner, clock: Callable[[], float] = time.time) -> None:
        self._issuer, self._clock = issuer, clock

    def answer(
        self, service: str, body: bytes, principal: SessionPrincipal | None, place: Place
    ) -> tuple[bytes, Sequence[tuple[bytes, bytes]]] | None:
        """Return the response to a request with its headers; None for any other operation.

        Args:
            service: The service that the request is signed for.
            body: Its parameters: the body, or the query of a GET.
            principal: The caller; None for the owner.
            place: The caller's region and account.

        Raises:
            RefusedError: A parameter is not valid.
        """
        form = dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True))
        action = form.get("Action", "")
        if (service, action) == ("sts", "GetWebIdentityToken"):
            return _encoded("sts", action, self._token(form, principal, place))
        if (service, action) == ("sts", "GetCallerIdentity") and principal is not None and principal.runtime_id:
            return _encoded("sts", action, caller_identity(principal))
        if (service, action) == ("iam", "EnableOutboundWebIdentityFederation"):
            return _encoded("iam", action, {"IssuerIdentifier": self._issuer.name})
        if (service, action) == ("iam", "GetOutboundWebIdentityFederationInfo"):
            return _encoded("iam", action, {"IssuerIdentifier": self._issuer.name, "JwtVendingEnabled": True})
        return None

    def _token(self, form: Mapping[str, str], principal: SessionPrincipal | None, place: Place) -> dict[str, Any]:
        audience = _members(form, "Audience.member.{}")
        if not 1 <= len(audience) <= _MOST_AUDIENCES:
            raise _invalid(f"Audience must have 1 to {_MOST_AUDIENCES} items")
        algorithm = form.get("SigningAlgorithm", "")
        if algorithm not in _ALGORITHMS:
            raise _invalid(f"SigningAlgorithm must be one of {', '.join(_ALGORITHMS)}")
        duration = form.get("DurationSeconds", str(_DEFAULT_S))
        if not duration.isdecimal() or int(duration) not in _LIFETIMES_S:
            raise _invalid("DurationSeconds must be between 60 and 3600")
        keys, values = (_members(form, f"Tags.member.{{}}.{part}") for part in ("Key", "Value"))
        if len(keys) > _MOST_TAGS or len(keys) != len(values):
            raise _invalid(f"Tags must be at most {_MOST_TAGS} keys with values")
        now = int(self._clock())
        caller = principal.role_arn if principal else f"arn:aws:iam::{place.account_id}:root"
        details: dict[str, Any] = {
            "aws_account": place.account_id,
            "source_region": place.region,
            "principal_id": caller,
        }
        if keys:
            details["request_tags"] = dict(zip(keys, values, strict=True))
        ends = now + int(duration)
        claims: dict[str, Any] = {
            "iss": self._issuer.name,
            "sub": caller,
            "aud": audience[0] if len(audience) == 1 else audience,
            "iat": now,
            "exp": ends,
            "jti": str(uuid.uuid4()),
            "https://sts.amazonaws.com/": details,
        }
        expiration = datetime.fromtimestamp(ends, UTC)
        return {"WebIdentityToken": self._issuer.sign(claims, algorithm), "Expiration": expiration}


def _members(form: Mapping[str, str], pattern: str) -> list[str]:
    """Return the items of a list of the query protocol."""
    items: list[str] = []
    while (value := form.get(pattern.format(len(items) + 1))) is not None:
        items.append(value)
    return items


def _encoded(service: str, action: str, result: Mapping[str, Any]) -> tuple[bytes, Sequence[tuple[bytes, bytes]]]:
    from moto.core.serialize import QuerySerializer
    from moto.core.utils import get_service_model

    response = QuerySerializer(get_service_model(service).operation_model(action)).serialize(result)
    body = response["body"]
    headers = [(name.lower().encode(), str(value).encode()) for name, value in response["headers"].items()]
    return (body.encode() if isinstance(body, str) else body), headers


def _invalid(message: str) -> RefusedError:
    return RefusedError("ValidationError", 400, message)
