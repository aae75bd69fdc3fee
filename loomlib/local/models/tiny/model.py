"""The small model behind Converse: the planner produces structured answers, the model decodes every answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from ..json_values import JsonObject, as_integer, as_text
from ..refusals import ModelRefusedError, invalid
from ..reply import Reply, body_of, encode_exception, metadata_frame
from ..request import ConverseRequest, read_request
from ..scripted.apart import LongRequests
from .cache import PromptCache
from .frames import GrowingReply, grammar_of
from .packages import TINY_LABEL, check_packages
from .prompt import Prompt, read_prompt
from .sampling import sampling_of
from .server import TinyServer
from .settings import TinySettings

_STOP_REASONS: Final = {"limit": "max_tokens", "word": "stop_sequence"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Newly decoded text, and the complete reply at the end of the answer."""

    text: str
    growing: GrowingReply
    end: Reply | None = None


class TinyModel:
    """A model of 135 million parameters, computed by llama.cpp on this machine.

    The scripted planner produces tool calls and other structured answers, which are decoded token by token; the model
    chooses the words of the other answers. Requests beyond `slots` wait in order.

    Args:
        settings: Its limits.

    Raises:
        LocalServiceError: The extra `tiny-model` is not installed.
    """

    simulated = False
    label = f"tiny ({TINY_LABEL})"

    def __init__(self, settings: TinySettings | None = None) -> None:
        self._settings = settings or TinySettings()
        self._server = TinyServer(check_packages(), self._settings)
        self._cache = PromptCache(self._server, self._settings)
        self._planner = LongRequests()
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(self._settings.slots):
            self._free.put_nowait(slot)
        self._waiting = 0

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """Answer a Converse request."""
        began_s = asyncio.get_running_loop().time()
        end = Reply()
        async for part in self._answer(model_id, request):
            for _ in part.growing.feed(part.text):
                pass
            if part.end is not None:
                end = replace(part.end, text=part.growing.text, calls=tuple(part.growing.calls))
        return body_of(end, (asyncio.get_running_loop().time() - began_s) * 1000)

    async def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        """Answer a ConverseStream request, each token as it is decoded."""
        began_s = asyncio.get_running_loop().time()
        has_begun = False
        try:
            async for part in self._answer(model_id, request):
                for frame in _frames(part):
                    has_begun = True
                    yield frame
                if part.end is not None:
                    yield metadata_frame(part.end, (asyncio.get_running_loop().time() - began_s) * 1000)
        except ModelRefusedError as error:
            if not has_begun:
                raise
            yield encode_exception("modelStreamErrorException", error.message)

    async def close(self) -> None:
        """End the processes of the model and the planner."""
        await self._planner.close()
        await self._server.close()

    async def _answer(self, model_id: str, body: JsonObject) -> AsyncGenerator[_Part]:
        request = read_request(model_id, body)
        sampling = sampling_of(request)
        prompt = await read_prompt(
            self._server, body, self._settings
        )  # first, because it refuses requests that are too long to plan
        planned = (await self._planner.reply(model_id, body)).reply
        own = planned.is_prose
        growing = GrowingReply(None if own else planned)
        if not own:
            if not growing.planned_text:
                raise invalid("The limits of the request leave no room for an answer.")
            sampling = {"grammar": grammar_of(growing.planned_text), "temperature": 0}
        async with self._slot() as slot:
            cached = await self._cache.prepare(prompt, slot)
            payload = {
                **sampling,
                "prompt": prompt.tokens,
                "id_slot": slot,
                "cache_prompt": cached is not None and bool(cached.read or cached.written),
                "n_predict": self._budget(request, prompt),
            }
            last: JsonObject = {}
            async for event in self._server.write(payload):
                last = event
                if text := as_text(event.get("content")):
                    yield _Part(text=text, growing=growing)
        stop = as_text(last.get("stop_type"))
        natural = "end_turn" if own else planned.stop_reason
        read_tokens, write_tokens = (cached.read, cached.written) if cached is not None else (None, None)
        end = Reply(
            stop_reason=_STOP_REASONS.get(stop, natural),
            input_tokens=len(prompt.tokens) - (read_tokens or 0) - (write_tokens or 0),
            output_tokens=as_integer(last.get("tokens_predicted")) or 0,
            cache_read_tokens=read_tokens,
            cache_write_tokens=write_tokens,
            additional={"loom": {"simulated": not own, "model": "tiny", "label": TINY_LABEL}},
        )
        yield _Part(text="", growing=growing, end=end)

    def _budget(self, request: ConverseRequest, prompt: Prompt) -> int:
        output_tokens = request.max_tokens or self._settings.default_output_tokens
        return max(1, min(output_tokens, self._settings.context_tokens - len(prompt.tokens)))

    @asynccontextmanager
    async def _slot(self) -> AsyncGenerator[int]:
        if self._free.empty() and self._waiting >= self._settings.queued:
            raise ModelRefusedError(
                "ThrottlingException",
                f"{self._waiting} requests are already waiting for the small model. Wait a moment and try again.",
            )
        self._waiting += 1
        try:
            slot = await self._free.get()
        finally:
            self._waiting -= 1
        try:
            yield slot
        finally:
            self._free.put_nowait(slot)


def _frames(part: _Part) -> Iterator[bytes]:
    yield from part.growing.feed(part.text)
    if part.end is not None:
        yield from part.growing.finish(part.end.stop_reason, dict(part.end.additional or {}))
