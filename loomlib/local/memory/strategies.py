"""Memory strategies: conversion of the input of CreateMemory and UpdateMemory to the form that GetMemory returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from loomlib.local.resources import new_id
from loomlib.local.wire import invalid

StrategyDocument = dict[str, Any]

_ACTOR: Final = "/strategies/{memoryStrategyId}/actors/{actorId}/"
_SESSION: Final = _ACTOR + "sessions/{sessionId}/"
_TYPES: Final = {
    "semanticMemoryStrategy": ("SEMANTIC", _ACTOR),
    "summaryMemoryStrategy": ("SUMMARIZATION", _SESSION),
    "userPreferenceMemoryStrategy": ("USER_PREFERENCE", _ACTOR),
    "episodicMemoryStrategy": ("EPISODIC", _SESSION),
    "customMemoryStrategy": ("CUSTOM", _ACTOR),
}
_OVERRIDES: Final = {
    "semanticOverride": "SEMANTIC_OVERRIDE",
    "summaryOverride": "SUMMARY_OVERRIDE",
    "userPreferenceOverride": "USER_PREFERENCE_OVERRIDE",
    "episodicOverride": "EPISODIC_OVERRIDE",
    "selfManagedConfiguration": "SELF_MANAGED",
}
_SELF_MANAGED: Final = "selfManagedConfiguration"
_HISTORY_WINDOW: Final = 4
_SELF_MANAGED_TRIGGERS: Final = [
    {"messageBasedTrigger": {"messageCount": 6}},
    {"tokenBasedTrigger": {"tokenCount": 5_000}},
    {"timeBasedTrigger": {"idleSessionTimeout": 20}},
]
_MOST_STRATEGIES: Final = 6
"""AgentCore's quota of strategies per memory."""


def created(entry: Mapping[str, Any], moment: float) -> StrategyDocument:
    """Return the strategy that an entry of `memoryStrategies` describes.

    Args:
        entry: The entry: one kind of strategy with its definition.
        moment: Time of creation in seconds since 1970.
    """
    ((kind, definition),) = entry.items()
    type_name, default_namespace = _TYPES[kind]
    configuration = _configuration(definition)
    override = configuration.get("type")
    if override in ("SUMMARY_OVERRIDE", "EPISODIC_OVERRIDE"):
        default_namespace = _SESSION
    templates = _templates(definition) or [default_namespace]
    return {
        "strategyId": new_id(definition["name"]),
        "name": definition["name"],
        "type": type_name,
        "namespaces": templates,
        "namespaceTemplates": templates,
        "createdAt": moment,
        "updatedAt": moment,
        "status": "ACTIVE",
        **({"description": definition["description"]} if "description" in definition else {}),
        **({"configuration": configuration} if configuration else {}),
        **_optional(definition),
    }


def modified(strategy: Mapping[str, Any], changes: Mapping[str, Any], moment: float) -> StrategyDocument:
    """Return a strategy as an entry of `modifyMemoryStrategies` changes it.

    Args:
        strategy: The present strategy.
        changes: The entry.
        moment: Time of the change in seconds since 1970.
    """
    result = {**strategy, "updatedAt": moment, **_optional(changes)}
    if "description" in changes:
        result["description"] = changes["description"]
    if templates := _templates(changes):
        result["namespaces"] = result["namespaceTemplates"] = templates
    if configuration := changes.get("configuration"):
        if strategy["type"] not in ("CUSTOM", "EPISODIC"):
            raise invalid(f"{strategy['strategyId']} is a {strategy['type']} strategy, which takes no configuration")
        former: Mapping[str, Any] = strategy.get("configuration", {})
        result["configuration"] = {**former, **configuration}
        if own := configuration.get(_SELF_MANAGED):  # members that it does not name stay
            result["configuration"][_SELF_MANAGED] = {**former.get(_SELF_MANAGED, {}), **own}
    if "action" in changes.get("recordExpirySpecification", {}):
        result.pop("recordExpiryDurationDays", None)
    return result


def checked(strategies: Sequence[StrategyDocument]) -> list[StrategyDocument]:
    """Return the strategies of one memory.

    Raises:
        RefusedError: There are too many, or two have the same name.
    """
    names = [strategy["name"] for strategy in strategies]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise invalid(f"The names of a memory's strategies must differ: {', '.join(twice)} appears twice")
    if len(names) > _MOST_STRATEGIES:
        raise invalid(f"A memory can have at most {_MOST_STRATEGIES} strategies")
    return list(strategies)


def _templates(definition: Mapping[str, Any]) -> list[str]:
    old, new = definition.get("namespaces"), definition.get("namespaceTemplates")
    if old and new and old != new:
        raise invalid("namespaces and namespaceTemplates differ; give namespaceTemplates only")
    return list(new or old or ())


def _optional(definition: Mapping[str, Any]) -> dict[str, Any]:
    members = {name: definition[name] for name in ("memoryRecordSchema",) if name in definition}
    days = definition.get("recordExpirySpecification", {}).get("recordExpiryDurationDays")
    return {**members, **({"recordExpiryDurationDays": days} if days else {})}


def _configuration(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a custom strategy's configuration, or an episodic one's reflection, in GetMemory's form."""
    if "reflectionConfiguration" in definition:
        return {"reflection": {"episodicReflectionConfiguration": _both_names(definition["reflectionConfiguration"])}}
    if not (configuration := definition.get("configuration")):
        return {}
    ((kind, parts),) = configuration.items()
    result: dict[str, Any] = {"type": _OVERRIDES[kind]}
    if kind == _SELF_MANAGED:
        result[kind] = {
            "triggerConditions": _SELF_MANAGED_TRIGGERS,
            "historicalContextWindowSize": _HISTORY_WINDOW,
            **parts,
        }
        return result
    noun = kind.removesuffix("Override")
    for part, content in parts.items():
        step = part.capitalize()
        inner = {f"{noun}{step}Override": _both_names(content) if part == "reflection" else content}
        result[part] = {f"custom{step}Configuration": inner}
    return result


def _both_names(reflection: Mapping[str, Any]) -> dict[str, Any]:
    templates = _templates(reflection)
    return {**reflection, **({"namespaces": templates, "namespaceTemplates": templates} if templates else {})}
