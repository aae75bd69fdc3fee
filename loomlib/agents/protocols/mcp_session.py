"""An MCP session: handshake, listings, calls with progress, and the server's own questions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from loomlib.errors import InvalidArgumentsError, ProtocolError
from loomlib.json_values import as_list, as_mapping, as_text, number_or_none, parse_object

from ..entry import AgentEntry, ServerEntry
from ..invocation_writer import InvocationWriter
from ..payloads import make_payload
from ..requests import InvocationRequest
from ..trace_context import with_trace
from .channels import Channel
from .http_channel import HttpChannel
from .jsonrpc import JsonRpcPeer
from .mcp_callbacks import CallbackRunner
from .mcp_values import (
    PROTOCOL_VERSIONS,
    Callbacks,
    LogMessage,
    ProgressNotification,
    result_text,
)
from .measured_call import MeasuredCall
from .measuring import CallOutcome, measure

_PAGES: Final = 1_000
_NOTICE_S: Final = 1.0
"""How long a server may take to accept the notification that a call was cancelled."""


class McpSession:
    """One MCP session; its coroutines run on the engine's loop.

    Args:
        channel: Carries the messages.
        entry: The agent or server.
        writer: Stores requests.
        callbacks: What the client does when the server reports or asks.
        session_id: The runtime session; an id of Loom's for other servers.
        qualifier: The endpoint.
        labels: Labels to store with every request.

    Attributes:
        server: The server's `serverInfo`.
        capabilities: The server's capabilities.
        instructions: The server's instructions for a model.
        protocol_version: The version that was agreed on.
        tool_changes: How often the server has notified of a changed list of tools.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        entry: AgentEntry | ServerEntry,
        writer: InvocationWriter,
        callbacks: Callbacks,
        session_id: str,
        qualifier: str = "DEFAULT",
        labels: Sequence[str] = (),
    ) -> None:
        self.channel, self.entry, self._writer = channel, entry, writer
        self.session_id, self._qualifier, self._labels = session_id, qualifier, tuple(labels)
        self._runner = CallbackRunner(callbacks, entry.name)
        self._peer = JsonRpcPeer(
            channel, name=entry.name, on_request=self._runner.answer, on_notification=self._on_notification
        )
        self._progress: dict[int, Callable[[ProgressNotification], object]] = {}
        self.server: Mapping[str, Any] = {}
        self.capabilities: Mapping[str, Any] = {}
        self.instructions = ""
        self.protocol_version = ""
        self.tool_changes = 0

    @property
    def callbacks(self) -> Callbacks:
        """What the client does when the server reports or asks."""
        return self._runner.callbacks

    async def open(self, *, timeout_s: float | None = None) -> CallOutcome:
        """Connect and agree on a protocol version; the request is stored.

        Raises:
            LoomError: The server cannot be reached, or is not an MCP server.
        """
        await self._peer.open()
        params = {
            "protocolVersion": PROTOCOL_VERSIONS[0],
            "capabilities": self.callbacks.capabilities(),
            "clientInfo": {"name": "loom", "version": "1"},
        }
        try:
            outcome = await self.call("initialize", params, prompt="initialize", timeout_s=timeout_s)
        except BaseException:
            await self.close()
            raise
        version = as_text(outcome.result.get("protocolVersion"))
        if version not in PROTOCOL_VERSIONS:
            await self.close()
            has_answered = outcome.record.failure not in ("transport", "timeout")
            reason = outcome.record.error_message or f"it answered with the protocol version {version!r}"
            raise ProtocolError(
                f"The server did not open an MCP session: {reason}",
                on=self.entry.name,
                try_="the address of the MCP endpoint, which often ends in /mcp"
                if has_answered
                else "whether the server runs, and its address",
            )
        self.protocol_version = version
        self.server = as_mapping(outcome.result.get("serverInfo"))
        self.capabilities = as_mapping(outcome.result.get("capabilities"))
        self.instructions = as_text(outcome.result.get("instructions"))
        if isinstance(self.channel, HttpChannel):
            self.channel.headers["Mcp-Protocol-Version"] = version
        await self._peer.notify("notifications/initialized", {})
        self.channel.listen()
        return outcome

    async def connect(self) -> None:
        """Connect without a handshake, which a stateless server does not need."""
        await self._peer.open()
        if isinstance(self.channel, HttpChannel):
            self.channel.headers["Mcp-Protocol-Version"] = PROTOCOL_VERSIONS[0]

    async def list(self, listing: str) -> list[Mapping[str, Any]]:
        """Return all items of a listing, page by page; none when the server does not offer it.

        Args:
            listing: "tools", "resources", "resources/templates" or "prompts".
        """
        if listing.partition("/")[0] not in self.capabilities:
            return []
        key = "resourceTemplates" if listing == "resources/templates" else listing
        items: list[Mapping[str, Any]] = []
        cursor: object = None
        for _ in range(_PAGES):
            page = as_mapping(await self._peer.request(f"{listing}/list", {"cursor": cursor} if cursor else {}))
            items += [as_mapping(item) for item in as_list(page.get(key))]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return items

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Send a request that is not stored, and return its result."""
        return as_mapping(await self._peer.request(method, params))

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        prompt: str,
        timeout_s: float | None = None,
        on_progress: Callable[[ProgressNotification], object] | None = None,
        run_in_caller: Callable[[Callable[[], None]], None] | None = None,
        labels: Sequence[str] = (),
    ) -> CallOutcome:
        """Send a request, store it with the messages received, and return the outcome. Only failures to store raise.

        Args:
            method: The method.
            params: Its parameters.
            prompt: What is stored as the prompt.
            timeout_s: The limit from sending to the result, in seconds.
            on_progress: Called with each progress notification of this request; the session's callback by default.
            run_in_caller: Runs callbacks in the thread that waits; a thread of the session's by default.
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
        call.run_in_caller = run_in_caller
        return await measure(call, lambda: self._send(method, params, call, on_progress), self._read)

    async def set_roots(self, roots: Sequence[str | Path]) -> None:
        """Offer other roots, and notify the server.

        Raises:
            ProtocolError: The session was opened without roots.
        """
        if not self._runner.offers_roots:
            raise ProtocolError(
                "The session offers no roots",
                on=self.entry.name,
                try_="mcp(roots=[…]), offered from the start",
            )
        self._runner.callbacks = replace(self._runner.callbacks, roots=tuple(roots))
        await self._peer.notify("notifications/roots/list_changed", {})

    async def ask(
        self, prompt: str, payload: Mapping[str, Any] | None, *, timeout_s: float | None, labels: Sequence[str] = ()
    ) -> CallOutcome:
        """Call the tool that a payload, or a prompt as JSON, names: `{"tool": …, "arguments": {…}}`.

        Args:
            prompt: The call as JSON, unless there is a payload.
            payload: The call, with the members `tool` and `arguments`.
            timeout_s: The limit of the call, in seconds; None for no limit.
            labels: Labels stored with the invocation.

        Raises:
            InvalidArgumentsError: It names none.
        """
        tool, arguments = tool_call(prompt, payload)
        params = {"name": tool, "arguments": dict(arguments)}
        stored = json.dumps({"tool": tool, "arguments": params["arguments"]}, ensure_ascii=False)
        return await self.call("tools/call", params, prompt=stored, timeout_s=timeout_s, labels=labels)

    async def close(self) -> None:
        """End the session."""
        await self._peer.close()
        self._runner.close()

    async def _send(
        self,
        method: str,
        params: Mapping[str, Any],
        call: MeasuredCall,
        on_progress: Callable[[ProgressNotification], object] | None,
    ) -> Mapping[str, Any]:
        on_progress = on_progress or self.callbacks.on_progress
        request_params: dict[str, Any] = dict(params)
        ids: list[int] = []

        def note(id: int) -> None:
            ids.append(id)
            if method != "initialize" and on_progress is not None:
                self._progress[id] = on_progress
                request_params["_meta"] = {"progressToken": id}

        try:
            return as_mapping(await self._peer.request(method, request_params, call=call, on_sent=note))
        except (asyncio.CancelledError, TimeoutError):
            call.broke_off(time.perf_counter_ns())
            if call.is_sent and method != "initialize":  # the protocol forbids cancelling the handshake
                cancelled = {"requestId": ids[0], "reason": "The caller cancelled"}
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._peer.notify("notifications/cancelled", cancelled, call), _NOTICE_S)
            raise
        finally:
            for id in ids:
                self._progress.pop(id, None)

    def _read(self, result: Mapping[str, Any]) -> tuple[str, str | None]:
        text = result_text(result)
        return text, self._explain(text) if result.get("isError") is True else None

    def _explain(self, text: str) -> str:
        """Return a tool's error, with what to do where the client lacks the callback that the tool needs."""
        lowered = text.lower()
        if "elicit" in lowered and self.callbacks.on_elicit is None:
            return f"{text}. Try: mcp(on_elicit=lambda question: {{…}}) to answer the server's questions"
        if "sampling" in lowered and self.callbacks.on_sample is None:
            return f"{text}. Try: mcp(on_sample=lambda request: …) to answer for the client's model"
        return text or "The tool failed without a message"

    def _on_notification(self, method: str, params: Mapping[str, Any], call: MeasuredCall | None) -> None:
        if method == "notifications/tools/list_changed":
            self.tool_changes += 1
        elif method == "notifications/progress":
            token = params.get("progressToken")
            callback = self._progress.get(token) if isinstance(token, int) else None
            if callback is not None:
                self._runner.run(call, lambda: callback(_progress(params, _at_ms(call))))
        elif method == "notifications/message" and (on_log := self.callbacks.on_log) is not None:
            line = LogMessage(
                level=as_text(params.get("level")) or "info",
                data=params.get("data"),
                logger=as_text(params.get("logger")),
                at_ms=_at_ms(call),
            )
            self._runner.run(call, lambda: on_log(line))


def tool_call(prompt: str, payload: Mapping[str, Any] | None = None) -> tuple[str, Mapping[str, Any]]:
    """Return the tool and the arguments that a payload, or a prompt as JSON, names.

    Args:
        prompt: The call as JSON, unless there is a payload.
        payload: The call, with the members `tool` and `arguments`.

    Raises:
        InvalidArgumentsError: It names none.
    """
    fields = payload or parse_object(prompt)
    tool = as_text(fields.get("tool"))
    if not tool:
        raise InvalidArgumentsError(
            "The request does not name a tool",
            on=json.dumps(dict(fields))[:200] if fields else repr(prompt[:200]),
            try_='{"tool": "add", "arguments": {"a": 1, "b": 2}}, or mcp.eval_target("add")',
            field="tool",
        )
    return tool, as_mapping(fields.get("arguments"))


def _at_ms(call: MeasuredCall | None) -> float:
    offsets = call.line.offsets_ms if call is not None else []
    return offsets[-1] if offsets else 0.0


def _progress(params: Mapping[str, Any], at_ms: float) -> ProgressNotification:
    return ProgressNotification(
        progress=number_or_none(params.get("progress")) or 0.0,
        total=number_or_none(params.get("total")),
        message=as_text(params.get("message")),
        at_ms=at_ms,
    )
