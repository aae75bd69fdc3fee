"""Where one actor's memory can be read as another's, or already lies there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from ...aws.memory_shapes import MemoryStrategy
from ..namespaces import PLACEHOLDERS
from .crossed import find_crossed
from .finding import Finding, MemoryEvidence
from .scan import MemoryScan

Tenant = Callable[[str], str]


def tenant_of(actor_id: str) -> str:
    """The tenant of a composite actor id such as `acme:anna` (the platform design's); empty where it names none.

    >>> tenant_of("acme:anna"), tenant_of("anna")
    ('acme', '')
    """
    return actor_id.partition(":")[0] if ":" in actor_id else ""


def find_leaks(scan: MemoryScan, *, tenant: Tenant = tenant_of) -> Iterator[Finding]:
    """Templates that keep actors no place of their own, paths that reach into others', and records in a wrong place."""
    yield from _templates(scan, tenant)
    yield from _collisions(scan, tenant)
    yield from find_crossed(scan, tenant)


def crosses_tenants(first: str, second: str, tenant: Tenant) -> bool:
    """Whether two actors are of two tenants."""
    return bool(tenant(first) and tenant(second)) and tenant(first) != tenant(second)


def _templates(scan: MemoryScan, tenant: Tenant) -> Iterator[Finding]:
    tenants = {each for actor in scan.actors if (each := tenant(actor))}
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
    lies = f"; records of {len(writers)} actors lie in it" if len(writers) > 1 else ""
    records = [record for name in names[:5] for record in scan.namespaces[name][-3:]]
    return Finding(
        kind="leak",
        severity="problem" if is_used else "warning",
        what=f"the namespace {template} of {strategy.name} names no {{actorId}}: all actors' records go there{lies}",
        count=max(1, sum(len(scan.namespaces[name]) for name in names)),
        evidence=tuple(map(scan.of_record, records))
        or (MemoryEvidence(id=strategy.strategy_id, what="strategy", said=template),),
        fix=f"give the strategy a namespace with {{actorId}}, such as {template.rstrip('/')}/{{actorId}}/, "
        "and move the records",
        crosses_tenants=is_used and are_tenants,
    )


def _unclosed(template: str, name: str) -> Finding:
    return Finding(
        kind="leak",
        severity="warning",
        what=f"the namespace {template} of {name} has no slash at its end: read as a prefix, user-1 takes in user-10",
        evidence=(MemoryEvidence(id=name, what="strategy", said=template),),
        fix=f"end it with a slash: {template}/",
    )


def _inside(scan: MemoryScan, template: str, strategy_id: str) -> list[str]:
    return [
        name
        for name, owner in scan.owners.items()
        if owner is not None and owner.template == template and owner.strategy_id == strategy_id
    ]


def _writers(scan: MemoryScan, names: list[str]) -> set[str]:
    """Whose the records there are, as far as their sources are told."""
    found: set[str] = set()
    for name in names:
        for record in scan.namespaces[name]:
            found |= {actor for each in record.stated_sources if (actor := scan.actor_of_event.get(each))}
    return found


def _shares_sessions(scan: MemoryScan) -> bool:
    """Whether two actors have a session of the same id."""
    of: defaultdict[str, set[str]] = defaultdict(set)
    for event in scan.events:
        of[event.session_id].add(event.actor_id)
    return any(len(actors) > 1 for actors in of.values())


def _collisions(scan: MemoryScan, tenant: Tenant) -> Iterator[Finding]:
    """Namespaces of which one, read as a path or as a prefix, takes in another actor's."""
    owned = sorted(
        (name, owner.actor_id) for name, owner in scan.owners.items() if owner is not None and owner.actor_id
    )
    told: set[tuple[str, str]] = set()
    for (short, whose), (longer, other) in _starting_alike(owned):
        if whose == other or (whose, other) in told:
            continue
        told.add((whose, other))
        is_below = longer.startswith(short.rstrip("/") + "/")
        how = "lies below it, and a read by namespacePath takes it in" if is_below else "begins with the same letters"
        yield Finding(
            kind="leak",
            severity="problem",
            what=f"the namespace {short} of {whose} reaches into another actor's: {longer} of {other} {how}",
            count=2,
            evidence=(
                *(scan.of_record(each) for each in scan.namespaces[short][-1:]),
                *(scan.of_record(each) for each in scan.namespaces[longer][-1:]),
            ),
            fix="read by `namespace` (exact), not by path"
            + (", and give actors ids without a slash" if is_below else f"; end the template with a slash: {short}/"),
            crosses_tenants=crosses_tenants(whose, other, tenant),
        )
    placeholders = {f"{{{each}}}" for each in PLACEHOLDERS}
    for name in scan.namespaces:
        if any(each in name for each in placeholders):
            yield Finding(
                kind="leak",
                severity="problem",
                what=f"the namespace {name} has a placeholder that was never filled in: all actors share it",
                count=len(scan.namespaces[name]),
                evidence=tuple(scan.of_record(each) for each in scan.namespaces[name][-3:]),
                fix="fill the placeholders in before BatchCreateMemoryRecords, and move the records",
            )


def _starting_alike(owned: list[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Pairs, of names in their order, of which the second begins as the first does."""
    open_: list[tuple[str, str]] = []
    for current in owned:
        while open_ and not current[0].startswith(open_[-1][0]):
            open_.pop()
        yield from ((each, current) for each in open_)
        open_.append(current)
