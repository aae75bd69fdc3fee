"""Signature Version 4: reading a request's signature, and computing it again with botocore's own signer.

Source: AWS, "Signature Version 4 for API requests", "Authenticating requests: query parameters" and "Signature
calculations: transferring payload in multiple chunks".
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, BinaryIO, Final
from urllib.parse import unquote

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.credentials import Credentials

from .errors import MISMATCH, refusal
from .keys import Key

SKEW: Final = timedelta(minutes=5)
"""Maximum difference between the time of a request and this machine's clock."""

EMPTY: Final = hashlib.sha256(b"").hexdigest()
"""The SHA-256 digest of an empty body."""

_ALGORITHM = "AWS4-HMAC-SHA256"
_LONGEST_EXPIRY_S = 604_800  # seven days
_FORM = re.compile(r"Credential=([^,\s]+)[,\s]+SignedHeaders=([^,\s]+)[,\s]+Signature=([0-9a-f]{64})\Z")
_TIME = re.compile(r"\d{8}T\d{6}Z\Z")
_UNSIGNED, _STREAMING = "UNSIGNED-PAYLOAD", "STREAMING-"
_SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
_REQUIRED = "'Credential', 'SignedHeaders' and 'Signature'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The signature of a request, not yet verified; `expires_s` is for presigned URLs only."""

    access_key: str
    date: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    signature: str = field(repr=False)
    time: str
    expires_s: int | None = None

    @property
    def is_presigned(self) -> bool:
        """Whether the signature is in the query."""
        return self.expires_s is not None

    def check_time(self, now: datetime) -> None:
        """Refuse a request whose time is not current, or a presigned URL that has expired."""
        moment, earliest, latest = datetime.fromisoformat(self.time), now - SKEW, now + SKEW
        if self.expires_s is not None:
            if now > moment + timedelta(seconds=self.expires_s):
                raise refusal("stale", self.service, "Request has expired")
            if moment > latest:
                raise refusal("stale", self.service, "Request is not yet valid")
        elif self.service == "s3" and not earliest <= moment <= latest:
            message = "The difference between the request time and the current time is too large."
            raise refusal("skewed", self.service, message)
        elif moment < earliest:
            message = (
                f"Signature expired: {self.time} is now earlier than {earliest:%Y%m%dT%H%M%SZ} "
                f"({now:%Y%m%dT%H%M%SZ} - 5 min.)"
            )
            raise refusal("skewed", self.service, message)
        elif moment > latest:
            message = (
                f"Signature not yet current: {self.time} is still later than {latest:%Y%m%dT%H%M%SZ} "
                f"({now:%Y%m%dT%H%M%SZ} + 5 min.)"
            )
            raise refusal("skewed", self.service, message)


def read_signature(headers: Mapping[str, Sequence[str]], query: str) -> Signature | None:
    """Return the signature in a request's header or query; None if it has neither.

    Args:
        headers: All header fields by their lower-case names.
        query: The raw query.

    Raises:
        RefusedError: The signature cannot be read.
    """
    authorization = headers.get("authorization", ())
    if not authorization:
        return _presigned(query) if "X-Amz-Signature=" in query or "X-Amz-Credential=" in query else None
    service = _service_of(authorization[0])
    algorithm, _, rest = authorization[0].partition(" ")
    if algorithm != _ALGORITHM:
        message = f"The authorization mechanism you have provided is not supported. Please use {_ALGORITHM}."
        raise refusal("mechanism", service, message)
    match = _FORM.match(rest.strip())
    if len(authorization) > 1 or match is None:
        raise refusal("incomplete", service, f"Authorization header requires {_REQUIRED} parameters.")
    time = next(iter(headers.get("x-amz-date", ())), "")
    if not _is_time(time):
        raise refusal("incomplete", service, "Authorization header requires a valid 'X-Amz-Date' header.")
    return _checked(match[1], match[2], match[3], time, None)


def _presigned(query: str) -> Signature:
    parameters: dict[str, str] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        parameters.setdefault(name, unquote(value))
    service = _service_of("Credential=" + parameters.get("X-Amz-Credential", ""))
    expires, time = parameters.get("X-Amz-Expires", ""), parameters.get("X-Amz-Date", "")
    names = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders")
    is_whole = all(parameters.get(name) for name in names) and _is_time(time)
    if not is_whole or parameters["X-Amz-Algorithm"] != _ALGORITHM:
        raise refusal("incomplete", service, "Query-string authentication requires all X-Amz parameters of version 4.")
    if not (expires.isdecimal() and len(expires) < 8 and 1 <= int(expires) <= _LONGEST_EXPIRY_S):
        raise refusal("incomplete", service, "X-Amz-Expires must be between 1 and 604800 seconds")
    signature = parameters["X-Amz-Signature"]
    return _checked(parameters["X-Amz-Credential"], parameters["X-Amz-SignedHeaders"], signature, time, int(expires))


def _checked(credential: str, signed: str, signature: str, time: str, expires_s: int | None) -> Signature:
    parts = credential.split("/")
    if len(parts) != 5 or not all(parts) or parts[4] != "aws4_request":
        service = parts[3] if len(parts) > 3 else ""
        message = "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term"
        raise refusal("incomplete", service, message)
    access_key, date, region, service, _ = parts
    if date != time[:8]:
        message = (
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{date}' != '{time[:8]}', from '{time}'."
        )
        raise refusal("mismatch", service, message)
    names = tuple(signed.split(";"))
    if "host" not in names:
        raise refusal("mismatch", service, "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
    return Signature(
        access_key=access_key,
        date=date,
        region=region,
        service=service,
        signed_headers=names,
        signature=signature,
        time=time,
        expires_s=expires_s,
    )


def verify(
    signature: Signature, key: Key, *, method: str, target: str, headers: Mapping[str, Sequence[str]], payload: str
) -> None:
    """Refuse a request whose signature does not match its key.

    Args:
        signature: The request's signature.
        key: The key that it names.
        method: The HTTP method.
        target: The path and query as they were sent.
        headers: All header fields by their lower-case names.
        payload: The digest of the body, or its substitute, such as `UNSIGNED-PAYLOAD`.
    """
    if any(name not in headers for name in signature.signed_headers):
        raise refusal("mismatch", signature.service, MISMATCH)
    path, _, query = target.partition("?")
    if signature.is_presigned:
        query = "&".join(part for part in query.split("&") if not part.startswith("X-Amz-Signature="))
    signer = _signer(signature, key)
    request: Any = _Request(method, f"http://127.0.0.1{path}" + (f"?{query}" if query else ""), signature, headers)
    request.headers["X-Amz-Content-SHA256"] = payload
    text = signer.string_to_sign(request, signer.canonical_request(request))
    if not hmac.compare_digest(str(signer.signature(text, request)), signature.signature):
        raise refusal("mismatch", signature.service, MISMATCH)


def declared_payload(signature: Signature, headers: Mapping[str, Sequence[str]]) -> str | None:
    """Return the body digest that a request declares; None if the body itself must be hashed.

    Raises:
        RefusedError: The body is unsigned or chunked, but the service is not S3.
    """
    declared = next(iter(headers.get("x-amz-content-sha256", ())), None)
    if declared is None:
        return _UNSIGNED if signature.is_presigned and signature.service == "s3" else None
    if signature.service != "s3" and (declared == _UNSIGNED or declared.startswith(_STREAMING)):
        raise refusal("mismatch", signature.service, MISMATCH)
    return declared


def check_body(signature: Signature, key: Key, declared: str, *, digest: str, body: BinaryIO) -> None:
    """Refuse a body that is not the one that was signed.

    Args:
        signature: The request's signature, verified.
        key: Its key.
        declared: The body digest that the request declares.
        digest: The body's SHA-256, in hex.
        body: The body, read from its beginning if its chunks are signed.
    """
    if declared.startswith(_SIGNED_CHUNKS):
        _check_chunks(signature, key, body)
    elif not declared.startswith(_STREAMING) and declared != _UNSIGNED and not hmac.compare_digest(declared, digest):
        message = "The provided 'x-amz-content-sha256' header does not match what was computed."
        raise refusal("digest", signature.service, message)


def _check_chunks(signature: Signature, key: Key, body: BinaryIO) -> None:
    """Verify the signature of each chunk, which includes the previous one."""
    signer = _signer(signature, key)
    request: Any = _Request("PUT", "http://127.0.0.1/", signature, {})
    scope, previous = signer.credential_scope(request), signature.signature
    mismatch = refusal("mismatch", signature.service, MISMATCH)
    while True:
        size, _, chunk_signature = body.readline(200).decode("latin-1").strip().partition(";chunk-signature=")
        if not re.fullmatch(r"[0-9a-fA-F]{1,8}", size):
            raise mismatch
        content = body.read(int(size, 16))
        digest = hashlib.sha256(content).hexdigest()
        text = "\n".join((f"{_ALGORITHM}-PAYLOAD", signature.time, scope, previous, EMPTY, digest))
        previous = str(signer.signature(text, request))
        if not hmac.compare_digest(previous, chunk_signature):
            raise mismatch
        if not content:
            return
        body.readline(2)


class _SignedHeaders:
    """The header fields that are signed, as botocore's signer reads them."""

    def __init__(self, names: Iterable[str], headers: Mapping[str, Sequence[str]]) -> None:
        self._values = {name: headers.get(name, ()) for name in names}

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def get_all(self, name: str) -> Sequence[str]:
        return self._values[name]


class _Request:
    """A request as botocore's signer reads one."""

    def __init__(self, method: str, url: str, signature: Signature, headers: Mapping[str, Sequence[str]]) -> None:
        self.method, self.url = method, url
        self.params: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        self.context = {"timestamp": signature.time}
        self.signed = _SignedHeaders(signature.signed_headers, headers)


class _Signer(SigV4Auth):
    """botocore's signer over the headers that the caller signed, not those that botocore would choose."""

    def headers_to_sign(self, request: Any) -> Any:
        return request.signed


class _S3Signer(S3SigV4Auth):
    """The same for S3, whose paths are signed as they are."""

    def headers_to_sign(self, request: Any) -> Any:
        return request.signed


def _signer(signature: Signature, key: Key) -> Any:
    kind = _S3Signer if signature.service == "s3" else _Signer
    return kind(Credentials(key.access_key, key.secret_key), signature.service, signature.region)


def _service_of(text: str) -> str:
    """Return the service of a credential scope that may be malformed, to choose the form of the error."""
    match = re.search(r"Credential=[^/,\s]*/[^/,\s]*/[^/,\s]*/([\w-]+)", text)
    return match[1] if match else ""


def _is_time(text: str) -> bool:
    if not _TIME.match(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
