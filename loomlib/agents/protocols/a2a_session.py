"""Requests to an A2A agent, each stored as an invocation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from loomlib.errors import ProtocolError

from ..entry import AgentEntry, ServerEntry
from ..invocation_writer import InvocationWriter
from ..payloads import make_payload
from ..requests import InvocationRequest
from ..trace_context import with_trace
from .a2a_values import A2aEvent, fold_task, message_params, read_event
from .channels import Channel
from .jsonrpc import METHOD_NOT_FOUND, JsonRpcPeer
from .measured_call import MeasuredCall
from .measuring import CallOutcome, measure

_FAILED: Final = {
    "failed": "The agent's task failed",
    "rejected": "The agent rejected the task",
    "canceled": "The agent canceled the task",
}
_RUNNING: Final = ("submitted", "working")


class A2aSession:
    """Requests to one A2A agent in one runtime session; its coroutines run on the engine's loop.

    Args:
        channel: Carries the messages.
        entry: The agent or server.
        writer: Stores requests.
        session_id: The runtime session; an id of Loom's for other servers.
        qualifier: The endpoint.
        labels: Labels to store with every request.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        entry: AgentEntry | ServerEntry,
        writer: InvocationWriter,
        session_id: str,
        qualifier: str = "DEFAULT",
        labels: Sequence[str] = (),
    ) -> None:
        self.entry, self.session_id = entry, session_id
        self._writer, self._qualifier, self._labels = writer, qualifier, tuple(labels)
        self._peer = JsonRpcPeer(channel, name=entry.name, on_request=_refuse, on_notification=_ignore)

    async def open(self, *, timeout_s: float | None = None) -> None:
        """Connect; A2A has no handshake."""
        del timeout_s
        await self._peer.open()

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        prompt: str,
        timeout_s: float | None = None,
        on_event: Callable[[A2aEvent], object] | None = None,
        labels: Sequence[str] = (),
    ) -> CallOutcome:
        """Send a request, store it with the messages received; the outcome's result is `{"results": […]}`.

        Args:
            method: `message/send`, `message/stream`, `tasks/get` or `tasks/cancel`.
            params: Its parameters.
            prompt: What is stored as the prompt.
            timeout_s: The limit from sending to the end of the response, in seconds.
            on_event: Called with each result, on the engine's loop.
            labels: Labels to store with the call, beside the session's.

        Raises:
            ValueError: `timeout_s` is not above 0; nothing is stored.
        """
        call = MeasuredCall(
            InvocationRequest(
                agent=self.entry,
                payload=make_payload(prompt, {"method": method, "params": dict(params)}),
                session_id=self.session_id,
                qualifier=self._qualifier,
                timeout_s=timeout_s,
                labels=(*self._labels, *labels),
                headers=with_trace({}),
            ),
            self._writer,
        )
        results: list[Mapping[str, Any]] = []

        def take(result: Mapping[str, Any]) -> bool:
            results.append(result)
            event = read_event(result)
            if on_event is not None:
                on_event(event)
            return method != "message/stream" or event.is_final

        async def send() -> Mapping[str, Any]:
            await self._peer.request(method, params, call=call, on_result=take)
            return {"results": results}

        outcome = await measure(call, send, lambda _result: _read(results, method))
        return CallOutcome(record=outcome.record, result={"results": results}, events=outcome.events)

    async def ask(
        self, prompt: str, payload: Mapping[str, Any] | None, *, timeout_s: float | None, labels: Sequence[str] = ()
    ) -> CallOutcome:
        """Send a message and wait for the result.

        Args:
            prompt: The message's text.
            payload: The parameters of message/send, sent instead.
            timeout_s: The limit of the request, in seconds; None for no limit.
            labels: Labels stored with the invocation.
        """
        params = dict(payload) if payload else message_params(prompt)
        return await self.call("message/send", params, prompt=prompt, timeout_s=timeout_s, labels=labels)

    async def close(self) -> None:
        """Disconnect."""
        await self._peer.close()


def _read(results: Sequence[Mapping[str, Any]], method: str) -> tuple[str, str | None]:
    task = fold_task(results)
    if method.startswith("tasks/"):
        return task.text, None  # the request succeeded, whatever became of the task
    failure = _FAILED.get(task.state)
    if method == "message/stream" and task.state in _RUNNING and not read_event(results[-1]).is_final:
        failure = "The stream ended before the task did"
    return task.text, None if failure is None else f"{failure}: {task.message}" if task.message else failure


async def _refuse(method: str, _params: Mapping[str, Any], _call: MeasuredCall | None) -> Mapping[str, Any]:
    raise ProtocolError(f"The A2A client has no method {method}", code=METHOD_NOT_FOUND)


def _ignore(_method: str, _params: Mapping[str, Any], _call: MeasuredCall | None) -> None:
    """Drop a notification: A2A has none."""
