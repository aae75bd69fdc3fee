"""Requests in a model's own format, answered by a model that supports Converse."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Protocol, cast

from botocore.eventstream import EventStreamBuffer

from loomlib.local.wire import RefusedError

from ..json_values import JsonObject, as_object
from ..refusals import invalid
from ..reply import encode_event
from .anthropic import AnthropicFormat
from .embedding import answer_embedding, is_embedding
from .guarding import guarded_request, guardrail_members, read_guardrail, without_intervention
from .llama import LlamaFormat
from .nova import NovaFormat


class AnsweringModel(Protocol):
    """A model that answers requests in Converse's form, with or without guardrails."""

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """Answer Converse; see `ConverseModel.converse`."""
        ...

    def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        """Answer ConverseStream; see `ConverseModel.converse_stream`."""
        ...


class NativeFormat(Protocol):
    """One request in a model's own format."""

    def request(self) -> JsonObject:
        """Return the request in Converse's form."""
        ...

    def answer(self, converse: JsonObject, message_id: str) -> JsonObject:
        """Return a Converse response in the model's own format."""
        ...

    def events(self, kind: str, payload: JsonObject, message_id: str) -> Iterator[Mapping[str, object]]:
        """Yield the events in the model's own format for an event of ConverseStream.

        Args:
            kind: The kind of the ConverseStream event, such as contentBlockDelta.
            payload: The event's content.
            message_id: The id of the whole message.
        """
        ...


async def invoke_model(
    models: AnsweringModel, model_id: str, body: object, request_id: str, headers: Mapping[bytes, bytes]
) -> JsonObject:
    """Answer InvokeModel.

    Args:
        models: The model, behind guardrails.
        model_id: The model that is asked for.
        body: The parsed body.
        request_id: Id of the request.
        headers: The request's headers, which may name a guardrail.

    Raises:
        ModelRefusedError: The request fails with an error of AWS.
        RefusedError: The format is not known (501).
    """
    guardrail, own = read_guardrail(headers, as_object(body))
    if is_embedding(model_id):
        if guardrail:
            raise invalid(f"{model_id} does not support guardrails: it creates embeddings")
        return await asyncio.to_thread(answer_embedding, model_id, own)
    form = _format(model_id, own)
    if not guardrail:
        return form.answer(await models.converse(model_id, form.request()), f"msg_bdrk_{request_id}")
    converse = await models.converse(model_id, guarded_request(form.request(), guardrail))
    members = guardrail_members(converse.get("stopReason"), converse.get("trace"))
    return {**form.answer(without_intervention(converse), f"msg_bdrk_{request_id}"), **members}


async def invoke_model_stream(
    models: AnsweringModel, model_id: str, body: object, request_id: str, headers: Mapping[bytes, bytes]
) -> AsyncIterator[bytes]:
    """Answer InvokeModelWithResponseStream, frame by frame; the last frame contains the guardrail's result.

    Args:
        models: The model, behind guardrails.
        model_id: The model that is asked for.
        body: The parsed body.
        request_id: Id of the request.
        headers: The request's headers, which may name a guardrail.

    Raises:
        ModelRefusedError: The request fails, before the first frame.
        RefusedError: The format is not known (501).
    """
    guardrail, own = read_guardrail(headers, as_object(body))
    if is_embedding(model_id):
        raise invalid(f"{model_id} does not support streaming: it creates embeddings; try InvokeModel")
    form = _format(model_id, own)
    request = guarded_request(form.request(), guardrail) if guardrail else form.request()
    stop_reason: object = None
    async for frame in models.converse_stream(model_id, request):
        buffer = EventStreamBuffer()
        buffer.add_data(frame)
        for message in buffer:
            names = cast("Mapping[str, object]", message.headers)
            if ":event-type" not in names:
                yield frame  # the error that ends the stream
                continue
            kind, payload = str(names[":event-type"]), as_object(json.loads(message.payload))
            stop_reason = payload.get("stopReason", stop_reason)
            events = list(form.events(kind, without_intervention(payload), f"msg_bdrk_{request_id}"))
            if guardrail and kind == "metadata":
                events[-1] = {**events[-1], **guardrail_members(stop_reason, payload.get("trace"))}
            for event in events:
                text = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")
                yield encode_event("chunk", {"bytes": base64.b64encode(text).decode()})


def _format(model_id: str, body: JsonObject) -> NativeFormat:
    """Return the format of a request: from its body, otherwise from the model that it names."""
    if "anthropic_version" in body or ("anthropic." in model_id and "messages" in body):
        return AnthropicFormat(model_id, body)
    if "schemaVersion" in body or ("amazon.nova" in model_id and "messages" in body):
        return NovaFormat(body)
    if "meta.llama" in model_id:
        return LlamaFormat(body)
    raise RefusedError(
        "NotImplementedException",
        501,
        f"The local AgentCore does not implement InvokeModel in the format of {model_id} yet, only in Anthropic's "
        "messages format, in Amazon Nova's, in Meta Llama's, and of Titan's and Cohere's text embeddings; Converse "
        "works with every model id",
    )
