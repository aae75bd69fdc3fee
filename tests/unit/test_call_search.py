"""The search for invocations and their traces."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loomlib.store import Store
from loomlib.store.call_search import CallFilter
from loomlib.workbench.agent_history import AgentHistory

NOW = time.time()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path_factory.mktemp('search') / 'loom.db'}") as store:
        for name in ("a", "b", "c"):
            agent = store.agents.upsert(
                scope="local", arn=f"arn:{name}", runtime_id=name, region="us-east-1", account_id="1", name=name
            ).id
            for number in range(20):
                id = store.invocations.begin(
                    agent_id=agent, session_id=f"{name}{number // 5}", client_invoke_time=NOW - 3600 * number
                )
                store.invocations.finish(
                    id,
                    status="error" if number % 10 == 3 else "complete",
                    response="",
                    client_done_time=NOW,
                    client_duration_ms=100.0 * (number + agent),
                    failure="timeout" if number % 10 == 3 else None,
                    trace_id=f"{name}-{number}",
                )
                if number == 0:
                    store.traces.put(
                        id, session_id="s", trace_id=None, state="found", is_complete=True, span_count=7, records=[]
                    )
        store.invocations.begin(agent_id=1, session_id="never sent")
        yield store


def test_the_newest_come_first_over_all_agents(store: Store) -> None:
    calls = store.call_search.find(CallFilter(), limit=6)
    assert [call.sent_s for call in calls] == [NOW] * 3 + [NOW - 3600] * 3
    assert {(call.agent_name, call.trace_state, call.spans) for call in calls[:3]} == {
        (name, "found", 7) for name in "abc"
    }
    assert calls[-1].trace_state is None
    assert len(store.call_search.find(CallFilter())) == 60


def test_an_agents_sessions_are_limited_only_as_requested(store: Store) -> None:
    history = AgentHistory(cast("Any", SimpleNamespace(store=store)), cast("Any", SimpleNamespace(id=2)))
    assert list(history.sessions(limit=1)["session_id"]) == list(history.sessions()["session_id"][:1])
    assert len(history.sessions(limit=None)) == 4


def test_the_slowest_come_first_when_they_are_wanted(store: Store) -> None:
    calls = store.call_search.find(CallFilter(), order="slowest", limit=4)
    assert [call.duration_ms for call in calls] == [2200.0, 2100.0, 2100.0, 2000.0]


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (CallFilter(agent_ids=(2,)), 20),
        (CallFilter(agent_ids=(1, 3)), 40),
        (CallFilter(agent_ids=()), 0),
        (CallFilter(failed=True), 6),
        (CallFilter(failed=False), 54),
        (CallFilter(failure="timeout", agent_ids=(1,)), 2),
        (CallFilter(failure="throttle"), 0),
        (CallFilter(min_duration_ms=2000.0), 6),
        (CallFilter(session_id="b1"), 5),
        (CallFilter(trace_id="c-4"), 1),
        (CallFilter(since=datetime.fromtimestamp(NOW - 3600 * 4.5, UTC)), 15),
        (CallFilter(until=datetime.fromtimestamp(NOW - 3600 * 4.5, UTC), agent_ids=(1,)), 15),
    ],
)
def test_each_condition_holds_for_what_is_found(store: Store, wanted: CallFilter, count: int) -> None:
    assert len(store.call_search.find(wanted)) == count


def test_the_newest_sessions_are_summed_up_whole(store: Store) -> None:
    newest = store.invocations.sessions(1, limit=2)
    assert newest == store.invocations.sessions(1, limit=None)[:2]
    assert [session.session_id for session in newest] == ["never sent", "a3"]
    assert newest[1].invocations == 5


def test_the_sessions_of_a_time_window_are_found_behind_newer_ones(store: Store) -> None:
    window = {hours: datetime.fromtimestamp(NOW - 3600 * hours, UTC) for hours in (9.5, 4.5, 0.5)}
    (older,) = store.invocations.sessions(1, limit=1, since=window[9.5], until=window[4.5])
    assert (older.session_id, older.invocations) == ("a1", 5)
    sessions = store.invocations.sessions(1, limit=None, since=window[4.5])
    assert [session.session_id for session in sessions] == ["a0"]
    assert store.invocations.sessions(1, until=window[0.5])[0].session_id == "a3"
    assert store.invocations.sessions(1, since=window[0.5], limit=None)[0].session_id == "a0"
