"""The common parameters of a load step's requests, passed by the parent process to the sending processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestForm:
    """Common parameters of all requests of a step. It contains no secrets: keys and tokens follow on standard input.

    Attributes:
        url: The address, percent-encoded as it is sent.
        headers: The headers of every request; the session's, the signature and the body's length are added.
        session_header: The header that carries the session's id.
        region: The region of the SigV4 signature; None for requests that are unsigned or have a bearer token.
        service: The service of the signature.
        timeout_s: Seconds from sending a request until its response must be complete.
        ca_bundle: File of certificate authorities; None for the system's.
        keep_arrivals: Whether to record the time of every read of a response's body in the journal.
        is_json_rpc: Whether responses are JSON-RPC messages, whose content states whether the call failed.
        traces_since_s: The step's start in whole Unix seconds, with which the ids of its traces begin; None for
            requests without a trace context.
    """

    url: str
    headers: Mapping[str, str] = field(repr=False)
    session_header: str
    region: str | None = None
    service: str = ""
    timeout_s: float
    ca_bundle: str | None = None
    keep_arrivals: bool = False
    is_json_rpc: bool = False
    traces_since_s: int | None = None

    def members(self) -> dict[str, Any]:
        """Return the form as JSON."""
        return {**asdict(self), "headers": dict(self.headers)}
