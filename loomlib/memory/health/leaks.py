"""Finds namespaces that let one actor's records be read by another, and records in the wrong namespace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from ...aws.memory_shapes import MemoryStrategy
from ...presentation.formats import plural
from ..namespaces import has_placeholder
from .crossed import find_crossed
from .finding import Finding, MemoryEvidence
from .scan import MemoryScan

Tenant = Callable[[str], str]


def tenant_of(actor_id: str) -> str:
    """Return the tenant of a composite actor id such as `acme:anna`, or an empty string.

    Examples:
        >>> tenant_of("acme:anna"), tenant_of("anna")
        ('acme', '')
    """
    return actor_id.partition(":")[0] if ":" in actor_id else ""


def find_leaks(scan: MemoryScan, *, tenant: Tenant = tenant_of) -> Iterator[Finding]:
    """Yield findings on shared templates, on namespaces that include another actor's, and on misplaced records.

    Args:
        scan: The memory's records and events.
        tenant: Returns the tenant of an actor id.
    """
    yield from _templates(scan, tenant)
    yield from _collisions(scan, tenant)
    yield from find_crossed(scan, tenant)


def crosses_tenants(first: str, second: str, tenant: Tenant) -> bool:
    """Return whether two actors belong to two tenants.

    Args:
        first: An actor id.
        second: Another actor id.
        tenant: Returns the tenant of an actor id.
    """
    return bool(tenant(first) and tenant(second)) and tenant(first) != tenant(second)


def _templates(scan: MemoryScan, tenant: Tenant) -> Iterator[Finding]:
    tenants = {name for actor in scan.actors if (name := tenant(actor))}
    for strategy in scan.memory.strategies:
        for template in strategy.namespaces:
            if "{actorId}" in template:
                if not template.endswith("/"):
                    yield _unclosed(template, strategy.name)
                continue
            if "{sessionId}" not in template or _shares_sessions(scan):
                yield _shared(scan, template, strategy, len(tenants) > 1)


def _shared(scan: MemoryScan, template: str, strategy: MemoryStrategy, are_tenants: bool) -> Finding:
    names = _inside(scan, template, strategy.strategy_id)
    writers = _writers(scan, names)
    is_used = len(writers) > 1 or (len(scan.actors) > 1 and bool(names))
    stored = f"; it has records of {plural(len(writers), 'actor')}" if len(writers) > 1 else ""
    records = [record for name in names[:5] for record in scan.namespaces[name][-3:]]
    return Finding(
        kind="leak",
        severity="problem" if is_used else "warning",
        what=f"the namespace {template} of {strategy.name} has no {{actorId}}, so all actors share it{stored}",
        count=max(1, sum(len(scan.namespaces[name]) for name in names)),
        evidence=tuple(map(scan.record_evidence, records))
        or (MemoryEvidence(id=strategy.strategy_id, what="strategy", excerpt=template),),
        fix=f"give the strategy a namespace with {{actorId}}, such as {template.rstrip('/')}/{{actorId}}/, "
        "and move the records",
        crosses_tenants=is_used and are_tenants,
    )


def _unclosed(template: str, name: str) -> Finding:
    return Finding(
        kind="leak",
        severity="warning",
        what=f"the namespace {template} of {name} has no slash at the end: read as a prefix, user-1 includes user-10",
        evidence=(MemoryEvidence(id=name, what="strategy", excerpt=template),),
        fix=f"add a slash at the end: {template}/",
    )


def _inside(scan: MemoryScan, template: str, strategy_id: str) -> list[str]:
    return [
        name
        for name, owner in scan.owners.items()
        if owner is not None and owner.template == template and owner.strategy_id == strategy_id
    ]


def _writers(scan: MemoryScan, names: list[str]) -> set[str]:
    """Return the actors whose events are stated sources of the records in these namespaces."""
    writers: set[str] = set()
    for name in names:
        for record in scan.namespaces[name]:
            writers |= {actor for event in record.stated_sources if (actor := scan.actor_of_event.get(event))}
    return writers


def _shares_sessions(scan: MemoryScan) -> bool:
    """Return whether two actors have sessions with the same id."""
    actors_of: defaultdict[str, set[str]] = defaultdict(set)
    for event in scan.events:
        actors_of[event.session_id].add(event.actor_id)
    return any(len(actors) > 1 for actors in actors_of.values())


def _collisions(scan: MemoryScan, tenant: Tenant) -> Iterator[Finding]:
    """Yield namespaces that, read as a path or prefix, include another actor's, and unfilled placeholders."""
    owned = sorted(
        (name, owner.actor_id) for name, owner in scan.owners.items() if owner is not None and owner.actor_id
    )
    reported: set[tuple[str, str]] = set()
    for (short, actor), (longer, other) in _prefix_pairs(owned):
        if actor == other or (actor, other) in reported:
            continue
        reported.add((actor, other))
        is_below = longer.startswith(short.rstrip("/") + "/")
        how = "a read by namespacePath returns both" if is_below else "it is a prefix of the other"
        yield Finding(
            kind="leak",
            severity="problem",
            what=f"the namespace {short} of {actor} includes {longer} of {other}: {how}",
            count=2,
            evidence=(
                *(scan.record_evidence(record) for record in scan.namespaces[short][-1:]),
                *(scan.record_evidence(record) for record in scan.namespaces[longer][-1:]),
            ),
            fix="read by `namespace` (exact), not by `namespacePath`"
            + (", and use actor ids without a slash" if is_below else f"; end the template with a slash: {short}/"),
            crosses_tenants=crosses_tenants(actor, other, tenant),
        )
    for name in scan.namespaces:
        if has_placeholder(name):
            yield Finding(
                kind="leak",
                severity="problem",
                what=f"the namespace {name} has a placeholder that was never filled in, so all actors share it",
                count=len(scan.namespaces[name]),
                evidence=tuple(scan.record_evidence(record) for record in scan.namespaces[name][-3:]),
                fix="fill the placeholders in before BatchCreateMemoryRecords, and move the records",
            )


def _prefix_pairs(owned: list[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Yield pairs of sorted namespaces of which the first is a prefix of the second."""
    open_: list[tuple[str, str]] = []
    for current in owned:
        while open_ and not current[0].startswith(open_[-1][0]):
            open_.pop()
        yield from ((shorter, current) for shorter in open_)
        open_.append(current)
