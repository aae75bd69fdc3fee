"""Requests that clients send without a signature: operations for which botocore's service models do not require one.

These are Cognito's sign-in, AssumeRoleWithWebIdentity, AssumeRoleWithSAML and the operations of IAM Identity Center;
in addition, the two public documents of a user pool: its keys and its OpenID configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import parse_qs

from moto.core.request import Request
from moto.core.routing import get_service_router
from moto.core.utils import get_service_model
from werkzeug.exceptions import HTTPException

from .errors import refusal

_BY_TARGET: Final = {
    "AWSCognitoIdentityProviderService": "cognito-idp",
    "AWSCognitoIdentityService": "cognito-identity",
}
_BY_PATH: Final = ("sso", "sso-oidc", "signin")
_FORM: Final = "application/x-www-form-urlencoded"
_POOL_DOCUMENT: Final = re.compile(r"/([\w-]+)_[0-9a-zA-Z]+/\.well-known/(jwks\.json|openid-configuration)")
_IDENTITY_REGION: Final = re.compile(rb'"Identity(?:Pool)?Id"\s*:\s*"([a-z]{2}(?:-[a-z]+)+-\d):')


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsignedRequest:
    """A request that may need no signature.

    Attributes:
        service: The signing name of the service.
        operation: Its operation; empty if only the body can name it.
        region: The region that the request names; empty without one.
    """

    service: str
    operation: str
    region: str = ""

    def confirmed(self, body: bytes) -> UnsignedRequest:
        """Return the request with the operation and the region from its body.

        Args:
            body: The request's body.

        Raises:
            RefusedError: The operation must be signed.
        """
        if self.service == "sts":
            name = parse_qs(body.decode("latin-1")).get("Action", [""])[0]
            if name not in _operations("sts"):
                raise refusal("missing", "sts", "Request is missing Authentication Token")
            return UnsignedRequest(service="sts", operation=name)
        match = _IDENTITY_REGION.search(body) if self.service == "cognito-identity" else None
        region = match[1].decode() if match else self.region
        return UnsignedRequest(service=self.service, operation=self.operation, region=region)


def read_unsigned(method: str, path: str, query: str, headers: Mapping[str, Sequence[str]]) -> UnsignedRequest | None:
    """Return the service and operation of a request without a signature; None if it must be signed.

    Args:
        method: The HTTP method.
        path: The raw path.
        query: The raw query.
        headers: All header fields by their lower-case names.
    """
    if method == "GET" and (document := _POOL_DOCUMENT.fullmatch(path)):
        return UnsignedRequest(service="cognito-idp", operation="", region=document[1])
    if method == "POST" and path == "/":
        prefix, _, name = next(iter(headers.get("x-amz-target", ())), "").partition(".")
        service = _BY_TARGET.get(prefix, "")
        if service and name in _operations(service):
            return UnsignedRequest(service=service, operation=name)
        if not prefix and next(iter(headers.get("content-type", ())), "").startswith(_FORM):
            return UnsignedRequest(service="sts", operation="")
        return None
    return _of_path(method, path, query, headers)


def _of_path(method: str, path: str, query: str, headers: Mapping[str, Sequence[str]]) -> UnsignedRequest | None:
    request = Request(
        {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "RAW_URI": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "wsgi.url_scheme": "http",
            **{f"HTTP_{name.upper().replace('-', '_')}": values[0] for name, values in headers.items()},
        }
    )
    for service in _BY_PATH:
        try:
            name = str(get_service_router(service).match(request)[0].name)
        except HTTPException:
            continue
        if name in _operations(service):
            return UnsignedRequest(service=get_service_model(service).signing_name, operation=name)
    return None


@cache
def _operations(service: str) -> frozenset[str]:
    """Return the operations whose model says `authtype: none` or `auth: smithy.api#noAuth`."""
    model = get_service_model(service)
    shapes = {str(name): model.operation_model(name) for name in model.operation_names}
    return frozenset(
        name
        for name, shape in shapes.items()
        if shape.auth_type == "none" or list(shape.auth or ()) == ["smithy.api#noAuth"]
    )
