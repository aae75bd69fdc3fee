"""What a step's model answered, read by the default parser or by the agent's Lambda function."""

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
    """What the pre-processing says of a request.

    Attributes:
        is_valid: Whether the agent acts on it.
        rationale: Why.
    """

    is_valid: bool
    rationale: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingChoice:
    """What the routing classifier says of a request.

    Attributes:
        kind: Whether a collaborator takes it over, the same one as before, or none alone.
        collaborator: The collaborator's name, of the kind "agent".
    """

    kind: Literal["agent", "last agent", "undecided"]
    collaborator: str = ""


def check_of(raw: str) -> RequestCheck:
    """Read the answer of the pre-processing: a category in a tag, and the thoughts before it."""
    category = _tagged(raw, "category").strip().upper()
    return RequestCheck(is_valid=category[:1] in _VALID, rationale=_tagged(raw, "thinking").strip())


def answer_of(raw: str) -> str:
    """Read the answer of the post-processing, or of a knowledge base's: what is in its tag, else all of it."""
    pieces = re.split(_TAG.format("text"), raw)[1:] if "<answer_part>" in raw else []
    parts = [inside.strip() for inside, closing, _ in (piece.partition("</text>") for piece in pieces) if closing]
    tagged = "\n".join(parts) or _tagged(raw, "final_response") or _tagged(raw, "answer")
    return (tagged or raw).strip()


def routing_of(raw: str, names: frozenset[str]) -> RoutingChoice:
    """Read the answer of the routing classifier: a name in a tag.

    Args:
        raw: The model's answer.
        names: The names of the collaborators.
    """
    name = _tagged(raw, "a").strip()
    if name == _KEPT:
        return RoutingChoice(kind="last agent")
    return RoutingChoice(kind="agent", collaborator=name) if name in names else RoutingChoice(kind="undecided")


def parsed_check(payload: str) -> RequestCheck:
    """Read a parser's answer for PRE_PROCESSING.

    Raises:
        RefusedError: It lacks the documented form (424).
    """
    answer = _parsed(payload, "preProcessingParsedResponse")
    is_valid = answer.get("isValidInput")
    if not isinstance(is_valid, bool):
        raise dependency_failed("The parser's answer has no preProcessingParsedResponse.isValidInput that is a boolean")
    return RequestCheck(is_valid=is_valid, rationale=str(answer.get("rationale") or ""))


def parsed_answer(payload: str, kind: str) -> str:
    """Read a parser's answer for POST_PROCESSING or KNOWLEDGE_BASE_RESPONSE_GENERATION.

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
    """Return what stands in a tag; a text with many tags that never end takes no longer than another one."""
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
