"""What is sent: the payload and the session id, checked against AWS's rules before anything leaves."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.errors import RequestRejectedError

SESSION_ID_MIN: Final = 33
SESSION_ID_MAX: Final = 256
PAYLOAD_MAX_BYTES: Final = 100_000_000
"""InvokeAgentRuntime's limits, from botocore's service model of bedrock-agentcore."""

_PROMPT_KEPT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """The body of a request, the words in it that were asked, and its SHA-256."""

    body: bytes = field(repr=False)
    prompt: str | None = field(repr=False)
    digest: str


def make_payload(prompt: str | None, payload: Mapping[str, Any] | bytes | None = None) -> Payload:
    """`{"prompt": …}` for a prompt; a mapping as JSON; bytes as they are. A prompt is added to a mapping without one.

    Raises `RequestRejectedError` above 100 MB, `ValueError` when there is nothing to send and `TypeError` for a prompt that
    is no text, a payload that is neither mapping nor bytes, and a value that JSON cannot hold.
    """
    if prompt is None and payload is None:
        raise ValueError("give a prompt or a payload")
    _check_kinds(prompt, payload)
    if isinstance(payload, bytes):
        body, asked = payload, prompt or payload[:_PROMPT_KEPT].decode("utf-8", "replace")
    else:
        sent = dict(payload or {})
        if prompt is not None:
            sent.setdefault("prompt", prompt)
        body = json.dumps(sent, ensure_ascii=False).encode("utf-8", "surrogatepass")
        own = sent.get("prompt")
        asked = own if isinstance(own, str) else body[:_PROMPT_KEPT].decode("utf-8", "replace")
    if len(body) > PAYLOAD_MAX_BYTES:
        raise RequestRejectedError(
            f"A payload of {len(body):,} bytes is above InvokeAgentRuntime's limit of {PAYLOAD_MAX_BYTES:,}",
            on="not sent",
            try_="put the data in S3 and send its address",
        )
    return Payload(body=body, prompt=asked, digest=hashlib.sha256(body).hexdigest())


def _check_kinds(prompt: object, payload: object) -> None:
    """A mapping in the prompt's place would be sent as the prompt's value, and the agent would find no words in it."""
    kinds = [type(each).__name__ for each in (prompt, payload)]
    if prompt is not None and not isinstance(prompt, str):
        how = "; a mapping is sent as it is with payload={…}" if isinstance(prompt, Mapping) else ""
        raise TypeError(f"a prompt is a text, not {kinds[0]}{how}")
    if payload is not None and not isinstance(payload, (Mapping, bytes)):
        how = "; a text is sent as the prompt" if isinstance(payload, str) else ""
        raise TypeError(f"a payload is a mapping or bytes, not {kinds[1]}{how}")


def new_session_id() -> str:
    """A fresh session id of 37 characters (AWS wants 33 to 256)."""
    return f"loom-{uuid.uuid4().hex}"


def check_session_id(session_id: str) -> str:
    """`session_id`, or `RequestRejectedError` telling its length and the rule."""
    if not SESSION_ID_MIN <= len(session_id) <= SESSION_ID_MAX:
        raise RequestRejectedError(
            f"A session id of {len(session_id)} characters; AgentCore wants {SESSION_ID_MIN} to {SESSION_ID_MAX}",
            on=repr(session_id[:SESSION_ID_MAX]),
            try_="leave session_id out, or use a UUID with a prefix",
        )
    if not session_id.isascii() or not session_id.isprintable() or session_id != session_id.strip():
        raise RequestRejectedError(
            "A session id travels in an HTTP header, so it is printable ASCII without spaces around it",
            on=repr(session_id),
            try_="letters, digits, hyphens and underscores",
        )
    return session_id
