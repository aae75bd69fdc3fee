"""Namespaces and their templates: which records are an actor's, and whose a record is.

A template such as `/facts/{actorId}/` is filled in when a record is written. The match is by whole names: what
belongs to `user-1` never takes in `user-10`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ..aws.memory_shapes import MemoryDescription, MemoryRecord, MemoryStrategy

PLACEHOLDERS: Final = ("actorId", "sessionId", "memoryStrategyId")
_PLACEHOLDER: Final = re.compile(r"\{(actorId|sessionId|memoryStrategyId)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceOwner:
    """Whose a namespace is, as far as its template tells (empty where it does not)."""

    template: str
    strategy_id: str = ""
    actor_id: str = ""
    session_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLocation:
    """Where to list: `namespace` exactly, or `path` and below; of what is found `holds` tells what is meant."""

    template: str
    namespace: str | None = None
    path: str | None = None

    def holds(self, record: MemoryRecord) -> bool:
        """Whether a record found here is one that the template means."""
        return any(_pattern(self.template).fullmatch(each) for each in record.namespaces)


def fill_template(template: str, **values: str) -> str:
    """The template with the placeholders filled in that have a value.

    >>> filled("/facts/{actorId}/{sessionId}/", actorId="anna")
    '/facts/anna/{sessionId}/'
    """
    return _PLACEHOLDER.sub(lambda found: values.get(found[1]) or found[0], template)


def location_of(template: str) -> RecordLocation | None:
    """Where to list what a template means; None when it begins with a placeholder, so that nowhere is known.

    >>> place_of("/facts/anna/{sessionId}/").path
    '/facts/anna/'
    """
    found = _PLACEHOLDER.search(template)
    if found is None:
        return RecordLocation(template=template, namespace=template)
    path = template[: template.rfind("/", 0, found.start()) + 1]
    return RecordLocation(template=template, path=path) if path else None


def owner_of(namespace: str, strategies: Iterable[MemoryStrategy]) -> NamespaceOwner | None:
    """Whose a namespace is by the templates of these strategies; the most telling template counts."""
    found: list[NamespaceOwner] = []
    for strategy in strategies:
        for template in strategy.namespaces:
            full = fill_template(template, memoryStrategyId=strategy.strategy_id)
            match = _pattern(full).fullmatch(namespace) or _pattern(full, True).fullmatch(namespace)
            if match is not None:
                named = match.groupdict()
                found.append(
                    NamespaceOwner(
                        template=template,
                        strategy_id=strategy.strategy_id,
                        actor_id=named.get("actorId") or "",
                        session_id=named.get("sessionId") or "",
                    )
                )
    return max(found, key=lambda each: (bool(each.actor_id), bool(each.session_id)), default=None)


def actor_locations(memory: MemoryDescription, actor_id: str) -> list[RecordLocation]:
    """Where an actor's records are, by the strategies' templates that name the actor."""
    found: dict[str, RecordLocation] = {}
    for strategy in memory.strategies:
        for template in strategy.namespaces:
            if "{actorId}" in template:
                full = fill_template(template, actorId=actor_id, memoryStrategyId=strategy.strategy_id)
                if (place := location_of(full)) is not None:
                    found[full] = place
    return list(found.values())


def all_paths(memory: MemoryDescription) -> list[str]:
    """Paths that together hold every record whose namespace can be known, none within another."""
    starts: set[str] = {"/"}
    for strategy in memory.strategies:
        for template in strategy.namespaces:
            first = _PLACEHOLDER.split(template, maxsplit=1)[0].partition("/")[0]
            if first and not template.startswith("/"):
                starts.add(first)
    return sorted(starts)


@lru_cache(maxsize=4096)
def _pattern(template: str, with_slashes: bool = False) -> re.Pattern[str]:
    """The template as a pattern: a placeholder is one name between slashes; a slash at the end may be missing.

    Actors may have slashes in their ids; where the strict pattern finds nothing, they may here as well.
    """
    parts: list[str] = []
    at, seen = 0, set[str]()
    for found in _PLACEHOLDER.finditer(template):
        name = found[1]
        parts.append(re.escape(template[at : found.start()]))
        one = ".*[^/]" if with_slashes and name == "actorId" else "[^/]+"
        parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{one})")
        seen.add(name)
        at = found.end()
    parts.append(re.escape(template[at:].rstrip("/")) + "/?")
    return re.compile("".join(parts))
