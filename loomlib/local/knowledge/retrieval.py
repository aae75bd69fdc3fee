"""Retrieve, and RetrieveAndGenerate with citations."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from loomlib.embeddings.stemming import stem

from ..guardrails import GuardedModel, GuardrailPlane
from ..guardrails.assessing import assess
from ..models import ConverseModel, ModelRefusedError
from ..models.json_values import JsonObject, as_list, as_object, as_text
from ..models.reply import encode_event
from ..paging import page_request
from ..resources import Place
from ..resources.store import ResourceStore
from ..wire import EncodedStream, RefusedError, invalid, not_implemented
from .filters import check_filter, matches
from .ingestion import find_base
from .store import KnowledgeStore, RankedPassage

_RESULTS: Final = 5  # AWS's default
_MOST_SESSIONS: Final = 1_000
_MOST_MESSAGES: Final = 20
_TOOL: Final = "knowledge_base"
_SYSTEM: Final = (
    "Answer the question from the search results only. Say so if they do not answer it. Write one short paragraph."
)
_WITHOUT_TOOL: Final = {"textPromptTemplate": "$query$\n\nSearch results:\n\n$search_results$"}
_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]+)*[.!?]*\s*")
_WORD: Final = re.compile(r"[^\W_]+")
_SHARED_WORDS: Final = 0.5
"""Share of a sentence's words that a passage must contain to be cited for it."""


class RetrievalPlane:
    """Answers questions from knowledge bases.

    Args:
        resources: The knowledge bases.
        store: Their documents.
        models: Writes answers.
        guardrails: The guardrails that requests name.
    """

    def __init__(
        self, resources: ResourceStore, store: KnowledgeStore, models: ConverseModel, guardrails: GuardrailPlane
    ) -> None:
        self._resources, self._store, self._models, self._guardrails = resources, store, models, guardrails
        self._sessions: OrderedDict[tuple[Place, str], list[object]] = OrderedDict()

    async def retrieve(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Return the passages that best answer a question."""
        if parameters.get("guardrailConfiguration"):
            raise not_implemented("guardrails of Retrieve")
        query: Mapping[str, Any] = parameters["retrievalQuery"] or {}
        question: str = query.get("text") or ""
        if not question:
            raise invalid("retrievalQuery.text is missing")
        request = page_request(parameters, "Retrieve", int)
        start: int = request.after[0] + 1 if request.after else 0
        passages, size = await self.search(
            parameters["knowledgeBaseId"], question, parameters.get("retrievalConfiguration"), place, start
        )
        page = {"retrievalResults": [_result(passage) for passage in passages[start : start + size]]}
        if len(passages) > start + size:
            page["nextToken"] = cast("Any", request.token([start + size - 1]))
        return page

    async def retrieve_and_generate(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Answer a question from a knowledge base, with citations."""
        configuration: Mapping[str, Any] = parameters.get("retrieveAndGenerateConfiguration") or {}
        if not configuration:
            raise invalid("retrieveAndGenerateConfiguration is missing")
        if configuration["type"] != "KNOWLEDGE_BASE":
            raise not_implemented("RetrieveAndGenerate from external sources")
        knowledge = configuration.get("knowledgeBaseConfiguration")
        if not knowledge:
            raise invalid("knowledgeBaseConfiguration is missing: the type KNOWLEDGE_BASE requires it")
        session = parameters.get("sessionId") or str(uuid.uuid4())
        if parameters.get("sessionId") and (place, session) not in self._sessions:
            raise invalid(f"Session {session} does not exist")
        question: str = parameters["input"]["text"]
        passages, size = await self.search(
            knowledge["knowledgeBaseId"], question, knowledge.get("retrievalConfiguration"), place, 0
        )
        passages = passages[:size]
        generation: Mapping[str, Any] = knowledge.get("generationConfiguration") or {}
        history = self._sessions.get((place, session), [])
        request = _request(question, passages, generation, history)
        find = partial(self._guardrails.version, place=place)
        try:
            model, model_id = GuardedModel(self._models, find), _model_id(knowledge["modelArn"])
            answer = await model.converse(model_id, request)
            if answer.get("stopReason") == "tool_use":  # the model would search again: ask it without the tool
                request = _request(question, passages, {**generation, "promptTemplate": _WITHOUT_TOOL}, history)
                answer = await model.converse(model_id, request)
        except ModelRefusedError as refused:
            raise RefusedError(refused.code, refused.status, refused.message) from refused
        message = as_object(as_object(answer.get("output")).get("message"))
        text = "".join(as_text(as_object(block).get("text")) for block in as_list(message.get("content")))
        intervened = answer.get("stopReason") == "guardrail_intervened"
        admitted: str | None = question
        if guardrail := generation.get("guardrailConfiguration"):
            version = find(guardrail["guardrailId"], guardrail["guardrailVersion"])
            assessment = await asyncio.to_thread(assess, version, [question], "INPUT")
            admitted = None if assessment.blocked else assessment.masked_texts[0]
        exchange: list[object] = []
        if admitted is not None:
            exchange = [
                {"role": "user", "content": [{"text": admitted}]},
                {"role": "assistant", "content": [{"text": text or "-"}]},
            ]
        history = self._sessions.get((place, session), [])  # again: other questions were answered meanwhile
        self._sessions[place, session] = [*history, *exchange][-_MOST_MESSAGES:]
        self._sessions.move_to_end((place, session))
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        result = {"sessionId": session, "output": {"text": text}, "citations": citations_of(text, passages)}
        guarded = {"guardrailAction": "INTERVENED" if intervened else "NONE"}
        return {**result, **guarded} if generation.get("guardrailConfiguration") else result

    async def retrieve_and_generate_stream(self, parameters: Mapping[str, Any], place: Place) -> EncodedStream:
        """Answer as RetrieveAndGenerate does, in events; the answer comes in one, once it is complete."""
        answer = await self.retrieve_and_generate(parameters, place)
        frames = [encode_event("output", answer["output"])]
        frames += [encode_event("citation", citation) for citation in answer["citations"]]
        if action := answer.get("guardrailAction"):
            frames.append(encode_event("guardrail", {"action": action}))
        header = (b"x-amzn-bedrock-knowledge-base-session-id", answer["sessionId"].encode())
        return EncodedStream(b"".join(frames), [header])

    async def search(
        self, key: str, question: str, configuration: Mapping[str, Any] | None, place: Place, start: int = 0
    ) -> tuple[list[RankedPassage], int]:
        """Return the best passages (up to one more than requested, to detect a next page) and the number requested.

        Args:
            key: A knowledge base's id or ARN.
            question: The query text.
            configuration: The member `retrievalConfiguration` of a request.
            place: The caller's region and account.
            start: The number of passages on earlier pages.
        """
        base = find_base(self._resources, key, place)
        options: Mapping[str, Any] = configuration or {}
        search: Mapping[str, Any] = (
            options.get("vectorSearchConfiguration") or options.get("managedSearchConfiguration") or {}
        )
        for member, feature in {
            "implicitFilterConfiguration": "filters that a model writes",
            "rerankingConfiguration": "reranking of passages by a model",
        }.items():
            if search.get(member):
                raise not_implemented(feature)
        size: int = search.get("numberOfResults") or _RESULTS
        if condition := search.get("filter"):
            check_filter(condition)
        passages = await asyncio.to_thread(
            self._store.search,
            base.id,
            question,
            k=start + size + 1,
            hybrid=search.get("overrideSearchType") != "SEMANTIC",
            wanted=(lambda metadata: matches(metadata, condition)) if condition else None,
        )
        return passages, size


def _request(
    question: str, passages: Sequence[RankedPassage], generation: Mapping[str, Any], history: list[object]
) -> JsonObject:
    """Return the request to the model that writes the answer; a guardrail assesses only the question in it.

    With a template that does not contain `$query$`, it assesses the whole request.
    """
    prompt: Mapping[str, Any] = generation.get("promptTemplate") or {}
    template: str = prompt.get("textPromptTemplate") or ""
    results = [passage.text for passage in passages]
    asked = {"guardContent": {"text": {"text": question}}}
    request: JsonObject = {"system": [{"text": _SYSTEM}]}
    if template:
        content: list[object] = []
        for at, part in enumerate(template.split("$query$")):
            content += [asked] if at else []
            text = part.replace("$search_results$", "\n\n".join(results))
            content += [{"text": text}] if text.strip() else []
        request["messages"] = [*history, {"role": "user", "content": content}]
    else:
        call = {"toolUseId": "search", "name": _TOOL, "input": {"query": question}}
        tool_result = {
            "toolUseId": "search",
            "content": [{"text": text} for text in results] or [{"text": "No results."}],
        }
        request["messages"] = [
            *history,
            {"role": "user", "content": [asked]},
            {"role": "assistant", "content": [{"toolUse": call}]},
            {"role": "user", "content": [{"toolResult": tool_result}]},
        ]
        schema = {"json": {"type": "object", "properties": {"query": {"type": "string"}}}}
        tool = {"name": _TOOL, "description": "Searches the knowledge base", "inputSchema": schema}
        request["toolConfig"] = {"tools": [{"toolSpec": tool}]}
    limits: Mapping[str, Any] = generation.get("inferenceConfig") or {}
    if inference := limits.get("textInferenceConfig"):
        request["inferenceConfig"] = dict(inference)
    if guardrail := generation.get("guardrailConfiguration"):
        request["guardrailConfig"] = {
            "guardrailIdentifier": guardrail["guardrailId"],
            "guardrailVersion": guardrail["guardrailVersion"],
        }
    return request


def _model_id(arn: str) -> str:
    return arn.rpartition("/")[2]


def _result(passage: RankedPassage) -> dict[str, Any]:
    return {**reference_of(passage), "score": round(passage.score, 6)}


def reference_of(passage: RankedPassage) -> dict[str, Any]:
    """Return a passage as a reference of an answer."""
    document = passage.document
    is_s3 = document.kind == "S3"
    location: dict[str, Any] = (
        {"type": "S3", "s3Location": {"uri": document.address}}
        if is_s3
        else {"type": "CUSTOM", "customDocumentLocation": {"id": document.address}}
    )
    return {
        "content": {"type": "TEXT", "text": passage.text},
        "location": location,
        "metadata": {
            **document.metadata,
            "x-amz-bedrock-kb-source-uri": document.address,
            "x-amz-bedrock-kb-chunk-id": str(passage.chunk),
            "x-amz-bedrock-kb-data-source-id": document.source,
        },
    }


def citations_of(answer: str, passages: Sequence[RankedPassage]) -> list[dict[str, Any]]:
    """Cite for each sentence of an answer the passages that contain most of its words.

    Args:
        answer: The answer.
        passages: What was found for it.
    """
    words = [{stem(word) for word in _WORD.findall(passage.text.lower())} for passage in passages]
    citations: list[dict[str, Any]] = []
    for match in _SENTENCE.finditer(answer):
        sentence_words = {stem(word) for word in _WORD.findall(match[0].lower())}
        if not sentence_words:
            continue
        cited = [
            passage
            for passage, passage_words in zip(passages, words, strict=True)
            if len(sentence_words & passage_words) / len(sentence_words) >= _SHARED_WORDS
        ]
        text = match[0].rstrip()
        span = {"start": match.start(), "end": match.start() + len(text) - 1}
        citations.append(
            {
                "generatedResponsePart": {"textResponsePart": {"text": text, "span": span}},
                "retrievedReferences": [reference_of(passage) for passage in cited],
            }
        )
    return citations
