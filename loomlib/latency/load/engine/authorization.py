"""The form of a target's requests, and the keys or the token that authorize them now."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from loomlib.aws.bearer import check_bearer, check_may_receive_token, token_of
from loomlib.aws.connection import Clients
from loomlib.aws.load_client import RequestForm, Secrets
from loomlib.aws.signing import SERVICE, SESSION_HEADER, SignedRequest, plain_request, sign_invocation
from loomlib.errors import NotSupportedError

from .targets import LoadTarget

_OF_ONE_REQUEST: Final = ("authorization", "x-amz-date", "x-amz-security-token", SESSION_HEADER.lower())
_PLACEHOLDER: Final = "load-engine-form-load-engine-form"


class Authorization:
    """Reads credentials through the target's connection, which refreshes them when they are about to expire."""

    def __init__(self, target: LoadTarget) -> None:
        self._target = target
        self._clients = Clients(target.connection) if target.connection is not None else None

    def form(self, *, timeout_s: float, keep_arrivals: bool, traces_since_s: int | None = None) -> RequestForm:
        """Return the form of the requests, as the ordinary client creates them.

        Args:
            timeout_s: Seconds from sending a request until its response must be complete.
            keep_arrivals: Whether the time of every read is stored.
            traces_since_s: The Unix time, in seconds, with which trace ids begin; None for requests without a trace
                context.

        Raises:
            NotSupportedError: The address is reached through a proxy.
        """
        request = self._one_request()
        if request.proxy is not None:
            raise NotSupportedError(
                "The load engine does not send through a proxy",
                on=request.endpoint,
                try_="set NO_PROXY for the host, or run the load test from a machine that reaches the address directly",
            )
        if self._target.bearer is not None:
            check_may_receive_token(request.endpoint)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_ONE_REQUEST}
        return RequestForm(
            url=request.url,
            headers={**headers, "Accept-Encoding": "identity"},
            session_header=SESSION_HEADER,
            region=self._region() if self._clients is not None and self._target.bearer is None else None,
            service=SERVICE,
            timeout_s=timeout_s,
            ca_bundle=request.ca_bundle,
            keep_arrivals=keep_arrivals,
            is_json_rpc=self._target.is_json_rpc,
            traces_since_s=traces_since_s,
        )

    def secrets(self) -> dict[str, Any]:
        """Return the keys or the token that are valid now, as JSON. It may use the network to refresh them."""
        if self._target.bearer is not None:
            token = token_of(self._target.bearer) or ""
            check_bearer(token)
            return asdict(Secrets(bearer=token))
        if self._clients is None:
            return asdict(Secrets())
        keys = self._clients.credentials()
        return asdict(
            Secrets(access_key=keys.access_key or "", secret_key=keys.secret_key or "", session_token=keys.token or "")
        )

    def close(self) -> None:
        """Close the connection."""
        if self._clients is not None:
            self._clients.close()

    def _one_request(self) -> SignedRequest:
        target = self._target
        if self._clients is None or target.arn is None:
            url = target.url or ""
            headers = {"Content-Type": target.content_type, "Accept": "text/event-stream, application/json"}
            return plain_request(url, target.headers, "POST", b"", headers)
        return sign_invocation(
            self._clients,
            arn=target.arn,
            region=self._region(),
            qualifier=target.qualifier,
            session_id=_PLACEHOLDER,
            body=b"",
            content_type=target.content_type,
            headers=target.headers,
            bearer=token_of(target.bearer),
        )

    def _region(self) -> str:
        return self._target.region or (self._target.arn or "").split(":")[3]
