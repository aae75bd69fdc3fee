"""The scripted model as a service: it answers at once, and lets the latency profile decide when each piece is heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

from loomlib.local.models.frames import body_of, metadata_frame, stream_of
from loomlib.local.models.json_values import JsonObject, as_object
from loomlib.local.models.profiles import LatencyProfile, Timing, find_profile
from loomlib.local.models.refusals import invalid
from loomlib.local.models.reply import Reply
from loomlib.local.models.request import ConverseRequest, read_request
from loomlib.local.models.scripted import scripted_reply

_PROFILE_FIELD = "loom_profile"


class ScriptedModel:
    """Deterministic answers, paced by a profile: the service's, or the request's own.

    A request chooses with a model id that ends in `@profile`, or with
    `additionalModelRequestFields={"loom_profile": …}`, which wins over the id.
    """

    simulated = True

    def __init__(self, *, profile: str = "instant") -> None:
        self._profile = find_profile(profile)

    @property
    def label(self) -> str:
        return f"scripted (simulated, profile {self._profile.name})"

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        started = asyncio.get_running_loop().time()
        _, reply, profile, timing = self._answer(model_id, request)
        if not profile.is_instant:
            await _until(started + (timing.first_token_ms + timing.token_ms * reply.output_tokens) / 1000)
        return body_of(reply, (asyncio.get_running_loop().time() - started) * 1000)

    def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        # Answered before the iterator exists, so that a refusal is an HTTP error and not a broken stream.
        return self._paced(*self._answer(model_id, request)[1:])

    async def close(self) -> None:
        return None

    async def _paced(self, reply: Reply, profile: LatencyProfile, timing: Timing) -> AsyncIterator[bytes]:
        started = asyncio.get_running_loop().time()
        for spoken, frame in stream_of(reply):
            if not profile.is_instant:
                await _until(started + (timing.first_token_ms + timing.token_ms * max(0, spoken - 1)) / 1000)
            yield frame
        yield metadata_frame(reply, (asyncio.get_running_loop().time() - started) * 1000)

    def _answer(self, model_id: str, request: JsonObject) -> tuple[ConverseRequest, Reply, LatencyProfile, Timing]:
        profile = self._profile_for(model_id, request)
        read = read_request(model_id, request)
        additional: Mapping[str, object] = {"loom": {"simulated": True, "model": "scripted", "profile": profile.name}}
        reply = replace(scripted_reply(read), additional=additional)
        timing = profile.timing(input_tokens=read.input_tokens, calls_tools=bool(reply.calls), digest=read.digest)
        return read, reply, profile, timing

    def _profile_for(self, model_id: str, request: JsonObject) -> LatencyProfile:
        asked = as_object(request.get("additionalModelRequestFields")).get(_PROFILE_FIELD)
        if asked is not None and not isinstance(asked, str):
            raise invalid(f"additionalModelRequestFields.{_PROFILE_FIELD} must be text.")
        _, marked, suffix = model_id.rpartition("@")
        name = asked if asked is not None else suffix if marked else None
        return self._profile if name is None else find_profile(name)


async def _until(deadline: float) -> None:
    """Sleep until a moment of the loop's clock; sleeping for a difference each time would add up its errors."""
    wait = deadline - asyncio.get_running_loop().time()
    if wait > 0:
        await asyncio.sleep(wait)
