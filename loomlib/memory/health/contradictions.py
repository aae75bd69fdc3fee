"""Find records that contradict each other: two values of one attribute, or a statement affirmed and denied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...aws.memory_shapes import MemoryRecord
from ..displays import safe_id
from .finding import Finding
from .scan import MemoryScan, changed_at
from .statements import StatedFact, agree, stated_facts

_BY_RULE = "inferred (rules on English)"


def find_contradictions(scan: MemoryScan) -> Iterator[Finding]:
    """Yield one finding per attribute; the newest statement counts as the current one.

    Only records of the same namespace are compared. Records in a session's namespace are history and are left out.
    """
    for namespace, records in scan.namespaces.items():
        owner = scan.owners[namespace]
        if owner is not None and owner.session_id:
            continue
        facts: defaultdict[tuple[str, str], list[tuple[MemoryRecord, StatedFact]]] = defaultdict(list)
        for record in records:
            for fact in stated_facts(record.text):
                facts[fact.who, fact.attribute].append((record, fact))
        for (_, attribute), pairs in facts.items():
            last_record, last = max(pairs, key=lambda pair: changed_at(pair[0]))
            others = [
                (record, fact)
                for record, fact in pairs
                if record is not last_record and not agree(attribute, fact.value, last.value)
            ]
            if others:
                yield _finding(scan, namespace, attribute, (last_record, last), others)


def _finding(
    scan: MemoryScan,
    namespace: str,
    attribute: str,
    last: tuple[MemoryRecord, StatedFact],
    others: list[tuple[MemoryRecord, StatedFact]],
) -> Finding:
    name = scan.redacted(attribute)
    values = " and ".join(dict.fromkeys(f"“{scan.redacted(fact.value)}”" for _, fact in [last, *others]))
    description = (
        f"records in {safe_id(namespace)} both affirm and deny: {name}"
        if last[1].value in ("yes", "no")
        else f"records in {safe_id(namespace)} have different values of {name}: {values}"
    )
    old = ", ".join(dict.fromkeys(record.record_id for record, _ in others))
    return Finding(
        kind="contradiction",
        severity="warning",
        what=description,
        certainty=_BY_RULE,
        count=1 + len(others),
        evidence=tuple(scan.record_evidence(record, fact.sentence) for record, fact in [last, *others]),
        fix=f"confirm {last[0].record_id} (the newest) with the actor, then delete or update {old}; "
        "consolidation did not resolve it",
    )
