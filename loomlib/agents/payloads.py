"""The body and the session id of a request, checked against AWS's rules before anything is sent."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.errors import RequestRejectedError
from loomlib.presentation.formats import number

from .message_format import MessageFormat

SESSION_ID_MIN: Final = 33
SESSION_ID_MAX: Final = 256
PAYLOAD_MAX_BYTES: Final = 100_000_000
"""The limits of InvokeAgentRuntime, from botocore's service model of bedrock-agentcore."""

_STORED_PROMPT_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """The body of a request.

    Attributes:
        body: The bytes to send.
        prompt: The prompt in it.
        digest: The SHA-256 of the body; that of `{"prompt": …}` where the body is a prompt in the agent's own form.
    """

    body: bytes = field(repr=False)
    prompt: str | None = field(repr=False)
    digest: str


def make_payload(
    prompt: str | None,
    payload: Mapping[str, Any] | bytes | None = None,
    *,
    form: MessageFormat | None = None,
    session_id: str = "",
) -> Payload:
    """Return the body: `{"prompt": …}` or the agent's own form for a prompt, a mapping as JSON, bytes unchanged.

    Args:
        prompt: The prompt; added to a mapping, in the agent's form, where the mapping lacks it.
        payload: A mapping or bytes.
        form: The agent's own form; None for `{"prompt": …}`.
        session_id: The runtime session, for forms that contain it.

    Raises:
        RequestRejectedError: The body exceeds 100 MB.
        ValueError: There is neither prompt nor payload.
        TypeError: The prompt is not a string, the payload neither mapping nor bytes, or JSON cannot hold a value.
    """
    if prompt is None and payload is None:
        raise ValueError("a prompt or a payload is required")
    _check_kinds(prompt, payload)
    if isinstance(payload, bytes):
        stored_prompt = prompt or payload[:_STORED_PROMPT_CHARACTERS].decode("utf-8", "replace")
        return _checked(payload, stored_prompt)
    if prompt is not None and form is not None:
        usual = _encoded({**(payload or {}), "prompt": prompt})
        body = _encoded({**form.body(prompt, session_id), **(payload or {})})
        return _checked(body, prompt, digest=_digest(usual))
    fields = dict(payload or {})
    if prompt is not None:
        fields.setdefault("prompt", prompt)
    body = _encoded(fields)
    own_prompt = fields.get("prompt")
    return _checked(
        body, own_prompt if isinstance(own_prompt, str) else body[:_STORED_PROMPT_CHARACTERS].decode("utf-8", "replace")
    )


def _encoded(payload: Mapping[str, Any]) -> bytes:
    return json.dumps(payload, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _checked(body: bytes, prompt: str, *, digest: str | None = None) -> Payload:
    if len(body) > PAYLOAD_MAX_BYTES:
        raise RequestRejectedError(
            f"The payload has {number(len(body))} bytes; InvokeAgentRuntime allows {number(PAYLOAD_MAX_BYTES)}",
            on="not sent",
            try_="store the data in S3 and send its URI",
        )
    return Payload(body=body, prompt=prompt, digest=digest or _digest(body))


def _check_kinds(prompt: object, payload: object) -> None:
    """Reject a prompt or payload of the wrong type.

    A mapping as the prompt would be sent as the prompt's value, and the agent would find no text in it.
    """
    kinds = [type(value).__name__ for value in (prompt, payload)]
    if prompt is not None and not isinstance(prompt, str):
        how = "; pass a mapping as payload={…}" if isinstance(prompt, Mapping) else ""
        raise TypeError(f"the prompt must be a string, not {kinds[0]}{how}")
    if payload is not None and not isinstance(payload, (Mapping, bytes)):
        how = "; pass a string as the prompt" if isinstance(payload, str) else ""
        raise TypeError(f"the payload must be a mapping or bytes, not {kinds[1]}{how}")


def new_session_id() -> str:
    """Return a new session id of 37 characters (AWS requires 33 to 256)."""
    return f"loom-{uuid.uuid4().hex}"


def check_session_id(session_id: str) -> str:
    """Return `session_id` if it is valid.

    Raises:
        RequestRejectedError: It breaks AWS's rules.
    """
    if not SESSION_ID_MIN <= len(session_id) <= SESSION_ID_MAX:
        raise RequestRejectedError(
            f"The session id has {len(session_id)} characters; AgentCore requires {SESSION_ID_MIN} to {SESSION_ID_MAX}",
            on=repr(session_id[:SESSION_ID_MAX]),
            try_="leave session_id out, or use a UUID with a prefix",
        )
    if not session_id.isascii() or not session_id.isprintable() or session_id != session_id.strip():
        raise RequestRejectedError(
            "A session id is sent in an HTTP header, so it must be printable ASCII without surrounding spaces",
            on=repr(session_id),
            try_="letters, digits, hyphens and underscores",
        )
    return session_id
