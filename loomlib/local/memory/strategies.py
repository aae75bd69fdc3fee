"""Strategies: from what CreateMemory and UpdateMemory are given to what GetMemory shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from loomlib.local.runtimes import new_id
from loomlib.local.wire import invalid

Strategy = dict[str, Any]

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
_HISTORY_WINDOW: Final = 4
_SELF_MANAGED_TRIGGERS: Final = [
    {"messageBasedTrigger": {"messageCount": 6}},
    {"tokenBasedTrigger": {"tokenCount": 5_000}},
    {"timeBasedTrigger": {"idleSessionTimeout": 20}},
]
_MOST_STRATEGIES: Final = 6
"""Strategies of one memory at most, AgentCore's quota."""


def made(given: Mapping[str, Any], moment: float) -> Strategy:
    """The strategy that an entry of `memoryStrategies` describes; `moment` in seconds since 1970."""
    ((kind, definition),) = given.items()
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
        **_kept(definition),
    }


def modified(strategy: Mapping[str, Any], changes: Mapping[str, Any], moment: float) -> Strategy:
    """`strategy` after an entry of `modifyMemoryStrategies`."""
    result = {**strategy, "updatedAt": moment, **_kept(changes)}
    if "description" in changes:
        result["description"] = changes["description"]
    if templates := _templates(changes):
        result["namespaces"] = result["namespaceTemplates"] = templates
    if given := changes.get("configuration"):
        if strategy["type"] not in ("CUSTOM", "EPISODIC"):
            raise invalid(f"{strategy['strategyId']} is a {strategy['type']} strategy, which takes no configuration")
        result["configuration"] = {**strategy.get("configuration", {}), **given}
    if "action" in changes.get("recordExpirySpecification", {}):
        result.pop("recordExpiryDurationDays", None)
    return result


def checked(strategies: Sequence[Strategy]) -> list[Strategy]:
    """The strategies, refused when they cannot be those of one memory."""
    names = [each["name"] for each in strategies]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise invalid(f"A memory's strategies need names of their own: {', '.join(twice)} is there twice")
    if len(names) > _MOST_STRATEGIES:
        raise invalid(f"A memory has at most {_MOST_STRATEGIES} strategies")
    return list(strategies)


def _templates(definition: Mapping[str, Any]) -> list[str]:
    old, new = definition.get("namespaces"), definition.get("namespaceTemplates")
    if old and new and old != new:
        raise invalid("namespaces and namespaceTemplates differ; give namespaceTemplates only")
    return list(new or old or ())


def _kept(definition: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: definition[name] for name in ("memoryRecordSchema",) if name in definition}
    days = definition.get("recordExpirySpecification", {}).get("recordExpiryDurationDays")
    return {**kept, **({"recordExpiryDurationDays": days} if days else {})}


def _configuration(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A custom strategy's configuration, or an episodic one's reflection, in the form of GetMemory's answer."""
    if "reflectionConfiguration" in definition:
        return {"reflection": {"episodicReflectionConfiguration": _both_names(definition["reflectionConfiguration"])}}
    if not (given := definition.get("configuration")):
        return {}
    ((kind, parts),) = given.items()
    result: dict[str, Any] = {"type": _OVERRIDES[kind]}
    if kind == "selfManagedConfiguration":
        result[kind] = {
            "triggerConditions": _SELF_MANAGED_TRIGGERS,
            "historicalContextWindowSize": _HISTORY_WINDOW,
            **parts,
        }
        return result
    word = kind.removesuffix("Override")
    for part, content in parts.items():
        step = part.capitalize()
        inner = {f"{word}{step}Override": _both_names(content) if part == "reflection" else content}
        result[part] = {f"custom{step}Configuration": inner}
    return result


def _both_names(reflection: Mapping[str, Any]) -> dict[str, Any]:
    templates = _templates(reflection)
    return {**reflection, **({"namespaces": templates, "namespaceTemplates": templates} if templates else {})}
