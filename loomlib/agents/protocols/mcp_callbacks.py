"""The user's functions of an MCP client: they answer the server's questions and receive its notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from loomlib.errors import ProtocolError
from loomlib.json_values import as_list, as_mapping, as_text, number_or_none

from .jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from .mcp_values import Callbacks, Elicitation, Sampling, sampling_result
from .measured_call import MeasuredCall
from .schemas import check_arguments

T = TypeVar("T")

_DECLINED: Final = -1
"""The error code of a sampling request that the user declined, as in the protocol's specification."""


class CallbackRunner:
    """Runs the user's functions where the caller waits, else in a thread of its own.

    Args:
        callbacks: The functions and the roots.
        name: The agent or server, for messages.

    Attributes:
        callbacks: The functions, and the roots as they are now.
        offers_roots: Whether the session was opened with roots.
    """

    def __init__(self, callbacks: Callbacks, name: str) -> None:
        self.callbacks, self.offers_roots, self._name = callbacks, bool(callbacks.roots), name
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="loom-mcp-callbacks")

    def close(self) -> None:
        """End the thread, without waiting for a function that runs."""
        self._thread.shutdown(wait=False)

    async def answer(self, method: str, params: Mapping[str, Any], call: MeasuredCall | None) -> Mapping[str, Any]:
        """Answer a request of the server.

        Args:
            method: The method.
            params: Its parameters.
            call: The call in whose course it arrived, if it did in one.

        Raises:
            ProtocolError: The client does not offer it, or the user's function failed or declined.
        """
        if method == "ping":
            return {}
        if method == "roots/list" and self.offers_roots:
            return {"roots": self.callbacks.root_values()}
        if method == "elicitation/create":
            return await self._elicit(params, call)
        if method == "sampling/createMessage":
            return await self._sample(params, call)
        raise ProtocolError(f"The client does not offer {method}", on=self._name, code=METHOD_NOT_FOUND)

    async def _elicit(self, params: Mapping[str, Any], call: MeasuredCall | None) -> Mapping[str, Any]:
        callback = self.callbacks.on_elicit
        if callback is None:
            raise self._missing(call, "asks the user a question (elicitation)", "on_elicit=lambda question: {…}")
        question = Elicitation(
            message=as_text(params.get("message")),
            schema=as_mapping(params.get("requestedSchema")),
            mode=as_text(params.get("mode")) or "form",
            url=as_text(params.get("url")),
        )
        answer = await self._ask(call, lambda: callback(question), "on_elicit")
        if answer is None or isinstance(answer, str):
            return {"action": "cancel" if answer == "cancel" else "decline"}
        if question.mode == "url":
            return {"action": "accept"}
        content = dict(as_mapping(answer))
        try:
            check_arguments(content, question.schema, what="The answers of on_elicit", on=question.message)
        except ProtocolError as error:
            self._fail(call, str(error))
            raise ProtocolError(str(error), code=INVALID_PARAMS) from error
        return {"action": "accept", "content": content}

    async def _sample(self, params: Mapping[str, Any], call: MeasuredCall | None) -> Mapping[str, Any]:
        callback = self.callbacks.on_sample
        if callback is None:
            raise self._missing(
                call, "asks for an answer of the client's model (sampling)", "on_sample=lambda request: …"
            )
        request = Sampling(
            messages=[as_mapping(message) for message in as_list(params.get("messages"))],
            system_prompt=as_text(params.get("systemPrompt")),
            max_tokens=int(number_or_none(params.get("maxTokens")) or 0),
            params=params,
        )
        answer = await self._ask(call, lambda: callback(request), "on_sample")
        if answer is None:
            raise ProtocolError("The user declined the sampling request", on=self._name, code=_DECLINED)
        return sampling_result(answer)

    def _missing(self, call: MeasuredCall | None, action: str, try_: str) -> ProtocolError:
        error = ProtocolError(f"The server {action}, and there is no callback", on=self._name, try_=f"mcp({try_})")
        self._fail(call, str(error))
        error.code = METHOD_NOT_FOUND
        return error

    def _fail(self, call: MeasuredCall | None, message: str) -> None:
        if call is not None:
            call.fail("rejected", message)

    async def _ask(self, call: MeasuredCall | None, callback: Callable[[], T], name: str) -> T:
        """Run a callback where the caller waits, and return its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(outcome: T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(outcome)  # type: ignore[arg-type]
            else:
                future.set_exception(error)

        def work() -> None:
            try:
                outcome = callback()
            except Exception as error:  # noqa: BLE001 - the callback is the user's code
                loop.call_soon_threadsafe(settle, None, error)
            else:
                loop.call_soon_threadsafe(settle, outcome, None)

        self._post(call, work)
        try:
            return await future
        except Exception as error:
            message = f"{name} failed: {type(error).__name__}: {error}"
            self._fail(call, message)
            raise ProtocolError(message, on=self._name, code=INTERNAL_ERROR) from error

    def run(self, call: MeasuredCall | None, callback: Callable[[], object]) -> None:
        """Run a notification callback without waiting for it."""

        def work() -> None:
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - the callback is the user's code
                if call is not None:
                    call.fail("rejected", f"A callback failed: {type(error).__name__}: {error}")

        self._post(call, work)

    def _post(self, call: MeasuredCall | None, work: Callable[[], None]) -> None:
        if call is not None and call.run_in_caller is not None:
            call.run_in_caller(work)
        else:
            self._thread.submit(work)
