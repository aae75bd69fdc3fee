"""Isolation as a property: whoever reads as an agent of one actor gets nothing of another's.

Tried with seeded random actors and tenants whose ids are as much alike as ids may be, against the memory itself: in a
scratch namespace, with scratch actors, cleaned up afterwards whatever happens.
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
from ..reading import MemoryReader
from .report import Crossing, IsolationReport
from .scratch import CANARY, SESSION, ScratchData
from .subjects import DESIGN_PATTERNS, IsolationSubject, checked_patterns, subjects

Progress = Callable[[str], None]
_PAIRS: Final = 40
_MOST: Final = 100
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
    """Write as `actors`, read as each of them by exact namespace, by path and by meaning, and see what comes.

    `patterns` are namespaces with placeholders ({actorId}, {sessionId}, {tenantId}, {userId} …); without any the
    memory's own templates are tried. With `slashes` ids may have slashes, so that one actor's is a folder of another's.
    On AWS a record may be found some time after it was written: up to `settle_s`.
    """
    own = [template for each in reader.memory.strategies for template in each.namespaces]
    tried = checked_patterns(patterns if patterns is not None else own or DESIGN_PATTERNS)
    token = f"iso{uuid.uuid4().hex[:8]}"
    people = subjects(seed, actors, token + "-", slashes=slashes)
    scratch = ScratchData(reader, f"/loom-isolation-{token}")
    look = _IsolationTest(reader, scratch, tried)
    not_checked: list[str] = []
    try:
        scratch.write_records([(who, look.place(who, pattern)) for pattern in tried for who in people], token)
        not_checked += look.settle(people, settle_s)
        for number, who in enumerate(people, 1):
            for pattern in tried:
                look.records(who, pattern)
            if progress is not None:
                progress(f"read as {number} of {len(people)} actors, {len(look.crossings)} crossings")
        scratch.write_events(people, token)
        look.events(people, random.Random(seed))  # noqa: S311 - to be drawn again, not to be secret
    finally:
        left = scratch.clean()
    return IsolationReport(
        memory_id=reader.memory.memory_id,
        name=reader.memory.name,
        seed=seed,
        actors=tuple(each.actor_id for each in people),
        patterns=tuple(tried),
        reads=look.reads,
        crossings=tuple(look.crossings),
        not_checked=tuple(not_checked),
        left_behind=tuple(left),
        labels=labels,
    )


class _IsolationTest:
    def __init__(self, reader: MemoryReader, scratch: ScratchData, patterns: Sequence[str]) -> None:
        self._reader, self._scratch, self._patterns = reader, scratch, patterns
        self.reads = 0
        self.crossings: list[Crossing] = []

    def place(self, who: IsolationSubject, pattern: str) -> str:
        return who.namespace(pattern, self._scratch.root)

    def settle(self, people: Sequence[IsolationSubject], settle_s: float) -> list[str]:
        """Wait until everybody finds what is his; where he does not, nothing was checked."""
        ends = time.monotonic() + settle_s
        missing = [(who, pattern) for who in people for pattern in self._patterns]
        while missing:
            missing = [each for each in missing if not self._has_own(*each)]
            if missing and time.monotonic() >= ends:
                return [f"{who.actor_id} does not find his own record in {pattern}" for who, pattern in missing]
            if missing:
                time.sleep(_POLL_S)
        return []

    def _has_own(self, who: IsolationSubject, pattern: str) -> bool:
        found = self._retrieved({"namespace": self.place(who, pattern)})
        return any(self._scratch.records.get(each) == who for each in found)

    def records(self, who: IsolationSubject, pattern: str) -> None:
        """Every way in which an agent of `who` would read."""
        full = self.place(who, pattern)
        places = [{"namespace": full}, {"namespacePath": full}]
        if "{sessionId}" in pattern and pattern.index("{sessionId}") > pattern.find("{actorId}") >= 0:
            places.append({"namespacePath": self.place(who, pattern[: pattern.index("{sessionId}")])})
        for place in places:
            criteria = {"searchCriteria": {"searchQuery": CANARY, "topK": _MOST}}
            self._compare(who, pattern, self._listed(place), "list_memory_records", place)
            self._compare(who, pattern, self._retrieved(place), "retrieve_memory_records", {**place, **criteria})

    def events(self, people: Sequence[IsolationSubject], chance: random.Random) -> None:
        """Short-term memory: everybody has a session of the same id, and asks for others' events."""
        memory, clients = self._reader.memory, self._reader.clients
        for who in people:
            asked = {"actorId": who.actor_id, "sessionId": SESSION}
            shapes = writing.iter_event_shapes(
                clients, memory.memory_id, who.actor_id, SESSION, payloads=False, region=memory.region
            )
            self._seen(who, (str(each["eventId"]) for each in shapes), "list_events", asked)
            found = iter_sessions(clients, memory.memory_id, who.actor_id, region=memory.region)
            self.reads += 1
            for each in found:
                if each.actor_id != who.actor_id:
                    self._cross(who, each.actor_id, "", "list_sessions", {"actorId": who.actor_id})
        pairs = [(who, each, owner) for who in people for each, owner in self._scratch.events.items() if owner != who]
        for who, event_id, _ in chance.sample(pairs, min(_PAIRS, len(pairs))):
            shape = writing.get_event(clients, memory.memory_id, who.actor_id, SESSION, event_id, region=memory.region)
            asked = {"actorId": who.actor_id, "sessionId": SESSION, "eventId": event_id}
            self._seen(who, [event_id] if shape is not None else [], "get_event", asked)

    def _seen(self, who: IsolationSubject, ids: Iterable[str], call: str, asked: Mapping[str, Any]) -> None:
        self.reads += 1
        for each in ids:
            owner = self._scratch.events.get(each)
            if owner is not None and owner != who:
                self._cross(who, owner.actor_id, "", call, asked, owner=owner, leaked=each)

    def _compare(
        self, who: IsolationSubject, pattern: str, ids: Iterator[str], call: str, asked: Mapping[str, Any]
    ) -> None:
        self.reads += 1
        for each in ids:
            owner = self._scratch.records.get(each)
            if owner is not None and owner != who:
                self._cross(who, owner.actor_id, pattern, call, asked, owner=owner, leaked=each)

    def _cross(
        self,
        who: IsolationSubject,
        owner_id: str,
        pattern: str,
        call: str,
        asked: Mapping[str, Any],
        *,
        owner: IsolationSubject | None = None,
        leaked: str = "",
    ) -> None:
        said = ", ".join(f"{name}={value!r}" for name, value in {"memoryId": self._memory_id, **asked}.items())
        self.crossings.append(
            Crossing(
                reader=who.actor_id,
                owner=owner_id,
                crosses="tenant" if owner is not None and owner.tenant != who.tenant else "actor",
                call=f"{call}({said})",
                pattern=pattern,
                leaked_id=leaked,
                fix=self._fix(who, owner, pattern),
            )
        )

    @property
    def _memory_id(self) -> str:
        return self._reader.memory.memory_id

    def _fix(self, who: IsolationSubject, owner: IsolationSubject | None, pattern: str) -> str:
        if not pattern or owner is None:
            return "tell the service's provider: short-term memory is kept by actor"
        if not any(name in pattern for name in ("{actorId}", "{userId}", "{user_id}")):
            return f"name the actor in the pattern: {pattern.rstrip('/')}/{{actorId}}/"
        mine, other = self.place(who, pattern), self.place(owner, pattern)
        if mine == other:
            return "two actors fill the pattern in alike: put each placeholder between slashes of its own"
        if not pattern.endswith("/") and not other.startswith(mine.rstrip("/") + "/"):
            return f"end the pattern with a slash: {pattern}/"
        return "read by `namespace`, not by path, or give actors ids without a slash: one's is a folder of the other's"

    def _listed(self, place: Mapping[str, str]) -> Iterator[str]:
        memory, clients = self._reader.memory, self._reader.clients
        found = iter_records(
            clients,
            memory.memory_id,
            namespace=place.get("namespace"),
            path=place.get("namespacePath"),
            region=memory.region,
        )
        return (each.record_id for each in found)

    def _retrieved(self, place: Mapping[str, str]) -> Iterator[str]:
        memory, clients = self._reader.memory, self._reader.clients
        try:
            found = retrieve_records(
                clients,
                memory.memory_id,
                CANARY,
                namespace=place.get("namespace"),
                path=place.get("namespacePath"),
                top_k=_MOST,
                region=memory.region,
            )
        except RequestRejectedError:
            return iter(())
        return (each.record_id for each in found)
