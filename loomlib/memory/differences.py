"""What changed in a memory between two moments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .displays import frame_of, html_rows, text_rows
from .snapshots import MemorySnapshot

CHANGES: Final = ("created", "updated", "moved", "deleted")
COLUMNS: Final = ("change", "namespace", "before", "after", "strategy", "record_id")


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
        """As a table has it."""
        return {name: getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemoryDiff:
    """What changed; made by `memory.diff(before, after)`. `events` are counts before and after, by actor and session,
    of those sessions alone whose count changed; None where one of the two did not count them."""

    before: MemorySnapshot
    after: MemorySnapshot
    changes: tuple[RecordChange, ...]
    events: dict[tuple[str, str], tuple[int, int]] | None
    labels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.changes)

    def counts(self) -> dict[str, dict[str, int]]:
        """How many records of each change, by namespace."""
        found: dict[str, Counter[str]] = {}
        for each in self.changes:
            found.setdefault(each.namespace, Counter())[each.change] += 1
        return {place: {name: count[name] for name in CHANGES if count[name]} for place, count in sorted(found.items())}

    def rows(self) -> list[dict[str, Any]]:
        """One row a record that changed."""
        return [each.row() for each in self.changes]

    def frame(self) -> Any:
        """One row a record that changed."""
        return frame_of(self.rows(), COLUMNS)

    def note(self) -> str:
        """Counts by namespace, and of events."""
        places = [
            f"{place}: {', '.join(f'{count:,} {name}' for name, count in counts.items())}"
            for place, counts in list(self.counts().items())[:12]
        ]
        more = len(self.counts()) - len(places)
        if self.events is None:
            events = "events were not counted"
        else:
            came = sum(max(0, now - then) for then, now in self.events.values())
            went = sum(max(0, then - now) for then, now in self.events.values())
            events = f"{came:,} events came and {went:,} went"
        said = [*places, *([f"and {more:,} more namespaces"] if more else [])] or ["no record changed"]
        return " · ".join([*said, events, *self.labels])

    def __repr__(self) -> str:
        return text_rows(self._title(), self.note(), self.rows(), COLUMNS[:4])

    def _repr_html_(self) -> str:
        return html_rows(self._title(), self.note(), self.rows(), COLUMNS)

    def _title(self) -> str:
        then, now = self.before.taken_at, self.after.taken_at
        return f"{self.before.name} from {then:%Y-%m-%d %H:%M:%S} to {now:%Y-%m-%d %H:%M:%S}"


def diff_snapshots(before: MemorySnapshot, after: MemorySnapshot, *, labels: tuple[str, ...] = ()) -> MemoryDiff:
    """What is in one and not in the other, by namespace. Raises `ValueError` for snapshots of two memories."""
    if before.memory_id != after.memory_id:
        raise ValueError(f"The snapshots are of two memories: {before.name} and {after.name}")
    changed = sorted(_changes(before, after), key=lambda each: (each.namespace, CHANGES.index(each.change)))
    return MemoryDiff(
        before=before,
        after=after,
        changes=tuple(changed),
        events=_events(before.events, after.events),
        labels=labels,
    )


def _events(
    before: Mapping[tuple[str, str], int] | None, after: Mapping[tuple[str, str], int] | None
) -> dict[tuple[str, str], tuple[int, int]] | None:
    if before is None or after is None:
        return None
    counts = {each: (before.get(each, 0), after.get(each, 0)) for each in sorted(before.keys() | after.keys())}
    return {each: (then, now) for each, (then, now) in counts.items() if then != now}


def _changes(before: MemorySnapshot, after: MemorySnapshot) -> Iterator[RecordChange]:
    for record_id, now in after.records.items():
        then = before.records.get(record_id)
        if then is None:
            change = "created"
        elif then.namespace != now.namespace:
            change = "moved"
        elif (then.text, then.changed_at) != (now.text, now.changed_at):
            change = "updated"
        else:
            continue
        yield RecordChange(
            change=change,
            record_id=record_id,
            namespace=now.namespace,
            before=then.text if then else "",
            after=now.text,
            strategy=now.strategy,
        )
    for record_id, then in before.records.items():
        if record_id not in after.records:
            yield RecordChange(
                change="deleted",
                record_id=record_id,
                namespace=then.namespace,
                before=then.text,
                strategy=then.strategy,
            )
