"""One AgentCore memory: its contents as tables, and its health, snapshots, copies and deletions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..aws import Clients
from ..aws.memory_shapes import MemoryDescription, MemoryEvent, MemoryRecord
from ..deprecation import warn_renamed
from ..errors import LoomError
from ..memory import MemoryReader, Provenance, find_provenance, timeline_entries
from ..memory.differences import MemoryDiff, diff_snapshots
from ..memory.reading import since_time
from ..memory.snapshots import MemorySnapshot, read_snapshot, take_snapshot
from ..presentation.formats import plural
from ..redaction import Redactor
from . import memory_tables as tables
from .memory_card import NO_EVENTS, memory_card, no_records
from .memory_views import ProvenanceView, TimelineView
from .wait_line import WaitLine

if TYPE_CHECKING:
    from ..memory.exchange import ExportPreview, ExportResult, ImportPreview
    from ..memory.forgetting import ForgetPreview
    from ..memory.health import HealthReport
    from ..memory.isolation import IsolationReport
    from .memory_frame import MemoryFrame

Progress = Callable[[str], None]
PathText = str | os.PathLike[str]
ROWS: Final = 10_000
"""Default limit of a table's rows; the newest come first."""


class Memory:
    """One AgentCore memory; opened by `bench.memories.get(name)`. Reading is lazy and the same on AWS and locally.

    `reader` yields values one by one instead of tables, for a memory of any size.
    """

    def __init__(self, clients: Clients, description: MemoryDescription, *, labels: tuple[str, ...] = ()) -> None:
        self.description, self.labels = description, labels
        self.reader = MemoryReader(clients=clients, memory=description)

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.description.memory_id

    @property
    def name(self) -> str:
        """The memory's name."""
        return self.description.name

    @property
    def arn(self) -> str:
        """The memory's ARN."""
        return self.description.arn

    @property
    def status(self) -> str:
        """The status in AWS's terms (ACTIVE, CREATING, FAILED …) when this object was created."""
        return self.description.status

    def actors(self, *, limit: int | None = ROWS, progress: Progress | None = None) -> MemoryFrame:
        """Return the actors who have events in the memory."""
        actors = self.reader.actors(limit=limit, progress=progress or WaitLine())
        rows = ((actor,) for actor in actors)
        return tables.frame(rows, tables.ACTORS, title=f"Actors of {self.name}", empty=NO_EVENTS, limit=limit)

    def sessions(self, actor: str, *, limit: int | None = ROWS, progress: Progress | None = None) -> MemoryFrame:
        """Return an actor's memory sessions; their ids need not be those of runtime sessions.

        Args:
            actor: The actor's id.
            limit: Maximum number of rows; None for all.
            progress: Called with a sentence after every 100 sessions; displayed below the cell by default.
        """
        sessions = self.reader.sessions(actor, limit=limit, progress=progress or WaitLine())
        rows = (tables.session_row(session) for session in sessions)
        title, empty = (
            f"Sessions of {actor} in {self.name}",
            f"{actor} has no sessions here; memory.actors() lists the actors with events.",
        )
        return tables.frame(rows, tables.SESSIONS, title=title, empty=empty, limit=limit)

    def events(
        self,
        actor: str | None = None,
        *,
        session: str | None = None,
        since: datetime | timedelta | None = None,
        branch: str | None = None,
        limit: int | None = ROWS,
        progress: Progress | None = None,
    ) -> MemoryFrame:
        """Return events, session by session, newest first within each.

        Args:
            actor: Only this actor's events; None for every actor.
            session: Only this session's events; needs `actor`.
            since: Only events from this time on (UTC without a zone), or within this time before now.
            branch: Events of this branch, with those before its fork.
            limit: Maximum number of rows; None for all.
            progress: Called with a sentence after every 100 events; displayed below the cell by default.

        Raises:
            ValueError: `session` without `actor`, or a negative `limit`.

        Examples:
            >>> memory.events("anna", since=timedelta(days=7))
        """
        events = self.reader.events(
            actor, session=session, since=since, branch=branch, limit=limit, progress=progress or WaitLine()
        )
        rows = (tables.event_row(event) for event in events)
        title = " · ".join(filter(None, (f"Events of {self.name}", actor, session, branch and f"branch {branch}")))
        return tables.frame(rows, tables.EVENTS, title=title, empty=NO_EVENTS, limit=limit)

    def iter_events(self, actor: str | None = None, **options: Any) -> Iterator[MemoryEvent]:
        """Yield events as values, one page at a time, for memories too large for a table."""
        return self.reader.events(actor, **options)

    def records(
        self,
        namespace: str | None = None,
        *,
        actor: str | None = None,
        strategy: str | None = None,
        exact: bool = False,
        limit: int | None = ROWS,
        progress: Progress | None = None,
    ) -> MemoryFrame:
        """Return extracted records: of a namespace and those below it, of an actor, or all.

        Args:
            namespace: The namespace; `{actorId}` in it is filled in from `actor`.
            actor: The actor's id.
            strategy: Only records of this strategy (name or id).
            exact: Only records of `namespace` itself, not of those below it.
            limit: Maximum number of rows; None for all.
            progress: Called with a sentence after every 100 records; displayed below the cell by default.

        Raises:
            ValueError: The namespace begins with a placeholder without a value, or `limit` is negative.

        Examples:
            >>> memory.records(actor="anna")
            >>> memory.records("/facts/{actorId}/", actor="anna")
        """
        records = self.reader.records(
            namespace, actor=actor, strategy=strategy, exact=exact, limit=limit, progress=progress or WaitLine()
        )
        rows = (tables.record_row(record, self._strategies()) for record in records)
        title = " · ".join(filter(None, (f"Records of {self.name}", namespace, actor, strategy)))
        return tables.frame(rows, tables.RECORDS, title=title, empty=no_records(self.description), limit=limit)

    def iter_records(self, namespace: str | None = None, **options: Any) -> Iterator[MemoryRecord]:
        """Yield records as values, one page at a time."""
        return self.reader.records(namespace, **options)

    def search(
        self,
        query: str,
        namespace: str | None = None,
        *,
        actor: str | None = None,
        strategy: str | None = None,
        exact: bool = False,
        top_k: int = 10,
    ) -> MemoryFrame:
        """Search records by meaning; best first, with the service's scores.

        Args:
            query: The text whose meaning is compared.
            namespace: Where to search, as in `records`.
            actor: The actor's id.
            strategy: Only records of this strategy (name or id).
            exact: Only records of `namespace` itself.
            top_k: Maximum number of records.
        """
        records = self.reader.search(query, namespace, actor=actor, strategy=strategy, exact=exact, top_k=top_k)
        rows = ((record.score, *tables.record_row(record, self._strategies())) for record in records)
        return tables.frame(rows, tables.FOUND, title=f"“{query}” in {self.name}", empty=no_records(self.description))

    def timeline(
        self,
        actor: str,
        *,
        session: str | None = None,
        since: datetime | timedelta | None = None,
        limit: int | None = ROWS,
        progress: Progress | None = None,
    ) -> TimelineView:
        """Return an actor's events and extracted records in order of time.

        Args:
            actor: The actor's id.
            session: Only this session's events; records are those of the actor.
            since: Only from this time on (UTC without a zone), or within this time before now.
            limit: Maximum number of events, and of records; None for all.
            progress: Called with a sentence after every 100 rows; displayed below the cell by default.
        """
        show = progress or WaitLine()
        start = since_time(since)
        events = list(self.reader.events(actor, session=session, since=start, limit=limit, progress=show))
        records = list(self.reader.records(actor=actor, limit=limit, progress=show))
        entries = timeline_entries(events, records, self.description.strategies, since=start)
        read = ((len(events), "event"), (len(records), "record"))
        cut = " and ".join(f"the first {plural(count, noun)}" for count, noun in read if count == limit)
        return TimelineView(
            entries,
            title=f"{actor} in {self.name}",
            labels=self.labels,
            cut=f"{cut}; limit=None reads all" if cut else "",
        )

    def provenance(
        self, record: str | MemoryRecord, *, scan: int | None = None, progress: Progress | None = None
    ) -> ProvenanceView:
        """Return the events that a record was extracted from: as the service states, else inferred by similarity.

        Args:
            record: The record or its id.
            scan: Maximum number of events to read; 20,000 by default.
            progress: Called with a sentence while events are read; displayed below the cell by default.

        Raises:
            LoomError: `record` is neither a record nor an id.
        """
        if not isinstance(record, str) and not hasattr(record, "namespaces"):
            raise LoomError(
                "Only records have a provenance",
                on=f"a {type(record).__name__}",
                try_="the record's id: finding.evidence[0].id of a finding, or the column record_id of a table",
            )
        options = {} if scan is None else {"scan": scan}
        found_record = record if not isinstance(record, str) else self.reader.record(record)
        provenance: Provenance = find_provenance(self.reader, found_record, progress=progress or WaitLine(), **options)
        return ProvenanceView(provenance, labels=self.labels)

    def used_in(self, inv: Any, *, scan: int = ROWS, progress: Progress | None = None) -> MemoryFrame:
        """Use `inv.telemetry.memories_used(memory)` instead.

        Args:
            inv: The invocation.
            scan: Maximum number of records to compare.
            progress: Called with a sentence while events are read.
        """
        warn_renamed("Memory.used_in(inv)", "Invocation.telemetry.memories_used(memory)")
        return inv.telemetry.memories_used(self, scan=scan, progress=progress)

    def failed_extractions(self) -> MemoryFrame:
        """Return failed extractions (AWS lists only these)."""
        rows = map(tables.failed_row, self.reader.failed_extractions(limit=ROWS))
        return tables.frame(rows, tables.FAILED, title=f"Failed extractions of {self.name}", empty="None have failed.")

    def health(self, *, progress: Progress | None = None, **options: Any) -> HealthReport:
        """Check the memory; each finding has redacted evidence.

        It checks for leaks between actors, secrets and personal data, contradictions, stale and duplicate records,
        strategies without records, growth and cost.

        Options (`loomlib.memory.health.check_health`): `records=` and `events=`, the maximum numbers to read
        (20,000 by default, None for all),
        `allow=["email"]` for allowed kinds of personal data, `presidio=True`, `redactor=`, `untouched=timedelta`,
        `extraction=timedelta`, `tenant=` (an actor's tenant from its id), `prices=`, `retrievals=` a month.

            memory.health(allow=["email"]).problems
        """
        from ..memory.health import check_health

        return check_health(self.reader, progress=progress or WaitLine(), labels=self.labels, **options)

    def snapshot(self, *, events: bool = True, progress: Progress | None = None) -> MemorySnapshot:
        """Return a redacted snapshot; `.save(path)` writes it, `loomlib.memory.read_snapshot(path)` reads it.

        AgentCore does not keep earlier states of a memory.
        """
        return take_snapshot(self.reader, events=events, progress=progress or WaitLine())

    def diff(self, before: MemorySnapshot | PathText, after: MemorySnapshot | PathText | None = None) -> MemoryDiff:
        """Return what was created, updated, moved and deleted between two snapshots (or their files) or since one.

        Examples:
            >>> before = memory.snapshot()
            >>> memory.diff(before)
        """
        then = _snapshot(before)
        now = self.snapshot(events=then.events is not None) if after is None else _snapshot(after)
        return diff_snapshots(then, now, labels=self.labels)

    def export(
        self,
        path: PathText,
        *,
        actors: Sequence[str] | None = None,
        redact: bool | Redactor = True,
        progress: Progress | None = None,
    ) -> ExportResult:
        """Write events and records to a file of JSON lines that only its owner can read.

        Args:
            path: The file to write; it appears when it is complete.
            actors: Only these actors; None for all.
            redact: Replace secrets and personal data; False keeps them, a `Redactor` applies your own rules.
            progress: Called with a sentence after every 500 lines; displayed below the cell by default.
        """
        from ..memory.exchange import export_memory

        rules = Redactor() if redact is True else redact or None
        return export_memory(
            self.reader, path, actors=actors, redactor=rules, progress=progress or WaitLine(), labels=self.labels
        )

    def preview_export(
        self, *, actors: Sequence[str] | None = None, redact: bool | Redactor = True, lines: int = 20
    ) -> ExportPreview:
        """Return the first lines as `export` would write them, half of them events; nothing is written.

        Args:
            actors: Only these actors; None for all.
            redact: As in `export`.
            lines: Maximum number of lines in the preview.
        """
        from ..memory.exchange import preview_export

        rules = Redactor() if redact is True else redact or None
        return preview_export(self.reader, actors=actors, redactor=rules, lines=lines, labels=self.labels)

    def import_(self, path: PathText, *, progress: Progress | None = None) -> ImportPreview:
        """Preview the import of a file that `export` wrote; `.confirm()` writes it.

        Importing again resumes an import that was stopped; existing events and records are not duplicated.
        """
        from ..memory.exchange import preview_import

        return preview_import(self.reader, path, progress=progress or WaitLine(), labels=self.labels)

    def forget(self, actor: str, *, progress: Progress | None = None) -> ForgetPreview:
        """Preview the deletion of an actor's events and records; `.confirm()` deletes and verifies it.

        The result lists where copies may still exist.

            preview = memory.forget("anna")
            preview.confirm()
        """
        from ..memory.forgetting import preview_forgetting

        return preview_forgetting(self.reader, actor, progress=progress or WaitLine(), labels=self.labels)

    def check_isolation(
        self,
        patterns: Iterable[str] | None = None,
        *,
        actors: int = 12,
        seed: int = 0,
        slashes: bool = False,
        settle_s: float = 60.0,
        progress: Progress | None = None,
    ) -> IsolationReport:
        """Test whether reads return records of another actor or tenant, with test actors of similar ids.

        The test writes to a scratch namespace and deletes it afterwards.

        Args:
            patterns: Namespaces with placeholders ({actorId}, {sessionId}, {tenantId}, {userId} …); the memory's own
                templates by default.
            actors: Number of test actors.
            seed: Seed of the test actors' ids.
            slashes: Whether ids may contain slashes, so that one actor's namespace is below another's.
            settle_s: Seconds to wait until written records can be found; on AWS this takes a while.
            progress: Called with a sentence after each actor; displayed below the cell by default.

        Raises:
            ValueError: A pattern has an unknown placeholder, or the number of actors is out of range.
        """
        from ..memory.isolation import check_isolation

        return check_isolation(
            self.reader,
            patterns=patterns,
            actors=actors,
            seed=seed,
            slashes=slashes,
            settle_s=settle_s,
            progress=progress or WaitLine(),
            labels=self.labels,
        )

    def _strategies(self) -> dict[str, str]:
        return {strategy.strategy_id: strategy.name for strategy in self.description.strategies}

    def __repr__(self) -> str:
        return f"<Memory {self.name}: {self.status.lower()}, {len(self.description.strategies)} strategies, {self.id}>"

    def _repr_html_(self) -> str:
        return memory_card(self.description, self.labels)


def _snapshot(source: MemorySnapshot | PathText) -> MemorySnapshot:
    return read_snapshot(source) if isinstance(source, (str, Path, os.PathLike)) else source
