"""Namespaces and their templates: which records belong to an actor, and which actor a record belongs to.

A template such as `/facts/{actorId}/` is filled in when a record is written. Names match as a whole: the records of
`user-1` never include those of `user-10`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ..aws.memory_shapes import MemoryDescription, MemoryRecord, MemoryStrategy

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")  # a memory may have namespace keys of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceOwner:
    """The actor and session of a namespace, as far as its template names them (else empty).

    Attributes:
        template: The template that the namespace matches.
        strategy_id: The strategy of that template.
        actor_id: The actor, or empty.
        session_id: The session, or empty.
    """

    template: str
    strategy_id: str = ""
    actor_id: str = ""
    session_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLocation:
    """Where to list the records of a template.

    Attributes:
        template: The template, possibly filled in; empty for a plain namespace or path.
        namespace: The namespace to list exactly.
        path: The path to list with everything below it; `holds` then selects the records.
    """

    template: str
    namespace: str | None = None
    path: str | None = None

    def holds(self, record: MemoryRecord) -> bool:
        """Return whether a namespace of the record matches the template."""
        return any(_pattern(self.template).fullmatch(namespace) for namespace in record.namespaces)


def fill_template(template: str, **values: str) -> str:
    """Fill in the placeholders that have a value.

    Examples:
        >>> fill_template("/facts/{actorId}/{sessionId}/", actorId="anna")
        '/facts/anna/{sessionId}/'
    """
    return _PLACEHOLDER.sub(lambda match: values.get(match[1]) or match[0], template)


def has_placeholder(namespace: str) -> bool:
    """Return whether a namespace has a placeholder, such as `{actorId}` or a namespace key of the memory."""
    return _PLACEHOLDER.search(namespace) is not None


def location_of(template: str) -> RecordLocation | None:
    """Return where to list the records of a template, or None when it begins with a placeholder.

    Examples:
        >>> location_of("/facts/anna/{sessionId}/").path
        '/facts/anna/'
    """
    match = _PLACEHOLDER.search(template)
    if match is None:
        return RecordLocation(template=template, namespace=template)
    path = template[: template.rfind("/", 0, match.start()) + 1]
    return RecordLocation(template=template, path=path) if path else None


def owner_of(namespace: str, strategies: Iterable[MemoryStrategy]) -> NamespaceOwner | None:
    """Return the owner of a namespace by the templates of these strategies, or None when none matches.

    Of several matching templates, one that names the actor and the session wins.
    """
    owners: list[NamespaceOwner] = []
    for strategy in strategies:
        for template in strategy.namespaces:
            full = fill_template(template, memoryStrategyId=strategy.strategy_id)
            match = _pattern(full).fullmatch(namespace) or _pattern(full, True).fullmatch(namespace)
            if match is not None:
                values = match.groupdict()
                owners.append(
                    NamespaceOwner(
                        template=template,
                        strategy_id=strategy.strategy_id,
                        actor_id=values.get("actorId") or "",
                        session_id=values.get("sessionId") or "",
                    )
                )
    return max(owners, key=lambda owner: (bool(owner.actor_id), bool(owner.session_id)), default=None)


def actor_locations(memory: MemoryDescription, actor_id: str) -> list[RecordLocation]:
    """Return where an actor's records are, by the strategies' templates that name the actor."""
    locations: dict[str, RecordLocation] = {}
    for strategy in memory.strategies:
        for template in strategy.namespaces:
            if "{actorId}" in template:
                full = fill_template(template, actorId=actor_id, memoryStrategyId=strategy.strategy_id)
                if (location := location_of(full)) is not None:
                    locations[full] = location
    return list(locations.values())


def all_paths(memory: MemoryDescription, actors: Callable[[], Iterable[str]]) -> list[str]:
    """Return paths that together contain every record whose namespace can be known, none within another.

    Args:
        memory: The memory.
        actors: Returns the actors' ids; only called for templates with `{actorId}` before the first slash.
    """
    starts: set[str] = {"/"}
    for strategy in memory.strategies:
        for template in strategy.namespaces:
            full = fill_template(template, memoryStrategyId=strategy.strategy_id)
            is_of_actors = "{actorId}" in full.partition("/")[0]
            for namespace in [fill_template(full, actorId=actor) for actor in actors()] if is_of_actors else [full]:
                if first := _PLACEHOLDER.split(namespace, maxsplit=1)[0].partition("/")[0]:
                    starts.add(first)
    return sorted(starts)


@lru_cache(maxsize=4096)
def _pattern(template: str, with_slashes: bool = False) -> re.Pattern[str]:
    """Compile a template: a placeholder matches one name between slashes; a slash at the end is optional.

    With `with_slashes`, actor ids may contain slashes. It is tried after the strict pattern.
    """
    parts: list[str] = []
    end, names = 0, set[str]()
    for match in _PLACEHOLDER.finditer(template):
        name = match[1]
        parts.append(re.escape(template[end : match.start()]))
        value = ".*[^/]" if with_slashes and name == "actorId" else "[^/]+"
        parts.append(f"(?P={name})" if name in names else f"(?P<{name}>{value})")
        names.add(name)
        end = match.end()
    parts.append(re.escape(template[end:].rstrip("/")) + "/?")
    return re.compile("".join(parts))
