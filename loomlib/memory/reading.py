"""What a memory holds, read page by page: nothing larger than a page is kept here.

The ids of sessions are the memory's own. An agent may use its runtime session's id for them, but nothing says so.
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
from .namespaces import PLACEHOLDERS, RecordLocation, actor_locations, all_paths, fill_template, location_of

Progress = Callable[[str], None]
T = TypeVar("T")
_TOLD_EVERY: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReader:
    """Reads one memory, in the memory's own region."""

    clients: Clients = field(repr=False)
    memory: MemoryDescription

    def actors(self, *, limit: int | None = None, progress: Progress | None = None) -> Iterator[str]:
        """The actors' ids."""
        found = service.iter_actors(self.clients, self.memory.memory_id, region=self.memory.region)
        return _told(found, "actors", limit, progress)

    def sessions(
        self, actor: str, *, limit: int | None = None, progress: Progress | None = None
    ) -> Iterator[MemorySession]:
        """An actor's sessions, newest first as the service lists them."""
        found = service.iter_sessions(self.clients, self.memory.memory_id, actor, region=self.memory.region)
        return _told(found, "sessions", limit, progress)

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
        """Events, session by session, each session's newest first; of every actor when none is named.

        `branch` gives a branch with what was said before it forked.
        """
        if session is not None and actor is None:
            raise ValueError("A session belongs to an actor: name the actor too")
        return _told(self._events(actor, session, moment(since), branch), "events", limit, progress)

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
        """Records of a namespace and all below it (`exact`: of that one alone), newest first in each.

        `{actorId}` in the namespace is filled in from `actor`; without a namespace, all of the actor's records are
        found through the strategies' templates, and without an actor all records.
        """
        found = self._records(self.places(namespace, actor=actor, exact=exact), strategy, filters)
        return _told(found, "records", limit, progress)

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
        """The records nearest in meaning, best first with their scores; the places are those of `records`."""
        best: dict[str, MemoryRecord] = {}
        for place in self.places(namespace, actor=actor, exact=exact):
            for record in service.retrieve_records(
                self.clients,
                self.memory.memory_id,
                query,
                namespace=place.namespace,
                path=place.path,
                strategy_id=self._strategy_id(strategy),
                top_k=top_k if _holds_all(place) else service.LARGEST_TOP_K,
                filters=filters,
                region=self.memory.region,
            ):
                if _holds_all(place) or place.holds(record):
                    best.setdefault(record.record_id, record)
        return sorted(best.values(), key=lambda each: -(each.score or 0.0))[:top_k]

    def record(self, record_id: str) -> MemoryRecord:
        """One record. Raises `ResourceNotFoundError`."""
        return service.get_record(self.clients, self.memory.memory_id, record_id, region=self.memory.region)

    def failed_extractions(self, *, limit: int | None = None) -> Iterator[FailedExtraction]:
        """Extractions that failed."""
        found = service.iter_failed_extractions(self.clients, self.memory.memory_id, region=self.memory.region)
        return islice(found, limit)

    def places(self, namespace: str | None, *, actor: str | None, exact: bool = False) -> list[RecordLocation]:
        """Where `records` and `search` look."""
        if namespace is None:
            if actor is not None:
                return actor_locations(self.memory, actor)
            return [RecordLocation(template="", path=path) for path in all_paths(self.memory)]
        full = fill_template(namespace, actorId=actor or "")
        if any(f"{{{each}}}" in full for each in PLACEHOLDERS):
            place = location_of(full)
            if place is None:
                raise ValueError(f"{namespace!r} begins with a placeholder that has no value: name actor=…")
            return [place]
        return [RecordLocation(template="", namespace=full) if exact else RecordLocation(template="", path=full)]

    def _events(
        self, actor: str | None, session: str | None, since: datetime | None, branch: str | None
    ) -> Iterator[MemoryEvent]:
        region = self.memory.region
        for who in [actor] if actor is not None else self.actors():
            names: Iterable[str] = (
                [session] if session is not None else (each.session_id for each in self.sessions(who))
            )
            for name in names:
                yield from service.iter_events(
                    self.clients, self.memory.memory_id, who, name, branch=branch, since=since, region=region
                )

    def _records(
        self, places: Iterable[RecordLocation], strategy: str | None, filters: Sequence[Mapping[str, Any]]
    ) -> Iterator[MemoryRecord]:
        for place in places:
            for record in service.iter_records(
                self.clients,
                self.memory.memory_id,
                namespace=place.namespace,
                path=place.path,
                strategy_id=self._strategy_id(strategy),
                filters=filters,
                region=self.memory.region,
            ):
                if _holds_all(place) or place.holds(record):
                    yield record

    def _strategy_id(self, strategy: str | None) -> str | None:
        """A strategy's id, given as that or by its name."""
        named = {each.name: each.strategy_id for each in self.memory.strategies}
        return None if strategy is None else named.get(strategy, strategy)


def moment(since: datetime | timedelta | None) -> datetime | None:
    """A moment, given as such (without a zone it is UTC) or as the time since."""
    if isinstance(since, timedelta):
        return datetime.now(UTC) - since
    if since is not None and since.tzinfo is None:
        return since.replace(tzinfo=UTC)
    return since


def _holds_all(place: RecordLocation) -> bool:
    return not place.template or place.namespace is not None


def _told(found: Iterable[T], what: str, limit: int | None, progress: Progress | None) -> Iterator[T]:
    if limit is not None and limit < 0:
        raise ValueError("limit is a number of rows, or None for all")
    for number, each in enumerate(islice(found, limit), start=1):
        yield each
        if progress is not None and number % _TOLD_EVERY == 0:
            progress(f"{number:,} {what} read")
