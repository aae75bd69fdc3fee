"""The scripted model behind Converse: a latency profile decides when each part of the reply is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Final

from ..json_values import JsonObject, as_object
from ..profiles import LatencyProfile, Timing, find_profile
from ..refusals import invalid
from ..reply import Reply, body_of, metadata_frame, stream_of
from .apart import LongRequests
from .script import script

_PROFILE_FIELD: Final = "loom_profile"


class ScriptedModel:
    """A simulated model with deterministic replies, timed by a latency profile: the service's, or the request's own.

    A request chooses a profile with a model id that ends in `@profile`, or with
    `additionalModelRequestFields={"loom_profile": …}`, which takes precedence.
    """

    simulated = True

    def __init__(self, *, profile: str = "instant") -> None:
        self._profile = find_profile(profile)
        self._long_requests = LongRequests()
        script()  # loaded now, so that the first request is not slower than the others

    @property
    def label(self) -> str:
        """Provenance label, such as "scripted (simulated, profile instant)"."""
        return f"scripted (simulated, profile {self._profile.name})"

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """Answer a Converse request, after the delay of the profile."""
        began_s = asyncio.get_running_loop().time()
        reply, profile, timing = await self._answer(model_id, request)
        if not profile.is_instant:
            await _until(began_s + (timing.first_token_ms + timing.token_ms * reply.output_tokens) / 1000)
        return body_of(reply, (asyncio.get_running_loop().time() - began_s) * 1000)

    async def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        """Answer a ConverseStream request, frame by frame, at the pace of the profile."""
        began_s = asyncio.get_running_loop().time()
        # A refusal comes before the first frame, so that it is an HTTP error and not a broken stream.
        reply, profile, timing = await self._answer(model_id, request)
        for sent_tokens, frame in stream_of(reply):
            if not profile.is_instant:
                await _until(began_s + (timing.first_token_ms + timing.token_ms * max(0, sent_tokens - 1)) / 1000)
            yield frame
        yield metadata_frame(reply, (asyncio.get_running_loop().time() - began_s) * 1000)

    async def close(self) -> None:
        """End the process that answers long requests."""
        await self._long_requests.close()

    async def _answer(self, model_id: str, request: JsonObject) -> tuple[Reply, LatencyProfile, Timing]:
        profile = self._profile_for(model_id, request)
        answer = await self._long_requests.reply(model_id, request)
        additional: Mapping[str, object] = {"loom": {"simulated": True, "model": "scripted", "profile": profile.name}}
        reply = replace(answer.reply, additional=additional)
        timing = profile.timing(input_tokens=answer.input_tokens, calls_tools=bool(reply.calls), digest=answer.digest)
        return reply, profile, timing

    def _profile_for(self, model_id: str, request: JsonObject) -> LatencyProfile:
        requested = as_object(request.get("additionalModelRequestFields")).get(_PROFILE_FIELD)
        if requested is not None and not isinstance(requested, str):
            raise invalid(f"additionalModelRequestFields.{_PROFILE_FIELD} must be text.")
        _, marked, suffix = model_id.rpartition("@")
        name = requested if requested is not None else suffix if marked else None
        return self._profile if name is None else find_profile(name)


async def _until(deadline: float) -> None:
    """Sleep until a time on the loop's clock; sleeping for differences would accumulate errors."""
    wait = deadline - asyncio.get_running_loop().time()
    if wait > 0:
        await asyncio.sleep(wait)
