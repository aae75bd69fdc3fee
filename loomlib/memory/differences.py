"""The changes in a memory between two snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from ..presentation.formats import number, plural, timestamp
from .displays import TableReport
from .snapshots import MemorySnapshot

CHANGES: Final = ("created", "updated", "moved", "deleted")
COLUMNS: Final = ("change", "namespace", "before", "after", "strategy", "record_id")
_SHOWN_NAMESPACES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange:
    """A record that was `created`, `updated`, `moved` to another namespace, or `deleted` (or expired)."""

    change: str
    record_id: str
    namespace: str
    before: str = field(default="", repr=False)
    after: str = field(default="", repr=False)
    strategy: str = ""

    def row(self) -> dict[str, Any]:
        """Return the change as a table row."""
        return {name: getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemoryDiff(TableReport):
    """Changes between two snapshots of a memory; returned by `memory.diff(before, after)`.

    Attributes:
        before: The earlier snapshot.
        after: The later snapshot.
        changes: The records that changed, by namespace.
        events: Number of events before and after, by actor and session, of the sessions in which it changed; None when
            one of the snapshots has no event counts.
        labels: Provenance labels.
    """

    columns: ClassVar = COLUMNS
    text_columns: ClassVar = COLUMNS[:4]
    before: MemorySnapshot
    after: MemorySnapshot
    changes: tuple[RecordChange, ...]
    events: dict[tuple[str, str], tuple[int, int]] | None
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of its displays."""
        before, after = self.before.taken_at, self.after.taken_at
        return f"{self.before.name} from {timestamp(before)} to {timestamp(after)}"

    def __len__(self) -> int:
        return len(self.changes)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of records per kind of change, by namespace."""
        counters: dict[str, Counter[str]] = {}
        for change in self.changes:
            counters.setdefault(change.namespace, Counter())[change.change] += 1
        return {
            namespace: {kind: counter[kind] for kind in CHANGES if counter[kind]}
            for namespace, counter in sorted(counters.items())
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per changed record."""
        return [change.row() for change in self.changes]

    def note(self) -> str:
        """Return the number of changes by namespace, and of added and removed events."""
        counts = self.counts()
        namespaces = [
            f"{namespace}: {', '.join(f'{number(count)} {kind}' for kind, count in kinds.items())}"
            for namespace, kinds in list(counts.items())[:_SHOWN_NAMESPACES]
        ]
        more = len(counts) - len(namespaces)
        if self.events is None:
            events = "events were not counted"
        else:
            added = sum(max(0, after - before) for before, after in self.events.values())
            removed = sum(max(0, before - after) for before, after in self.events.values())
            events = f"{plural(added, 'event')} added, {number(removed)} removed"
        parts = [*namespaces, *([f"and {plural(more, 'more namespace')}"] if more else [])] or ["no record changed"]
        return " · ".join([*parts, events, *self.labels])


def diff_snapshots(before: MemorySnapshot, after: MemorySnapshot, *, labels: tuple[str, ...] = ()) -> MemoryDiff:
    """Compare two snapshots of one memory.

    Args:
        before: The earlier snapshot.
        after: The later snapshot.
        labels: Provenance labels of the result.

    Raises:
        ValueError: The snapshots are of two memories.
    """
    if before.memory_id != after.memory_id:
        raise ValueError(f"The snapshots are of two memories: {before.name} and {after.name}")
    changes = sorted(_changes(before, after), key=lambda change: (change.namespace, CHANGES.index(change.change)))
    return MemoryDiff(
        before=before,
        after=after,
        changes=tuple(changes),
        events=_event_counts(before.events, after.events),
        labels=labels,
    )


def _event_counts(
    before: Mapping[tuple[str, str], int] | None, after: Mapping[tuple[str, str], int] | None
) -> dict[tuple[str, str], tuple[int, int]] | None:
    if before is None or after is None:
        return None
    sessions = sorted(before.keys() | after.keys())
    counts = {session: (before.get(session, 0), after.get(session, 0)) for session in sessions}
    return {session: pair for session, pair in counts.items() if pair[0] != pair[1]}


def _changes(before: MemorySnapshot, after: MemorySnapshot) -> Iterator[RecordChange]:
    for record_id, new in after.records.items():
        old = before.records.get(record_id)
        if old is None:
            change = "created"
        elif old.namespace != new.namespace:
            change = "moved"
        elif (old.text, old.changed_at) != (new.text, new.changed_at):
            change = "updated"
        else:
            continue
        yield RecordChange(
            change=change,
            record_id=record_id,
            namespace=new.namespace,
            before=old.text if old else "",
            after=new.text,
            strategy=new.strategy,
        )
    for record_id, old in before.records.items():
        if record_id not in after.records:
            yield RecordChange(
                change="deleted",
                record_id=record_id,
                namespace=old.namespace,
                before=old.text,
                strategy=old.strategy,
            )
