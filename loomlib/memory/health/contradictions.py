"""Records of one actor that cannot both hold: another value of the same attribute, or the same affirmed and denied."""

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
    """One finding for each attribute; the newest statement is taken to hold. Summaries of sessions tell former times,
    so only records of the same namespace are compared, and records of a session's namespace not at all."""
    for namespace, records in scan.namespaces.items():
        owner = scan.owners[namespace]
        if owner is not None and owner.session_id:
            continue
        stated: defaultdict[tuple[str, str], list[tuple[MemoryRecord, StatedFact]]] = defaultdict(list)
        for record in records:
            for each in stated_facts(record.text):
                stated[each.who, each.attribute].append((record, each))
        for (_, attribute), found in stated.items():
            last_record, last = max(found, key=lambda each: changed_at(each[0]))
            others = [
                (record, each)
                for record, each in found
                if record is not last_record and not agree(attribute, each.value, last.value)
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
    name = scan.shown(attribute)
    said = " and ".join(dict.fromkeys(f"“{scan.shown(each.value)}”" for _, each in [last, *others]))
    what = (
        f"records in {safe_id(namespace)} both affirm and deny: {name}"
        if last[1].value in ("yes", "no")
        else f"records in {safe_id(namespace)} have different values of {name}: {said}"
    )
    old = ", ".join(dict.fromkeys(record.record_id for record, _ in others))
    return Finding(
        kind="contradiction",
        severity="warning",
        what=what,
        certainty=_BY_RULE,
        count=1 + len(others),
        evidence=tuple(scan.of_record(record, each.said) for record, each in [last, *others]),
        fix=f"ask whether {last[0].record_id} (the newest) holds, then delete or update {old}; "
        "consolidation should have done this",
    )
