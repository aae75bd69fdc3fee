"""Requests signed by botocore, for tests that write HTTP by hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.auth import SIGV4_TIMESTAMP, S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


class _PlainS3(SigV4Auth):
    """S3's signature over the payload's digest as it is given."""

    def _normalize_url_path(self, path: str) -> str:
        return path


def signed_headers(
    state: Any,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    service: str = "bedrock-agentcore",
    headers: Mapping[str, str] | None = None,
    payload: str | None = None,
    region: str | None = None,
    access_key: str | None = None,
    secret_key: str | None = None,
    at: datetime | None = None,
) -> dict[str, str]:
    """The headers of a request, signed by default with the owner's key of `state` and now.

    `payload` stands in X-Amz-Content-SHA256 for the digest of the body.
    """
    unsigned_headers = dict(headers or {}) | ({"X-Amz-Content-SHA256": payload} if payload is not None else {})
    request: Any = AWSRequest(method=method, url=state.url + path, data=body, headers=unsigned_headers)
    credentials = Credentials(access_key or state.access_key, secret_key or state.secret_key)
    kind = SigV4Auth if service != "s3" else S3SigV4Auth if payload is None else _PlainS3
    signer: Any = kind(credentials, service, region or state.region)
    request.context["timestamp"] = (at or datetime.now(UTC)).strftime(SIGV4_TIMESTAMP)
    signer._modify_request_before_signing(request)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    signer._inject_signature_to_request(request, signer.signature(text, request))
    return {name: str(value) for name, value in request.headers.items()}
