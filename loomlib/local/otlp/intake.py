"""OTLP over HTTP: `POST /otlp/v1/traces`, `/otlp/v1/metrics` and `/otlp/v1/logs`, as protobuf or JSON, gzip or not.

`GET /otlp/records/{trace or session id}` returns the stored records, uncut: a log event holds 256 KiB only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from ..access.keys import SessionPrincipal
from ..access.permissions import require_owner
from ..wire import Receive, RefusedError, Send, not_found, read_body, send_body
from .answers import JSON, PROTOBUF, Answer
from .bodies import BODY_LIMIT_BYTES
from .collector import Collector
from .documents import Signal
from .reader import TelemetryReader

PREFIX = "/otlp/"
_RECORDS = "/otlp/records/"
_SIGNALS: dict[str, Signal] = {"/otlp/v1/traces": "traces", "/otlp/v1/metrics": "metrics", "/otlp/v1/logs": "logs"}
_LET_PASS_BYTES = 256_000_000
_ENCODINGS = ("", "identity", "gzip", "deflate")
_PROTOBUF_NAMES = (PROTOBUF, "application/protobuf", "application/vnd.google.protobuf")

FindOrigin = Callable[[str], tuple[str, str] | None]


class OtlpIntake:
    """Handles export requests; a response of 200 means that the records are on disk.

    `find_origin` returns the session id and log group of a log stream, by the uuid that a session's process sends.
    `stored_group` returns the key under which a group is stored.
    """

    def __init__(
        self,
        collector: Collector,
        telemetry: TelemetryReader,
        *,
        delay_s: float,
        find_origin: FindOrigin,
        stored_group: Callable[[str], str] = str,
    ) -> None:
        self._collector, self._telemetry = collector, telemetry
        self._delay_s, self._find_origin, self._stored_group = delay_s, find_origin, stored_group

    async def answer(
        self,
        path: str,
        method: str,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
        *,
        principal: SessionPrincipal | None = None,
    ) -> None:
        """Answer one request; errors are OTLP messages too, in the sender's encoding.

        A session writes into its own log group, whatever its headers say, and reads nothing.
        """
        if principal is not None:
            mine = {
                b"x-loom-session": quote(principal.session_id).encode(),
                b"x-aws-log-group": principal.group.encode(),
            }
            headers = {**headers, **mine}
        if method == "GET" and path.startswith(_RECORDS):
            require_owner(principal, "loom:GetTelemetry")
            records = await asyncio.to_thread(self._telemetry.whole, unquote(path.removeprefix(_RECORDS)))
            lines = b"".join(message.encode() + b"\n" for _, message in records)
            await send_body(send, lines, 200, [(b"content-type", b"application/x-ndjson")])
            return
        signal = _SIGNALS.get(path)
        if signal is None or method != "POST":
            raise not_found(f"No {method} {path}; send to /otlp/v1/traces, /otlp/v1/metrics or /otlp/v1/logs")
        declared = _header(headers, b"content-type").partition(";")[0].strip().lower()
        content_type = PROTOBUF if declared in _PROTOBUF_NAMES else JSON
        answer = await self._take(signal, content_type, declared, headers, receive)
        more = [(b"retry-after", b"1")] if answer.status == 503 else []
        await send_body(
            send,
            answer.body(content_type, signal),
            answer.status,
            [(b"content-type", content_type.encode()), *more],
        )

    async def _take(
        self, signal: Signal, content_type: str, declared: str, headers: Mapping[bytes, bytes], receive: Receive
    ) -> Answer:
        try:
            body = await read_body(receive, BODY_LIMIT_BYTES, _header(headers, b"content-length"))
        except RefusedError as refused:
            await _let_pass(receive)
            return Answer(413, message=refused.message)
        if declared != JSON and content_type != PROTOBUF:
            return Answer(415, message=f"Content type {declared!r} is neither {PROTOBUF} nor {JSON}")
        encoding = _header(headers, b"content-encoding").strip().lower()
        if encoding not in _ENCODINGS:
            return Answer(415, message=f"Content encoding {encoding!r} is not supported; use gzip or none")
        head: dict[str, Any] = {
            "signal": signal,
            "content_type": content_type,
            "encoding": encoding,
            "delay_s": self._delay_s,
            "origin": self._origin(headers),
        }
        return await self._collector.take(head, body)

    def _origin(self, headers: Mapping[bytes, bytes]) -> dict[str, str]:
        session_id = unquote(_header(headers, b"x-loom-session"))
        group = _header(headers, b"x-aws-log-group")
        mark = _header(headers, b"x-loom-stream")
        if mark and not (session_id and group) and (origin := self._find_origin(mark)):
            session_id, group = session_id or origin[0], group or origin[1]
        return {
            "session_id": session_id,
            "group": self._stored_group(group),
            "stream": _header(headers, b"x-aws-log-stream"),
            "namespace": _header(headers, b"x-aws-metric-namespace"),
        }


async def _let_pass(receive: Receive) -> None:
    """Read and discard the rest of a body that is too long: an exporter whose connection is closed would retry."""
    size = 0
    while size < _LET_PASS_BYTES:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _header(headers: Mapping[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")
