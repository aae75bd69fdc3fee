"""Reads actors, sessions, events and records of a memory page by page; at most one page is held in memory.

Session ids are the memory's own. An agent may use the id of its runtime session, but it need not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeVar

from ..aws import Clients
from ..aws import memory as service
from ..aws.memory_shapes import (
    FailedExtraction,
    MemoryDescription,
    MemoryEvent,
    MemoryRecord,
    MemorySession,
)
from ..presentation.formats import number
from .namespaces import RecordLocation, actor_locations, all_paths, fill_template, has_placeholder, location_of

Progress = Callable[[str], None]
T = TypeVar("T")
_PROGRESS_ROWS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReader:
    """Reads one memory, in the memory's own region."""

    clients: Clients = field(repr=False)
    memory: MemoryDescription

    def actors(self, *, limit: int | None = None, progress: Progress | None = None) -> Iterator[str]:
        """Yield the actors' ids.

        Args:
            limit: The maximum number of actors; None for all.
            progress: Called with a sentence after every 100 actors.
        """
        actors = service.iter_actors(self.clients, self.memory.memory_id, region=self.memory.region)
        return _limited(actors, "actors", limit, progress)

    def sessions(
        self, actor: str, *, limit: int | None = None, progress: Progress | None = None
    ) -> Iterator[MemorySession]:
        """Yield an actor's sessions, newest first, as the service lists them.

        Args:
            actor: The actor's id.
            limit: The maximum number of sessions; None for all.
            progress: Called with a sentence after every 100 sessions.
        """
        sessions = service.iter_sessions(self.clients, self.memory.memory_id, actor, region=self.memory.region)
        return _limited(sessions, "sessions", limit, progress)

    def events(
        self,
        actor: str | None = None,
        *,
        session: str | None = None,
        since: datetime | timedelta | None = None,
        branch: str | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[MemoryEvent]:
        """Yield events session by session, each session's newest first.

        Args:
            actor: Only this actor's events; None for every actor.
            session: Only this session's events; needs `actor`.
            since: Only events from this time on (UTC without a zone), or within this time before now.
            branch: Events of this branch, with those before its fork.
            limit: The maximum number of events; None for all.
            progress: Called with a sentence after every 100 events.

        Raises:
            ValueError: `session` without `actor`, or a negative `limit`.
        """
        if session is not None and actor is None:
            raise ValueError("A session belongs to an actor: name the actor too")
        return _limited(self._events(actor, session, since_time(since), branch), "events", limit, progress)

    def records(
        self,
        namespace: str | None = None,
        *,
        actor: str | None = None,
        strategy: str | None = None,
        exact: bool = False,
        filters: Sequence[Mapping[str, Any]] = (),
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[MemoryRecord]:
        """Yield the records of a namespace and of those below it, newest first in each.

        Args:
            namespace: The namespace; `{actorId}` in it is filled in from `actor`. Without a namespace, the strategies'
                templates locate the actor's records, and without an actor all records are read.
            actor: The actor's id.
            strategy: Only records of this strategy (name or id).
            exact: Only records of `namespace` itself.
            filters: Metadata filters, as ListMemoryRecords takes them.
            limit: The maximum number of records; None for all.
            progress: Called with a sentence after every 100 records.

        Raises:
            ValueError: The namespace begins with a placeholder without a value, or `limit` is negative.
        """
        records = self._records(self.locations(namespace, actor=actor, exact=exact), strategy, filters)
        return _limited(records, "records", limit, progress)

    def search(
        self,
        query: str,
        namespace: str | None = None,
        *,
        actor: str | None = None,
        strategy: str | None = None,
        exact: bool = False,
        top_k: int = 10,
        filters: Sequence[Mapping[str, Any]] = (),
    ) -> list[MemoryRecord]:
        """Return the records nearest in meaning, best first, with their scores.

        Args:
            query: What to search for.
            namespace: Where to search, as in `records`.
            actor: The actor's id.
            strategy: Only records of this strategy (name or id).
            exact: Only records of `namespace` itself.
            top_k: The maximum number of records.
            filters: Metadata filters, as RetrieveMemoryRecords takes them.
        """
        best: dict[str, MemoryRecord] = {}
        for location in self.locations(namespace, actor=actor, exact=exact):
            for record in service.retrieve_records(
                self.clients,
                self.memory.memory_id,
                query,
                namespace=location.namespace,
                path=location.path,
                strategy_id=self._strategy_id(strategy),
                top_k=top_k if _holds_all(location) else service.LARGEST_TOP_K,
                filters=filters,
                region=self.memory.region,
            ):
                if _holds_all(location) or location.holds(record):
                    best.setdefault(record.record_id, record)
        return sorted(best.values(), key=lambda record: -(record.score or 0.0))[:top_k]

    def record(self, record_id: str) -> MemoryRecord:
        """Read one record.

        Raises:
            ResourceNotFoundError: The memory has no such record.
        """
        return service.get_record(self.clients, self.memory.memory_id, record_id, region=self.memory.region)

    def failed_extractions(self, *, limit: int | None = None) -> Iterator[FailedExtraction]:
        """Yield extractions that failed, at most `limit`."""
        extractions = service.iter_failed_extractions(self.clients, self.memory.memory_id, region=self.memory.region)
        return islice(extractions, limit)

    def locations(self, namespace: str | None, *, actor: str | None, exact: bool = False) -> list[RecordLocation]:
        """Return the locations that `records` and `search` read.

        Args:
            namespace: The namespace, possibly with placeholders.
            actor: The actor that fills in `{actorId}`.
            exact: Whether namespaces below are left out.

        Raises:
            ValueError: The namespace begins with a placeholder that has no value.
        """
        if namespace is None:
            if actor is not None:
                return actor_locations(self.memory, actor)
            return [RecordLocation(template="", path=path) for path in all_paths(self.memory, self.actors)]
        full = fill_template(namespace, actorId=actor or "")
        if has_placeholder(full):
            location = location_of(full)
            if location is None:
                raise ValueError(f"{namespace!r} begins with a placeholder that has no value: pass actor=…")
            return [location]
        return [RecordLocation(template="", namespace=full) if exact else RecordLocation(template="", path=full)]

    def _events(
        self, actor: str | None, session: str | None, since: datetime | None, branch: str | None
    ) -> Iterator[MemoryEvent]:
        region = self.memory.region
        for actor_id in [actor] if actor is not None else self.actors():
            session_ids: Iterable[str] = (
                [session] if session is not None else (item.session_id for item in self.sessions(actor_id))
            )
            for session_id in session_ids:
                yield from service.iter_events(
                    self.clients, self.memory.memory_id, actor_id, session_id, branch=branch, since=since, region=region
                )

    def _records(
        self, locations: Iterable[RecordLocation], strategy: str | None, filters: Sequence[Mapping[str, Any]]
    ) -> Iterator[MemoryRecord]:
        for location in locations:
            for record in service.iter_records(
                self.clients,
                self.memory.memory_id,
                namespace=location.namespace,
                path=location.path,
                strategy_id=self._strategy_id(strategy),
                filters=filters,
                region=self.memory.region,
            ):
                if _holds_all(location) or location.holds(record):
                    yield record

    def _strategy_id(self, strategy: str | None) -> str | None:
        """Return the id of a strategy that is given by name or id."""
        ids = {item.name: item.strategy_id for item in self.memory.strategies}
        return None if strategy is None else ids.get(strategy, strategy)


def since_time(since: datetime | timedelta | None) -> datetime | None:
    """Return a point in time that is given as such (UTC without a zone) or as a duration before now.

    Raises:
        ValueError: The time is not between the years 1 and 9999.
    """
    if isinstance(since, timedelta):
        now = datetime.now(UTC)
        try:
            return now - since
        except OverflowError as error:
            raise ValueError(
                f"since={since!r} is not between the years 1 and 9999: pass a time or a shorter duration"
            ) from error
    if since is not None and since.tzinfo is None:
        return since.replace(tzinfo=UTC)
    return since


def _holds_all(location: RecordLocation) -> bool:
    return not location.template or location.namespace is not None


def _limited(items: Iterable[T], noun: str, limit: int | None, progress: Progress | None) -> Iterator[T]:
    if limit is not None and limit < 0:
        raise ValueError("limit is a number of rows, or None for all")
    for count, item in enumerate(islice(items, limit), start=1):
        yield item
        if progress is not None and count % _PROGRESS_ROWS == 0:
            progress(f"{number(count)} {noun} read")
