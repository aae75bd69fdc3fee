"""The room that answers model calls: one of the registered models, behind Bedrock's Converse and ConverseStream."""

from __future__ import annotations

from collections.abc import AsyncIterator

from loomlib.local.models.json_values import JsonObject, as_object
from loomlib.local.models.registry import ConverseModel, make_model


class ModelRoom:
    """Answers Converse requests with the model of that name.

    `profile` is the latency profile of a simulated model, `model_url` the address of a real one, such as
    `http://127.0.0.1:11434/v1`. Raises `PluginError` for an unknown model and `ModelRefused` for an unknown profile.
    """

    def __init__(self, *, model: str = "scripted", profile: str = "instant", model_url: str | None = None) -> None:
        self._model: ConverseModel = make_model(model, profile, model_url)

    @property
    def simulated(self) -> bool:
        """Whether answers and times are made up; whatever shows a number says so."""
        return self._model.simulated

    @property
    def label(self) -> str:
        """Such as "scripted (simulated, profile instant)"."""
        return self._model.label

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """The JSON body of a Converse response; `request` is the parsed body. Raises `ModelRefused`."""
        return await self._model.converse(model_id, as_object(request))

    def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        """The frames of a ConverseStream response, one an item.

        `ModelRefused` comes from this call or before the first frame, so wait for that frame before sending a status;
        whatever fails later is an exception frame inside the stream.
        """
        return self._model.converse_stream(model_id, as_object(request))

    async def close(self) -> None:
        """Let go of connections."""
        await self._model.close()
