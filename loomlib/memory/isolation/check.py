"""Tests isolation as a property: reading as one actor never returns another actor's records or events.

The test uses seeded random actors and tenants with very similar ids, and runs against the memory itself, in a temporary
namespace with temporary actors. It deletes its test data afterwards and reports what could not be deleted.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ...aws import memory_writing as writing
from ...aws.memory import iter_records, iter_sessions, retrieve_records
from ...errors import RequestRejectedError
from ...presentation.formats import number, plural
from ..reading import MemoryReader
from .report import Crossing, IsolationReport
from .scratch import CANARY, SESSION, ScratchData
from .subjects import DESIGN_PATTERNS, IsolationSubject, checked_patterns, subjects

Progress = Callable[[str], None]
_EVENT_PAIRS: Final = 40
_TOP_K: Final = 100
_POLL_S: Final = 0.5


def check_isolation(
    reader: MemoryReader,
    *,
    patterns: Iterable[str] | None = None,
    actors: int = 12,
    seed: int = 0,
    slashes: bool = False,
    settle_s: float = 60.0,
    progress: Progress | None = None,
    labels: tuple[str, ...] = (),
) -> IsolationReport:
    """Write as several actors, and read as each of them by exact namespace, by path and by search.

    Args:
        reader: Reads the memory.
        patterns: Namespaces with placeholders ({actorId}, {sessionId}, {tenantId}, {userId} …); the memory's own
            templates when left out.
        actors: Number of test actors.
        seed: Seed of the test actors' ids.
        slashes: Whether ids may contain slashes, so that one actor's namespace is below another's.
        settle_s: How long to wait for written records to be found, in seconds; on AWS that takes a while.
        progress: Called with a sentence after each actor.
        labels: Provenance labels of the report.

    Raises:
        ValueError: A pattern has an unknown placeholder, or the number of actors is out of range.
    """
    own = [template for strategy in reader.memory.strategies for template in strategy.namespaces]
    tried = checked_patterns(patterns if patterns is not None else own or DESIGN_PATTERNS)
    token = f"iso{uuid.uuid4().hex[:8]}"
    test_actors = subjects(seed, actors, token + "-", slashes=slashes)
    scratch = ScratchData(reader, f"/loom-isolation-{token}")
    test = _IsolationTest(reader, scratch, tried)
    not_checked: list[str] = []
    try:
        scratch.write_records(
            [(subject, test.namespace(subject, pattern)) for pattern in tried for subject in test_actors], token
        )
        not_checked += test.settle(test_actors, settle_s)
        for count, subject in enumerate(test_actors, 1):
            for pattern in tried:
                test.records(subject, pattern)
            if progress is not None:
                progress(
                    f"{number(count)} of {plural(len(test_actors), 'actor')} tested, "
                    f"{plural(len(test.crossings), 'record')} of others returned"
                )
        scratch.write_events(test_actors, token)
        test.events(test_actors, random.Random(seed))  # noqa: S311 - reproducible, not secret
        if test.refused:
            not_checked.append(f"{plural(len(test.refused), 'read')} rejected, the first: {test.refused[0]}")
    finally:
        leftovers = scratch.clean()
    return IsolationReport(
        memory_id=reader.memory.memory_id,
        name=reader.memory.name,
        seed=seed,
        actors=tuple(subject.actor_id for subject in test_actors),
        patterns=tuple(tried),
        reads=test.reads,
        crossings=tuple(test.crossings),
        not_checked=tuple(not_checked),
        left_behind=tuple(leftovers),
        labels=labels,
    )


class _IsolationTest:
    def __init__(self, reader: MemoryReader, scratch: ScratchData, patterns: Sequence[str]) -> None:
        self._reader, self._scratch, self._patterns = reader, scratch, patterns
        self.reads = 0
        self.crossings: list[Crossing] = []
        self.refused: list[str] = []

    def namespace(self, subject: IsolationSubject, pattern: str) -> str:
        return subject.namespace(pattern, self._scratch.root)

    def settle(self, test_actors: Sequence[IsolationSubject], settle_s: float) -> list[str]:
        """Wait until every actor finds its own records; return those not found, which cannot be checked."""
        deadline = time.monotonic() + settle_s
        missing = [(subject, pattern) for subject in test_actors for pattern in self._patterns]
        while missing:
            self.refused.clear()  # a later search may be accepted
            missing = [pair for pair in missing if not self._has_own(*pair)]
            if missing and time.monotonic() >= deadline:
                return [f"{subject.actor_id} does not find its own record in {pattern}" for subject, pattern in missing]
            if missing:
                time.sleep(_POLL_S)
        return []

    def _has_own(self, subject: IsolationSubject, pattern: str) -> bool:
        records = self._retrieved({"namespace": self.namespace(subject, pattern)})
        return any(self._scratch.records.get(record_id) == subject for record_id in records)

    def records(self, subject: IsolationSubject, pattern: str) -> None:
        """Read records in every way in which an agent of this actor may."""
        full = self.namespace(subject, pattern)
        locations = [{"namespace": full}, {"namespacePath": full}]
        if "{sessionId}" in pattern and pattern.index("{sessionId}") > pattern.find("{actorId}") >= 0:
            locations.append({"namespacePath": self.namespace(subject, pattern[: pattern.index("{sessionId}")])})
        for location in locations:
            criteria = {"searchCriteria": {"searchQuery": CANARY, "topK": _TOP_K}}
            self._check_records(subject, pattern, self._listed(location), "list_memory_records", location)
            self._check_records(
                subject, pattern, self._retrieved(location), "retrieve_memory_records", {**location, **criteria}
            )

    def events(self, test_actors: Sequence[IsolationSubject], rng: random.Random) -> None:
        """Read events: every actor has a session with the same id, and asks for the events of others."""
        memory, clients = self._reader.memory, self._reader.clients
        for subject in test_actors:
            request = {"actorId": subject.actor_id, "sessionId": SESSION}
            shapes = writing.iter_event_shapes(
                clients, memory.memory_id, subject.actor_id, SESSION, payloads=False, region=memory.region
            )
            self._check_events(subject, (str(shape["eventId"]) for shape in shapes), "list_events", request)
            sessions = iter_sessions(clients, memory.memory_id, subject.actor_id, region=memory.region)
            self.reads += 1
            for session in sessions:
                if session.actor_id != subject.actor_id:
                    self._cross(subject, session.actor_id, "", "list_sessions", {"actorId": subject.actor_id})
        pairs = [
            (subject, event_id, owner)
            for subject in test_actors
            for event_id, owner in self._scratch.events.items()
            if owner != subject
        ]
        for subject, event_id, _ in rng.sample(pairs, min(_EVENT_PAIRS, len(pairs))):
            shape = writing.get_event(
                clients, memory.memory_id, subject.actor_id, SESSION, event_id, region=memory.region
            )
            request = {"actorId": subject.actor_id, "sessionId": SESSION, "eventId": event_id}
            self._check_events(subject, [event_id] if shape is not None else [], "get_event", request)

    def _check_events(
        self, subject: IsolationSubject, ids: Iterable[str], operation: str, request: Mapping[str, Any]
    ) -> None:
        self.reads += 1
        for event_id in ids:
            owner = self._scratch.events.get(event_id)
            if owner is not None and owner != subject:
                self._cross(subject, owner.actor_id, "", operation, request, owner=owner, leaked=event_id)

    def _check_records(
        self, subject: IsolationSubject, pattern: str, ids: Iterator[str], operation: str, request: Mapping[str, Any]
    ) -> None:
        self.reads += 1
        for record_id in ids:
            owner = self._scratch.records.get(record_id)
            if owner is not None and owner != subject:
                self._cross(subject, owner.actor_id, pattern, operation, request, owner=owner, leaked=record_id)

    def _cross(
        self,
        subject: IsolationSubject,
        owner_id: str,
        pattern: str,
        operation: str,
        request: Mapping[str, Any],
        *,
        owner: IsolationSubject | None = None,
        leaked: str = "",
    ) -> None:
        parameters = ", ".join(f"{name}={value!r}" for name, value in {"memoryId": self._memory_id, **request}.items())
        self.crossings.append(
            Crossing(
                reader=subject.actor_id,
                owner=owner_id,
                crosses="tenant" if owner is not None and owner.tenant != subject.tenant else "actor",
                call=f"{operation}({parameters})",
                pattern=pattern,
                leaked_id=leaked,
                fix=self._fix(subject, owner, pattern),
            )
        )

    @property
    def _memory_id(self) -> str:
        return self._reader.memory.memory_id

    def _fix(self, subject: IsolationSubject, owner: IsolationSubject | None, pattern: str) -> str:
        if not pattern or owner is None:
            return "report it to the service's provider: events must only be returned for their own actor"
        if not any(name in pattern for name in ("{actorId}", "{userId}", "{user_id}")):
            return f"name the actor in the pattern: {pattern.rstrip('/')}/{{actorId}}/"
        mine, other = self.namespace(subject, pattern), self.namespace(owner, pattern)
        if mine == other:
            return "two actors have the same namespace: put each placeholder between slashes"
        if not pattern.endswith("/") and not other.startswith(mine.rstrip("/") + "/"):
            return f"add a slash at the end of the pattern: {pattern}/"
        return (
            "read by `namespace`, not by `namespacePath`, or use actor ids without a slash: "
            "one namespace is below the other"
        )

    def _listed(self, location: Mapping[str, str]) -> Iterator[str]:
        memory, clients = self._reader.memory, self._reader.clients
        records = iter_records(
            clients,
            memory.memory_id,
            namespace=location.get("namespace"),
            path=location.get("namespacePath"),
            region=memory.region,
        )
        return (record.record_id for record in records)

    def _retrieved(self, location: Mapping[str, str]) -> Iterator[str]:
        memory, clients = self._reader.memory, self._reader.clients
        try:
            records = retrieve_records(
                clients,
                memory.memory_id,
                CANARY,
                namespace=location.get("namespace"),
                path=location.get("namespacePath"),
                top_k=_TOP_K,
                region=memory.region,
            )
        except RequestRejectedError as error:
            self.refused.append(str(error))
            return iter(())
        return (record.record_id for record in records)
