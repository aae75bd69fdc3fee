"""What a strategy is and where its records go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

Kind = Literal["semantic", "summary", "preference", "episodic"]

_KINDS: Final[Mapping[str, Kind]] = {
    "SEMANTIC": "semantic",
    "SUMMARIZATION": "summary",
    "USER_PREFERENCE": "preference",
    "EPISODIC": "episodic",
    "SEMANTIC_OVERRIDE": "semantic",
    "SUMMARY_OVERRIDE": "summary",
    "USER_PREFERENCE_OVERRIDE": "preference",
    "EPISODIC_OVERRIDE": "episodic",
}
_VARIABLE: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A strategy that extracts: `template` and `reflection_template` name places; `prompt` and `model_id` are a
    custom override's, for an extractor that asks a model."""

    id: str
    kind: Kind
    template: str
    reflection_template: str = ""
    expiry_days: int | None = None
    prompt: str = ""
    model_id: str = ""


def strategy_of(shown: Mapping[str, Any]) -> Strategy | None:
    """The strategy that GetMemory shows so; None when it is not active or its owner extracts (self-managed)."""
    configuration: Mapping[str, Any] = shown.get("configuration") or {}
    kind = _KINDS.get(configuration.get("type", "") if shown["type"] == "CUSTOM" else shown["type"])
    templates = shown.get("namespaceTemplates") or shown.get("namespaces") or ()
    if kind is None or shown.get("status", "ACTIVE") != "ACTIVE" or not templates:
        return None
    reflection = _innermost(configuration.get("reflection"))
    override = _innermost(configuration.get("extraction")) or _innermost(configuration.get("consolidation"))
    places = reflection.get("namespaceTemplates") or reflection.get("namespaces") or ()
    return Strategy(
        id=shown["strategyId"],
        kind=kind,
        template=templates[0],
        reflection_template=places[0] if places else "",
        expiry_days=shown.get("recordExpiryDurationDays"),
        prompt=override.get("appendToPrompt", ""),
        model_id=override.get("modelId", ""),
    )


def filled(template: str, strategy_id: str, actor_id: str, session_id: str, variables: Mapping[str, str]) -> str:
    """The namespace that a template stands for.

    Raises KeyError when the template has a variable of which nothing is known: a record must not go to a place that
    others share.
    """
    known = {**variables, "memoryStrategyId": strategy_id, "actorId": actor_id, "sessionId": session_id}
    return _VARIABLE.sub(lambda found: known[found[1]], template)


def _innermost(part: Any) -> Mapping[str, Any]:
    """A configuration's content: AWS wraps it in two unions, `{"custom…Configuration": {"…Override": {…}}}`."""
    content = cast("Mapping[str, Any]", part or {})
    while len(content) == 1 and isinstance(inner := next(iter(content.values())), Mapping):
        content = cast("Mapping[str, Any]", inner)
    return content
