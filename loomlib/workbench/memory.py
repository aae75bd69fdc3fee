"""A memory as a notebook sees it: actors, sessions, events, records, search, timeline, and where records came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from ..errors import LoomError
from ..memory import MemoryReader, Provenance, find_provenance, moments_of
from ..memory.reading import moment
from . import memory_tables as tables
from .cards import card
from .memory_care import MemoryCare
from .memory_views import ProvenanceView, TimelineView
from .wait_line import WaitLine

if TYPE_CHECKING:
    from ..aws import Clients
    from ..aws.memory_shapes import MemoryDescription, MemoryEvent, MemoryRecord
    from .invocation import Invocation
    from .memory_frame import MemoryFrame

Progress = Callable[[str], None]
ROWS: Final = 10_000
"""Rows that a table holds unless told otherwise: an inspection begins with the newest."""
_NO_EVENTS: Final = (
    "No events. An agent writes them with CreateEvent: bedrock_agentcore's MemorySessionManager does, "
    "or the blueprint that remembers."
)


class Memory(MemoryCare):
    """One AgentCore memory; made by `bench.memory(name)`. Reading is lazy, and the same on AWS and locally.

    `reader` gives values instead of tables, one by one, whatever the memory's size.
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
        """AWS's word: ACTIVE, CREATING, FAILED …, as it was when this was made."""
        return self.description.status

    def actors(self, *, limit: int | None = ROWS, progress: Progress | None = None) -> MemoryFrame:
        """Everybody of whom the memory has events."""
        found = self.reader.actors(limit=limit, progress=progress or WaitLine())
        rows = ((each,) for each in found)
        return tables.frame(rows, tables.ACTORS, title=f"Actors of {self.name}", empty=_NO_EVENTS, limit=limit)

    def sessions(self, actor: str, *, limit: int | None = ROWS, progress: Progress | None = None) -> MemoryFrame:
        """An actor's sessions, the memory's own: nothing says that a runtime session has the same id."""
        found = self.reader.sessions(actor, limit=limit, progress=progress or WaitLine())
        rows = (tables.session_row(each) for each in found)
        title, empty = (
            f"Sessions of {actor} in {self.name}",
            f"{actor} has no sessions here; memory.actors() lists who has.",
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
        """Events, session by session and each session's newest first; `since` is a moment, or the time since.

        memory.events("anna", since=timedelta(days=7))
        """
        found = self.reader.events(
            actor, session=session, since=since, branch=branch, limit=limit, progress=progress or WaitLine()
        )
        rows = (tables.event_row(each) for each in found)
        title = " · ".join(filter(None, (f"Events of {self.name}", actor, session, branch and f"branch {branch}")))
        return tables.frame(rows, tables.EVENTS, title=title, empty=_NO_EVENTS, limit=limit)

    def iter_events(self, actor: str | None = None, **options: Any) -> Iterator[MemoryEvent]:
        """The same as values, one page at a time: for memories too large for a table."""
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
        """What was extracted: of a namespace and all below it (`exact`: of that alone), or of an actor, or all.

        memory.records(actor="anna")
        memory.records("/facts/{actorId}/", actor="anna")
        """
        found = self.reader.records(
            namespace, actor=actor, strategy=strategy, exact=exact, limit=limit, progress=progress or WaitLine()
        )
        rows = (tables.record_row(each, self._strategies()) for each in found)
        title = " · ".join(filter(None, (f"Records of {self.name}", namespace, actor, strategy)))
        return tables.frame(rows, tables.RECORDS, title=title, empty=self._no_records(), limit=limit)

    def iter_records(self, namespace: str | None = None, **options: Any) -> Iterator[MemoryRecord]:
        """The same as values, one page at a time."""
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
        """The records nearest in meaning, best first, with the service's scores; places as for `records`."""
        found = self.reader.search(query, namespace, actor=actor, strategy=strategy, exact=exact, top_k=top_k)
        rows = ((each.score, *tables.record_row(each, self._strategies())) for each in found)
        return tables.frame(rows, tables.FOUND, title=f"“{query}” in {self.name}", empty=self._no_records())

    def timeline(
        self,
        actor: str,
        *,
        session: str | None = None,
        since: datetime | timedelta | None = None,
        limit: int | None = ROWS,
        progress: Progress | None = None,
    ) -> TimelineView:
        """What was said and what was made of it, in the order of time; at most `limit` events and as many records."""
        told = progress or WaitLine()
        start = moment(since)
        events = self.reader.events(actor, session=session, since=start, limit=limit, progress=told)
        records = self.reader.records(actor=actor, limit=limit, progress=told)
        found = moments_of(events, records, self.description.strategies, since=start)
        return TimelineView(found, title=f"{actor} in {self.name}", labels=self.labels)

    def provenance(
        self, record: str | MemoryRecord, *, scan: int | None = None, progress: Progress | None = None
    ) -> ProvenanceView:
        """The events that a record came from: as the service tells, else by similarity and labelled inferred.

        At most `scan` events are read (20,000 unless told otherwise).
        """
        if not isinstance(record, str) and not hasattr(record, "namespaces"):
            raise LoomError(
                "Only a record has a provenance",
                on=f"a {type(record).__name__}",
                try_="the record's id: of a finding it is finding.evidence[0].id, in a table the column record_id",
            )
        options = {} if scan is None else {"scan": scan}
        found = record if not isinstance(record, str) else self.reader.record(record)
        provenance: Provenance = find_provenance(self.reader, found, progress=progress or WaitLine(), **options)
        return ProvenanceView(provenance, labels=self.labels)

    def used_in(self, inv: Invocation, *, scan: int = ROWS, progress: Progress | None = None) -> MemoryFrame:
        """This memory's records that were retrieved into an answer's prompt, by its trace (`inv.memories_used()`)."""
        from .memory_uses import used_frame

        return used_frame(inv, [self], scan=scan, progress=progress or WaitLine())

    def failed_extractions(self) -> MemoryFrame:
        """Extractions that failed (AWS lists no others)."""
        columns = ("strategy", "actor_id", "memory_session_id", "status", "reason", "events", "job_id")
        rows = (
            (
                each.strategy_id,
                each.actor_id,
                each.session_id,
                each.status,
                each.reason,
                len(each.event_ids),
                each.job_id,
            )
            for each in self.reader.failed_extractions(limit=ROWS)
        )
        return tables.frame(rows, columns, title=f"Failed extractions of {self.name}", empty="None failed.")

    def _strategies(self) -> dict[str, str]:
        return {each.strategy_id: each.name for each in self.description.strategies}

    def _no_records(self) -> str:
        if not self.description.strategies:
            return (
                "No records: the memory has no strategy, so nothing is extracted. "
                'bench.create_memory(name, strategies=["semantic"]) makes one that extracts facts.'
            )
        names = ", ".join(template for each in self.description.strategies for template in each.namespaces)
        return f"No records here. They are written some time after a turn is closed, into {names}."

    def __repr__(self) -> str:
        return f"<Memory {self.name}: {self.status.lower()}, {len(self.description.strategies)} strategies, {self.id}>"

    def _repr_html_(self) -> str:
        told = self.description
        facts = [(f"{each.name} ({each.type.lower()})", ", ".join(each.namespaces)) for each in told.strategies]
        expiry = "–" if told.event_expiry_days is None else f"after {told.event_expiry_days} days"
        return card(
            f"Memory {told.name}",
            state=({"ACTIVE": "good", "FAILED": "bad"}.get(told.status, "wait"), told.status.lower()),
            labels=(*self.labels, told.region),
            facts=[("id", told.memory_id), ("events expire", expiry), *facts],
            note=told.failure_reason or ("" if facts else "No strategy: events are kept, nothing is extracted."),
        )
