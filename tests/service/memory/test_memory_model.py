"""Any interleaving of creates, deletions, filters, pages, branches, restarts and passing time follows the rules."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from loomlib.local.memory import MEMORY, EventPlane, MemoryBehaviour, MemoryStore, MemorySweeper, read_journal
from loomlib.local.resources.engine import ResourceEngine
from loomlib.local.resources.store import ResourceStore
from loomlib.local.wire import RefusedError

DAY_S = 86_400
EXPIRY_DAYS = 3
PLACES = st.sampled_from([("ada", "s1"), ("ada", "s2"), ("bob", "s1")])
METADATA = st.dictionaries(st.sampled_from("kl"), st.sampled_from(["", "x", "y"]))
FILTERS = st.lists(
    st.tuples(st.sampled_from("kl"), st.sampled_from(["EXISTS", "NOT_EXISTS", "", "x", "y"])), max_size=3
)
BRANCHES = st.sampled_from(["main", "b", "c", "d"])


@dataclass
class Event:
    """An event as the rules know it; `order` is how it is sorted, the greatest first."""

    id: str
    order: tuple[int, int]
    place: tuple[str, str]
    branch: str
    metadata: dict[str, str]
    expires_s: float
    token: str


@dataclass
class Session:
    events: list[Event] = field(default_factory=list)
    branches: dict[str, tuple[str, tuple[int, int], str]] = field(default_factory=dict)
    empty_since_s: float = 0.0


class Memory(RuleBasedStateMachine):
    """The model beside the real planes on a real file; `present` is what lies on disk, expired or not."""

    ids = Bundle("ids")
    pagers = Bundle("pagers")

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.runner = asyncio.Runner()
        self.now_s = 1_000_000_000.0
        self.sessions: dict[tuple[str, str], Session] = {}
        self.count = 0
        self.open()

    def open(self) -> None:
        self.resources = ResourceStore(self.home)
        self.store = MemoryStore(self.home)
        self.plane = EventPlane(self.store, clock=lambda: self.now_s)
        self.control = ResourceEngine(
            self.resources, [(MEMORY, MemoryBehaviour())], account_id="123456789012", clock=lambda: self.now_s
        )

    def teardown(self) -> None:
        self.store.close()
        self.resources.close()
        self.runner.close()
        shutil.rmtree(self.home)

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        return json.loads(self.runner.run(getattr(self.plane, operation)(parameters)))

    @initialize()
    def begin(self) -> None:
        parameters = {"name": "model", "eventExpiryDuration": EXPIRY_DAYS}
        created = self.runner.run(self.control.call("CreateMemory", parameters, region="us-east-1"))
        self.memory_id = created["memory"]["id"]

    def at(self, place: tuple[str, str]) -> dict[str, Any]:
        return {"memoryId": self.memory_id, "actorId": place[0], "sessionId": place[1]}

    def live(self, place: tuple[str, str]) -> list[Event]:
        events = self.sessions[place].events if place in self.sessions else []
        return sorted((event for event in events if event.expires_s > self.now_s), key=lambda event: event.order)[::-1]

    # Changes

    @rule(
        target=ids,
        place=PLACES,
        second=st.integers(0, 4),
        metadata=METADATA,
        branch=st.none() | BRANCHES,
        root=st.none() | st.integers(0, 5),
    )
    def create(
        self, place: tuple[str, str], second: int, metadata: dict[str, str], branch: str | None, root: int | None
    ) -> Any:
        self.count += 1
        token = f"token-{self.count}"
        parameters = self.at(place) | {
            "eventTimestamp": float(second),
            "payload": [{"blob": self.count}],
            "clientToken": token,
            "metadata": {key: {"stringValue": value} for key, value in metadata.items()},
        }
        session = self.sessions.get(place, Session())
        forks_at: Event | None = None
        live = self.live(place)
        if branch is not None:
            parameters["branch"] = {"name": branch}
            if root is not None and live:
                forks_at = live[root % len(live)]
                parameters["branch"]["rootEventId"] = forks_at.id
        if not self.may_join(session, branch, forks_at):
            with pytest.raises(RefusedError) as caught:
                self.call("create_event", **parameters)
            assert caught.value.code == "ValidationException"
            return multiple()
        event_id = self.call("create_event", **parameters)["event"]["eventId"]
        order = (second * 1000, int(event_id.partition("#")[2], 16))
        self.sessions[place] = session
        session.events.append(
            Event(event_id, order, place, branch or "main", metadata, self.now_s + EXPIRY_DAYS * DAY_S, token)
        )
        if branch not in (None, "main") and branch not in session.branches:
            assert forks_at
            session.branches[branch] = (forks_at.branch, forks_at.order, forks_at.id)
        assert self.call("create_event", **parameters)["event"]["eventId"] == event_id
        with pytest.raises(RefusedError) as caught:
            self.call("create_event", **(parameters | {"payload": []}))
        assert caught.value.members["reason"] == "IdempotentParameterMismatchException"
        return event_id

    @rule(target=ids, place=PLACES, second=st.integers(0, 4), branch=BRANCHES, root=st.integers(0, 5))
    def fork(self, place: tuple[str, str], second: int, branch: str, root: int) -> Any:
        """A create that forks or joins a branch more often than chance would."""
        branch_exists = place in self.sessions and branch in self.sessions[place].branches
        return self.create(
            place=place,
            second=second,
            metadata={},
            branch=branch,
            root=None if branch_exists or branch == "main" else root,
        )

    @staticmethod
    def may_join(session: Session, branch: str | None, root: Event | None) -> bool:
        if branch is None:
            return True
        if branch == "main":
            return root is None
        if fork_point := session.branches.get(branch):
            return root is None or fork_point[2] == root.id
        return root is not None

    @rule(event_id=consumes(ids), place=PLACES)
    def delete(self, event_id: str, place: tuple[str, str]) -> None:
        event = next((event for event in self.live(place) if event.id == event_id), None)
        parameters = self.at(place) | {"eventId": event_id}
        if event is None:
            with pytest.raises(RefusedError) as caught:
                self.call("delete_event", **parameters)
            assert caught.value.status == 404
            return
        assert self.call("get_event", **parameters)["event"]["eventId"] == event_id
        self.call("delete_event", **parameters)
        self.take_out(event)

    def take_out(self, event: Event) -> None:
        session = self.sessions[event.place]
        session.events.remove(event)
        session.empty_since_s = self.now_s

    @rule(days=st.sampled_from([0.3, 1.1, 2.0]))
    def time_passes(self, days: float) -> None:
        self.now_s += days * DAY_S

    @rule()
    def sweep(self) -> None:
        MemorySweeper(self.store, clock=lambda: self.now_s).sweep()
        for place, session in list(self.sessions.items()):
            for event in [event for event in session.events if event.expires_s <= self.now_s]:
                self.take_out(event)
            if not session.events and session.empty_since_s <= self.now_s - DAY_S:
                del self.sessions[place]

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.resources.close()
        self.open()

    # Reading

    def matching(self, place: tuple[str, str], filters: Any, branch: str | None, parents: bool) -> list[Event]:
        parts = {branch: (2**62, 0)} if branch else {}
        branches = self.sessions[place].branches if place in self.sessions else {}
        while parents and branch in branches:
            branch, until, _ = branches[branch]
            parts[branch] = until
        events = self.live(place)
        if parts:
            events = [event for event in events if event.order <= parts.get(event.branch, (-1, 0))]
        for key, condition in filters:
            if condition == "EXISTS":
                events = [event for event in events if key in event.metadata]
            elif condition == "NOT_EXISTS":
                events = [event for event in events if key not in event.metadata]
            else:
                events = [event for event in events if event.metadata.get(key) == condition]
        return events

    @rule(
        target=pagers,
        place=PLACES,
        filters=FILTERS,
        branch=st.none() | BRANCHES,
        parents=st.booleans(),
        size=st.integers(1, 3),
    )
    def list_first_page(
        self, place: tuple[str, str], filters: Any, branch: str | None, parents: bool, size: int
    ) -> Any:
        event_filter: dict[str, Any] = {}
        if filters:
            event_filter["eventMetadata"] = [
                {"left": {"metadataKey": key}, "operator": condition}
                if condition.endswith("EXISTS")
                else {
                    "left": {"metadataKey": key},
                    "operator": "EQUALS_TO",
                    "right": {"metadataValue": {"stringValue": condition}},
                }
                for key, condition in filters
            ]
        if branch:
            event_filter["branch"] = {"name": branch, "includeParentBranches": parents}
        parameters = self.at(place) | ({"filter": event_filter} if event_filter else {})
        return self.turn_page(parameters, (place, filters, branch, parents), size, None, (2**62, 0))

    @rule(target=pagers, pager=consumes(pagers), size=st.integers(1, 3))
    def list_next_page(self, pager: Any, size: int) -> Any:
        parameters, query, token, position = pager
        return self.turn_page(parameters, query, size, token, position)

    @rule(place=PLACES, branch=st.none() | BRANCHES, parents=st.booleans(), size=st.integers(1, 2))
    def walk_all_pages(self, place: tuple[str, str], branch: str | None, parents: bool, size: int) -> None:
        """Every page of the listings that each key's values on this place's events suggest."""
        values = {key: {event.metadata.get(key) for event in self.live(place)} for key in "kl"}
        filter_sets = [
            [(key, value) for key, value in (("k", k_value), ("l", l_value)) if value is not None]
            for k_value in values["k"] | {None}
            for l_value in values["l"] | {None, "EXISTS", "NOT_EXISTS"}
        ]
        for filters in filter_sets:
            pager = self.list_first_page(place=place, filters=filters, branch=branch, parents=parents, size=size)
            while isinstance(pager, tuple):
                pager = self.list_next_page(pager=pager, size=size)

    def turn_page(self, parameters: Any, query: Any, size: int, token: str | None, position: tuple[int, int]) -> Any:
        page = self.call("list_events", **parameters, maxResults=size, **({"nextToken": token} if token else {}))
        expected = [event for event in self.matching(*query) if event.order < position]
        assert [event["eventId"] for event in page["events"]] == [event.id for event in expected[:size]]
        assert ("nextToken" in page) == (len(expected) > size)
        if "nextToken" not in page:
            return multiple()
        return parameters, query, page["nextToken"], expected[size - 1].order

    @invariant()
    def every_branch_with_its_parents_is_whole(self) -> None:
        for place, session in self.sessions.items():
            for branch in session.branches:
                parameters = {"filter": {"branch": {"name": branch, "includeParentBranches": True}}, "maxResults": 100}
                listed = self.call("list_events", **self.at(place), **parameters)["events"]
                assert [event["eventId"] for event in listed] == [
                    event.id for event in self.matching(place, (), branch, True)
                ]

    @invariant()
    def sessions_actors_and_journal_agree(self) -> None:
        if not hasattr(self, "memory_id"):
            return
        for actor in ("ada", "bob"):
            place = {"memoryId": self.memory_id, "actorId": actor}
            session_ids = {summary["sessionId"] for summary in self.call("list_sessions", **place)["sessionSummaries"]}
            assert session_ids == {session for name, session in self.sessions if name == actor}
            summaries = self.call("list_sessions", **place, filter={"eventFilter": "HAS_EVENTS"})["sessionSummaries"]
            assert {summary["sessionId"] for summary in summaries} == {
                session for name, session in self.sessions if name == actor and self.live((name, session))
            }
        actors = [summary["actorId"] for summary in self.call("list_actors", memoryId=self.memory_id)["actorSummaries"]]
        assert actors == sorted({actor for actor, _ in self.sessions})
        events = [event for session in self.sessions.values() for event in session.events]
        assert self.journal() == [event.id for event in sorted(events, key=lambda event: event.order[1])]

    def journal(self) -> list[str]:
        """The ids of all events on disk in the order in which they came."""
        entries = self.store.read_now(lambda connection: read_journal(connection, after=0, limit=10_000))
        return [entry.event_id for entry in entries]


TestMemory = Memory.TestCase
TestMemory.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
