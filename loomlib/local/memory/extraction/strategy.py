"""Extraction strategies, and the namespaces of their records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

StrategyKind = Literal["semantic", "summary", "preference", "episodic"]

_KINDS: Final[Mapping[str, StrategyKind]] = {
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
    """An extraction strategy.

    Attributes:
        id: Its id.
        name: Its name.
        kind: The kind of its records.
        template: The template of its records' namespace.
        reflection_template: The template of its reflections' namespace; empty if it does not reflect.
        expiry_days: After how many days its records expire; None if they do not.
        prompt: A custom override's addition to the prompt of an extracting model.
        model_id: A custom override's model.
    """

    id: str
    name: str
    kind: StrategyKind
    template: str
    reflection_template: str = ""
    expiry_days: int | None = None
    prompt: str = ""
    model_id: str = ""


def strategy_of(document: Mapping[str, Any]) -> Strategy | None:
    """Read a strategy in GetMemory's form; None if it is not active, or self-managed."""
    configuration: Mapping[str, Any] = document.get("configuration") or {}
    kind = _KINDS.get(configuration.get("type", "") if document["type"] == "CUSTOM" else document["type"])
    templates = document.get("namespaceTemplates") or document.get("namespaces") or ()
    if kind is None or document.get("status", "ACTIVE") != "ACTIVE" or not templates:
        return None
    reflection = _innermost(configuration.get("reflection"))
    override = _innermost(configuration.get("extraction")) or _innermost(configuration.get("consolidation"))
    reflections = reflection.get("namespaceTemplates") or reflection.get("namespaces") or ()
    return Strategy(
        id=document["strategyId"],
        name=document["name"],
        kind=kind,
        template=templates[0],
        reflection_template=reflections[0] if reflections else "",
        expiry_days=document.get("recordExpiryDurationDays"),
        prompt=override.get("appendToPrompt", ""),
        model_id=override.get("modelId", ""),
    )


def filled(template: str, strategy_id: str, actor_id: str, session_id: str, variables: Mapping[str, str]) -> str:
    """Fill in the placeholders of a namespace template.

    Args:
        template: Such as `/facts/{actorId}/`.
        strategy_id: The value of `{memoryStrategyId}`.
        actor_id: The value of `{actorId}`.
        session_id: The value of `{sessionId}`.
        variables: Values of the memory's own variables.

    Raises:
        KeyError: The template has an unknown variable. It is not left empty, as a record must not go to a namespace
            that others share.
    """
    values = {**variables, "memoryStrategyId": strategy_id, "actorId": actor_id, "sessionId": session_id}
    return _VARIABLE.sub(lambda variable: values[variable[1]], template)


def _innermost(part: Any) -> Mapping[str, Any]:
    """Return the content of a configuration.

    AWS wraps it in two unions: `{"custom…Configuration": {"…Override": {…}}}`.
    """
    content = cast("Mapping[str, Any]", part or {})
    while len(content) == 1 and isinstance(inner := next(iter(content.values())), Mapping):
        content = cast("Mapping[str, Any]", inner)
    return content
