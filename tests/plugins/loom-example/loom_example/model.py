"""A model that says the last message back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from loomlib.local.models import Reply, body_of, metadata_frame, stream_of


class Parrot:
    simulated = True
    label = "example parrot (simulated)"

    async def converse(self, model_id: str, request: Mapping[str, Any]) -> dict[str, Any]:
        return body_of(_reply(request), 1.0)

    def converse_stream(self, model_id: str, request: Mapping[str, Any]) -> AsyncIterator[bytes]:
        return _frames(_reply(request))

    async def close(self) -> None:
        return None


async def _frames(reply: Reply) -> AsyncIterator[bytes]:
    for _, frame in stream_of(reply):
        yield frame
    yield metadata_frame(reply, 1.0)


def _reply(request: Mapping[str, Any]) -> Reply:
    text = " ".join(part.get("text", "") for part in request["messages"][-1]["content"])
    return Reply(text=f"Polly says: {text}", input_tokens=len(text.split()), output_tokens=2 + len(text.split()))
