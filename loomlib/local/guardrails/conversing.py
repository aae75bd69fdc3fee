"""Guardrails around a model: `guardrailConfig` of Converse and ConverseStream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from botocore.eventstream import EventStreamBuffer

from ..models import ConverseModel
from ..models.json_values import JsonObject, as_list, as_object, as_text
from ..models.reply import encode_event
from ..wire import invalid
from .assessing import GuardrailVersion, TextAssessment, assess

FindGuardrail = Callable[[str, str], GuardrailVersion]
"""Returns a version of a guardrail by its id or ARN and its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """The texts of a request that are assessed, and where they are."""

    blocks: list[JsonObject] = field(default_factory=list[JsonObject])
    sources: list[str] = field(default_factory=list[str])
    queries: list[str] = field(default_factory=list[str])


class GuardedModel:
    """A model with guardrails, for requests that name one.

    Tool results, tool definitions and the arguments of tool calls are not assessed, as on AWS.

    Args:
        model: The model.
        find: Returns a guardrail.
    """

    def __init__(self, model: ConverseModel, find: FindGuardrail) -> None:
        self._model, self._find = model, find

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """Answer Converse; see `ConverseModel.converse`."""
        guard = self._guard(request)
        texts, plain = _split(request)
        if guard is None:
            return await self._model.converse(model_id, plain)
        input_assessment = await guard.input(texts)
        if input_assessment.blocked:
            return guard.blocked_answer()
        answer = await self._model.converse(model_id, plain)
        message = as_object(as_object(answer.get("output")).get("message"))
        blocks = [block for block in map(as_object, as_list(message.get("content"))) if "text" in block]
        output_assessment = await guard.output([as_text(block["text"]) for block in blocks], texts)
        if output_assessment.blocked:
            message["content"] = [{"text": output_assessment.outputs[0]}]
        else:
            for block, text in zip(blocks, output_assessment.masked_texts, strict=True):
                block["text"] = text
        if output_assessment.blocked or output_assessment.masked:
            answer["stopReason"] = "guardrail_intervened"
        return {**answer, **guard.trace()}

    async def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        """Answer ConverseStream; see `ConverseModel.converse_stream`.

        In the mode `sync` the answer is withheld until it is assessed; AWS withholds one part at a time. In the mode
        `async` it is not masked, and text sent before a block cannot be withdrawn.
        """
        guard = self._guard(request)
        texts, plain = _split(request)
        if guard is None:
            async for frame in self._model.converse_stream(model_id, plain):
                yield frame
            return
        input_assessment = await guard.input(texts)
        if input_assessment.blocked:
            for frame in guard.blocked_frames():
                yield frame
            return
        passes_on = as_object(request.get("guardrailConfig")).get("streamProcessingMode") == "async"
        withheld_frames: list[bytes] = []
        answer: dict[int, str] = {}
        last = -1
        async for frame in self._model.converse_stream(model_id, plain):
            kind, payload = _event(frame)
            if kind == "contentBlockDelta" and "text" in (delta := as_object(payload["delta"])):
                index = cast(int, payload["contentBlockIndex"])
                answer[index] = answer.get(index, "") + as_text(delta["text"])
            if kind.startswith("contentBlock"):
                last = max(last, cast(int, payload["contentBlockIndex"]))
            if kind == "metadata":
                yield encode_event("metadata", {**payload, **guard.trace()})
            elif kind == "messageStop":
                output_assessment = await guard.output(list(answer.values()), texts)
                intervened = output_assessment.blocked or (output_assessment.masked and not passes_on)
                if output_assessment.blocked:
                    if not passes_on:
                        yield withheld_frames[0]
                    for event in _text_frames(last + 1 if passes_on else 0, output_assessment.outputs[0]):
                        yield event
                elif output_assessment.masked and not passes_on:
                    masked_texts = dict(zip(answer, output_assessment.masked_texts, strict=True))
                    for event in _masked_frames(withheld_frames, masked_texts):
                        yield event
                else:
                    for event in withheld_frames:
                        yield event
                yield encode_event(kind, {**payload, "stopReason": "guardrail_intervened"} if intervened else payload)
            elif passes_on or not kind:
                yield frame
            else:
                withheld_frames.append(frame)

    def _guard(self, request: JsonObject) -> _Guard | None:
        configuration = as_object(request.get("guardrailConfig"))
        if not configuration:
            return None
        key, version = (as_text(configuration.get(f"guardrail{name}")) for name in ("Identifier", "Version"))
        if not key or not version:
            raise invalid("guardrailConfig requires guardrailIdentifier and guardrailVersion")
        return _Guard(self._find(key, version), as_text(configuration.get("trace")))


class _Guard:
    """The assessments of one call."""

    def __init__(self, guardrail: GuardrailVersion, trace: str) -> None:
        self._guardrail, self._trace = guardrail, trace
        self._input: TextAssessment | None = None
        self._outputs: list[TextAssessment] = []

    async def input(self, texts: _Texts) -> TextAssessment:
        """Assess the request, and mask its sensitive parts."""
        input_texts = [as_text(block["text"]) for block in texts.blocks]
        self._input = assessment = await asyncio.to_thread(assess, self._guardrail, input_texts, "INPUT")
        for block, text in zip(texts.blocks, assessment.masked_texts, strict=True):
            block["text"] = text
        return assessment

    async def output(self, answer: list[str], texts: _Texts) -> TextAssessment:
        """Assess the answer."""
        grounding = {"sources": texts.sources, "query": "\n".join(texts.queries)}
        assessed = await asyncio.to_thread(assess, self._guardrail, answer, "OUTPUT", **cast("Any", grounding))
        self._outputs.append(assessed)
        return assessed

    def blocked_answer(self) -> JsonObject:
        """Return the response to a blocked request, for which no model is called."""
        return {
            "output": {"message": {"role": "assistant", "content": [{"text": self._message}]}},
            "stopReason": "guardrail_intervened",
            "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0},
            "metrics": {"latencyMs": self._latency_ms},
            **self.trace(),
        }

    def blocked_frames(self) -> Iterator[bytes]:
        """Yield the response to a blocked request as a stream."""
        yield encode_event("messageStart", {"role": "assistant"})
        yield from _text_frames(0, self._message)
        yield encode_event("messageStop", {"stopReason": "guardrail_intervened"})
        usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        metrics = {"latencyMs": self._latency_ms}
        yield encode_event("metadata", {"usage": usage, "metrics": metrics, **self.trace()})

    def trace(self) -> JsonObject:
        """Return the member `trace`, if the caller requested it."""
        if self._trace not in ("enabled", "enabled_full"):
            return {}
        full, key = self._trace == "enabled_full", self._guardrail.id
        assessments = [item for item in (self._input, *self._outputs) if item is not None]
        acting = next((item for item in reversed(assessments) if item.blocked or item.masked), assessments[-1])
        guardrail_trace: JsonObject = {"actionReason": acting.reason}
        if self._input is not None:
            guardrail_trace["inputAssessment"] = {key: self._input.document(full=full)}
        if self._outputs:
            guardrail_trace["modelOutput"] = [text for item in self._outputs for text in item.texts]
            guardrail_trace["outputAssessments"] = {key: [item.document(full=full) for item in self._outputs]}
        return {"trace": {"guardrail": guardrail_trace}}

    @property
    def _message(self) -> str:
        return self._guardrail.blocked_message("INPUT")

    @property
    def _latency_ms(self) -> int:
        return round(self._input.latency_ms) if self._input else 0


def _split(request: JsonObject) -> tuple[_Texts, JsonObject]:
    """Return the texts that a guardrail assesses, and the request for the model, without `guardContent` blocks.

    If there are `guardContent` blocks, only these are assessed; otherwise all text of the messages. A system prompt is
    assessed only in such blocks.
    """
    guarded, texts = _Texts(), _Texts()
    plain = {name: value for name, value in request.items() if name != "guardrailConfig"}
    plain["messages"] = [
        {**message, "content": _plain_blocks(as_list(message.get("content")), guarded, texts)}
        for message in map(as_object, as_list(request.get("messages")))
    ]
    if "system" in request:
        plain["system"] = _plain_blocks(as_list(request["system"]), guarded, _Texts())
    marked = guarded.blocks or guarded.sources or guarded.queries
    return guarded if marked else texts, plain


def _plain_blocks(blocks: list[object], guarded: _Texts, texts: _Texts) -> list[object]:
    plain: list[object] = []
    for entry in blocks:
        block = as_object(entry)
        if "guardContent" in block:
            content = as_object(as_object(block["guardContent"]).get("text"))
            if not content:
                raise invalid("guardContent requires text: guardrails for images are not implemented here")
            text, qualifiers = as_text(content.get("text")), as_list(content.get("qualifiers"))
            own: JsonObject = {"text": text}
            guarded.sources.extend([text] * ("grounding_source" in qualifiers))
            guarded.queries.extend([text] * ("query" in qualifiers))
            if not qualifiers or "guard_content" in qualifiers:
                guarded.blocks.append(own)
            plain.append(own)
        elif "text" in block:
            own = {**block}
            texts.blocks.append(own)
            plain.append(own)
        else:
            plain.append(entry)
    return plain


def _event(frame: bytes) -> tuple[str, JsonObject]:
    """Return a frame's kind and payload; the kind is "" for the error that ends a stream."""
    buffer = EventStreamBuffer()
    buffer.add_data(frame)
    message = next(iter(buffer))
    headers = cast("dict[str, object]", message.headers)
    if ":event-type" not in headers:
        return "", {}
    return str(headers[":event-type"]), as_object(json.loads(message.payload))


def _text_frames(index: int, text: str) -> Iterator[bytes]:
    yield encode_event("contentBlockDelta", {"contentBlockIndex": index, "delta": {"text": text}})
    yield encode_event("contentBlockStop", {"contentBlockIndex": index})


def _masked_frames(frames: list[bytes], masked_texts: dict[int, str]) -> Iterator[bytes]:
    """Yield an answer's frames with its texts masked, each text whole in its block's first part."""
    for frame in frames:
        kind, payload = _event(frame)
        if kind == "contentBlockDelta" and "text" in as_object(payload["delta"]):
            text = masked_texts.pop(cast(int, payload["contentBlockIndex"]), None)
            if text is None:
                continue
            frame = encode_event(kind, {**payload, "delta": {"text": text}})
        yield frame
