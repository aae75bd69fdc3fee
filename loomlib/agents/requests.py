"""One invocation to send, complete and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from loomlib.aws.bearer import check_bearer

from .entry import AgentEntry, ServerEntry
from .payloads import Payload, check_session_id, make_payload, new_session_id
from .trace_context import with_trace


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationRequest:
    """A checked invocation.

    Attributes:
        agent: The agent to invoke, or the server to send to.
        payload: The body.
        session_id: The runtime session.
        qualifier: The endpoint; DEFAULT by default.
        timeout_s: The limit from sending to the end of the response, in seconds; None for no limit.
        labels: Labels to store with it.
        headers: Headers to send, with the trace context.
        bearer: The token to send instead of a signature; neither stored nor logged.
    """

    agent: AgentEntry | ServerEntry
    payload: Payload = field(repr=False)
    session_id: str
    qualifier: str = "DEFAULT"
    timeout_s: float | None = None
    labels: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    bearer: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.timeout_s is not None and not self.timeout_s > 0:  # NaN is not above 0, either
            raise ValueError(f"timeout_s must be above 0, not {self.timeout_s}")


class CallOptions(TypedDict, total=False):
    """The arguments of an agent's call besides the prompt; `Agent.invoke` describes each."""

    payload: Mapping[str, Any] | bytes | None
    session_id: str | None
    qualifier: str | None
    timeout_s: float | None
    bearer: str | None


class InvokeOptions(CallOptions, total=False):
    """The arguments of `Invoker` besides the prompt; `make_request` describes each."""

    labels: Sequence[str]
    headers: Mapping[str, str] | None


def make_request(
    agent: AgentEntry,
    prompt: str | None = None,
    *,
    payload: Mapping[str, Any] | bytes | None = None,
    session_id: str | None = None,
    qualifier: str | None = None,
    timeout_s: float | None = None,
    bearer: str | None = None,
    labels: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> InvocationRequest:
    """Check the arguments of an invocation.

    Args:
        agent: The agent to invoke.
        prompt: The prompt.
        payload: The payload, in place of or beside the prompt.
        session_id: The runtime session; a new one by default.
        qualifier: The endpoint; DEFAULT by default.
        timeout_s: The limit from sending to the end of the response, in seconds.
        bearer: A token of an issuer that the runtime's authorizer accepts, sent instead of a signature.
        labels: Labels to store with it.
        headers: Headers to send.

    Raises:
        RequestRejectedError: AWS would reject the request.
        ValueError: An argument is invalid.
    """
    if qualifier == "":
        raise ValueError("qualifier must be the name of an endpoint, such as DEFAULT")
    if bearer is not None:
        check_bearer(bearer)
    for name, value in (headers or {}).items():
        if name.lower() == "authorization":
            raise ValueError(
                "headers cannot contain Authorization, which each request sets itself: pass a token as bearer="
            )
        if not (name + value).isascii() or not (name + value).isprintable():
            raise ValueError(f"the header {name!r} has characters that HTTP does not allow")
    session = new_session_id() if session_id is None else check_session_id(session_id)
    return InvocationRequest(
        agent=agent,
        payload=make_payload(prompt, payload, form=agent.message_format, session_id=session),
        session_id=session,
        qualifier=qualifier or "DEFAULT",
        timeout_s=timeout_s,
        labels=tuple(labels),
        headers=with_trace(headers or {}),
        bearer=bearer,
    )
