"""Parsing of a step's model response, by the default parser or by the agent's Lambda function."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from .actions import dependency_failed

_TAG: Final = r"<{0}\b[^<>]*>"
_VALID: Final = ("D", "E")
"""The categories of requests that an agent acts on (Bedrock user guide, "advanced prompts": pre-processing)."""

_KEPT: Final = "keep_previous_agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCheck:
    """The result of the pre-processing of a request.

    Attributes:
        is_valid: Whether the agent acts on it.
        rationale: The reason.
    """

    is_valid: bool
    rationale: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingChoice:
    """The result of the routing classifier for a request.

    Attributes:
        kind: "agent" for a collaborator, "last agent" for the previous one, "undecided" if no single one fits.
        collaborator: The collaborator's name, for the kind "agent".
    """

    kind: Literal["agent", "last agent", "undecided"]
    collaborator: str = ""


def check_of(raw: str) -> RequestCheck:
    """Read the pre-processing response: a category in a tag, and the reasoning before it."""
    category = _tagged(raw, "category").strip().upper()
    return RequestCheck(is_valid=category[:1] in _VALID, rationale=_tagged(raw, "thinking").strip())


def answer_of(raw: str) -> str:
    """Read the response of post-processing or of knowledge base generation: the text in its tag, or all of it."""
    pieces = re.split(_TAG.format("text"), raw)[1:] if "<answer_part>" in raw else []
    parts = [inside.strip() for inside, closing, _ in (piece.partition("</text>") for piece in pieces) if closing]
    tagged = "\n".join(parts) or _tagged(raw, "final_response") or _tagged(raw, "answer")
    return (tagged or raw).strip()


def routing_of(raw: str, names: frozenset[str]) -> RoutingChoice:
    """Read the response of the routing classifier: a name in a tag.

    Args:
        raw: The model's response.
        names: The names of the collaborators.
    """
    name = _tagged(raw, "a").strip()
    if name == _KEPT:
        return RoutingChoice(kind="last agent")
    return RoutingChoice(kind="agent", collaborator=name) if name in names else RoutingChoice(kind="undecided")


def parsed_check(payload: str) -> RequestCheck:
    """Read a parser's result for PRE_PROCESSING.

    Raises:
        RefusedError: It lacks the documented form (424).
    """
    answer = _parsed(payload, "preProcessingParsedResponse")
    is_valid = answer.get("isValidInput")
    if not isinstance(is_valid, bool):
        raise dependency_failed("The parser's answer has no boolean preProcessingParsedResponse.isValidInput")
    return RequestCheck(is_valid=is_valid, rationale=str(answer.get("rationale") or ""))


def parsed_answer(payload: str, kind: str) -> str:
    """Read a parser's result for POST_PROCESSING or KNOWLEDGE_BASE_RESPONSE_GENERATION.

    Raises:
        RefusedError: It lacks the documented form (424).
    """
    if kind == "POST_PROCESSING":
        return str(_parsed(payload, "postProcessingParsedResponse").get("responseText") or "")
    answer = _object(_parsed(payload, "knowledgeBaseResponseGenerationParsedResponse").get("generatedResponse"))
    parts: object = answer.get("generatedResponseParts")
    listed = cast("list[Any]", parts) if isinstance(parts, list) else []
    return "\n".join(str(_object(part).get("text") or "") for part in listed)


def _tagged(text: str, tag: str) -> str:
    """Return the text in a tag; the time is linear even for many tags that are not closed."""
    opening = re.search(_TAG.format(tag), text)
    inside, closing, _ = text[opening.end() if opening else len(text) :].partition(f"</{tag}>")
    return inside if closing else ""


def _parsed(payload: str, member: str) -> dict[str, Any]:
    answer = _object(json.loads(payload))
    value: object = answer.get(member)
    if not isinstance(value, Mapping):
        raise dependency_failed(f"The parser's answer has no {member}")
    return cast("dict[str, Any]", value)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
