"""Requests in a model's own format, put to a model that answers Converse."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Protocol, cast

from botocore.eventstream import EventStreamBuffer

from loomlib.local.wire import RefusedError

from ..json_values import JsonObject, as_object
from ..registry import ConverseModel
from ..reply import encode_event
from .anthropic import AnthropicFormat
from .embedding import answer_embedding, is_embedding
from .nova import NovaFormat


class NativeFormat(Protocol):
    """One request in a model's own format."""

    def request(self) -> JsonObject:
        """Return the request in Converse's form."""
        ...

    def answer(self, converse: JsonObject, message_id: str) -> JsonObject:
        """Return a Converse answer in the model's own format."""
        ...

    def events(self, kind: str, payload: JsonObject, message_id: str) -> Iterator[Mapping[str, object]]:
        """Yield the events of the model's own format for one of ConverseStream.

        Args:
            kind: The kind of the ConverseStream event, such as contentBlockDelta.
            payload: The event's content.
            message_id: The id of the whole answer.
        """
        ...


async def invoke_model(models: ConverseModel, model_id: str, body: object, request_id: str) -> JsonObject:
    """Answer InvokeModel.

    Args:
        models: The model.
        model_id: The model that is asked for.
        body: The parsed body.
        request_id: Id of the request.

    Raises:
        ModelRefusedError: The request fails with an error of AWS.
        RefusedError: The format is not known (501).
    """
    if is_embedding(model_id):
        return await asyncio.to_thread(answer_embedding, model_id, as_object(body))
    form = _format(model_id, as_object(body))
    return form.answer(await models.converse(model_id, form.request()), f"msg_bdrk_{request_id}")


async def invoke_model_stream(
    models: ConverseModel, model_id: str, body: object, request_id: str
) -> AsyncIterator[bytes]:
    """Answer InvokeModelWithResponseStream, frame by frame.

    Args:
        models: The model.
        model_id: The model that is asked for.
        body: The parsed body.
        request_id: Id of the request.

    Raises:
        ModelRefusedError: The request fails, before the first frame.
        RefusedError: The format is not known (501).
    """
    form = _format(model_id, as_object(body))
    async for frame in models.converse_stream(model_id, form.request()):
        buffer = EventStreamBuffer()
        buffer.add_data(frame)
        for message in buffer:
            headers = cast("Mapping[str, object]", message.headers)
            if ":event-type" not in headers:
                yield frame  # the error that ends the stream
                continue
            payload = as_object(json.loads(message.payload))
            for event in form.events(str(headers[":event-type"]), payload, f"msg_bdrk_{request_id}"):
                text = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")
                yield encode_event("chunk", {"bytes": base64.b64encode(text).decode()})


def _format(model_id: str, body: JsonObject) -> NativeFormat:
    """Return the format of a request: its body's own, else that of the model it names."""
    if "anthropic_version" in body or ("anthropic." in model_id and "messages" in body):
        return AnthropicFormat(model_id, body)
    if "schemaVersion" in body or ("amazon.nova" in model_id and "messages" in body):
        return NovaFormat(body)
    raise RefusedError(
        "NotImplementedException",
        501,
        f"The local AgentCore does not implement InvokeModel in the format of {model_id} yet, only in Anthropic's "
        "messages format, in Amazon Nova's, and of Titan's and Cohere's text embeddings; Converse works with every "
        "model id",
    )
