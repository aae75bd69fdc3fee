"""Collected traces in the store: whole, replaced, found in bulk."""

from __future__ import annotations

import pytest
from store_rows import query

from loomlib.errors import StoreError
from loomlib.store import Store


def invocation(store: Store, session_id: str = "session") -> int:
    agent = store.agents.upsert(
        scope="local", arn="arn", runtime_id="one-0000000001", region="us-east-1", account_id="1"
    )
    return store.invocations.begin(agent_id=agent.id, session_id=session_id)


def put(store: Store, id: int, *records: str, state: str = "found") -> None:
    store.traces.put(
        id,
        session_id="session",
        trace_id="t",
        state=state,
        is_complete=state == "found",
        span_count=len(records),
        records=records,
        details={"is_cold": True},
    )


def test_a_trace_comes_back_as_it_was_kept(store: Store) -> None:
    id = invocation(store)
    odd = ("{}", "\x00\ud800\N{PILE OF POO}", "x" * 1_000_000)
    put(store, id, *odd)
    trace = store.traces.get(id)
    assert trace is not None
    assert (trace.records, trace.state, trace.is_complete, trace.span_count) == (odd, "found", True, 3)
    assert trace.details == {"is_cold": True}
    assert trace.fetched_at.tzinfo is not None


def test_a_trace_that_grew_takes_the_place_of_the_former(store: Store) -> None:
    id = invocation(store)
    put(store, id, "a", state="partial")
    put(store, id, "a", "b")
    trace = store.traces.get(id)
    assert trace is not None
    assert (trace.state, trace.records) == ("found", ("a", "b"))


def test_hundreds_of_traces_are_found_at_once_and_missing_ones_left_out(store: Store) -> None:
    ids = [invocation(store) for _ in range(520)]
    for id in ids[::2]:
        put(store, id, "{}")
    assert sorted(store.traces.get_many(ids)) == ids[::2]
    assert store.traces.get_many([]) == {}
    assert store.traces.get(ids[1]) is None


def test_a_trace_belongs_to_an_invocation(store: Store) -> None:
    with pytest.raises(StoreError):
        put(store, 4711, "{}")


def test_spans_are_kept_small(store: Store, store_url: str) -> None:
    id = invocation(store)
    put(store, id, *['{"resource": {"attributes": {"service.name": "calculator"}}, "name": "chat"}'] * 1000)
    ((size,),) = query(store_url, "SELECT length(records) FROM traces")
    assert size < 10_000


def test_the_trace_ids_of_a_session_come_in_the_order_of_its_calls(store: Store) -> None:
    first, second, other = invocation(store), invocation(store), invocation(store, "another")
    store.invocations.finish(
        first, status="complete", response="", client_done_time=1.0, client_duration_ms=1.0, trace_id="t1"
    )
    agent_id = store.invocations.list(limit=1)[0].agent_id
    assert store.invocations.trace_ids(agent_id, "session") == {first: "t1", second: None}
    assert list(store.invocations.trace_ids(agent_id, "another")) == [other]
