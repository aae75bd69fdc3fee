"""Reading an agent's ledger of approvals: what its events say together, and nothing else that lies there."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.aws.memory_shapes import MemoryEvent, MemoryMessage
from loomlib.memory import APPROVAL_STATES, read_approvals

ASKED = datetime(2026, 11, 22, 12, tzinfo=UTC)
BASE: dict[str, Any] = {
    "id": "a1",
    "state": "pending",
    "tool": "refund_order",
    "input": {"euros": 40},
    "session_id": "s",
    "actor": "ana",
    "asked_at": ASKED.isoformat(),
    "expires_at": (ASKED + timedelta(hours=1)).isoformat(),
}


def event(text: str) -> MemoryEvent:
    message = MemoryMessage(role="BLOB", text=text)
    return MemoryEvent(event_id="e", actor_id="loom-approvals", session_id="x", timestamp=ASKED, messages=(message,))


def noted(**more: Any) -> MemoryEvent:
    return event(json.dumps(BASE | more))


def test_the_latest_state_of_an_approval_counts_in_any_order_of_events() -> None:
    steps = [noted(), noted(state="approved", decided_at=ASKED.isoformat(), note="ok"), noted(state="done", result="r")]
    for order in permutations(steps):
        (approval,) = read_approvals(order, now=ASKED)
        assert (approval.state, approval.result) == ("done", "r")


@pytest.mark.parametrize(("after_s", "state"), [(3599, "pending"), (3600, "expired"), (9999, "expired")])
def test_an_undecided_approval_expires_in_time(after_s: int, state: str) -> None:
    (approval,) = read_approvals([noted()], now=ASKED + timedelta(seconds=after_s))
    assert (approval.state, approval.is_pending) == (state, state == "pending")


def test_a_decided_approval_does_not_expire() -> None:
    (approval,) = read_approvals([noted(state="approved"), noted()], now=ASKED + timedelta(days=9))
    assert approval.state == "approved"


def test_the_newest_approval_is_listed_first() -> None:
    later = noted(id="a2", asked_at=(ASKED + timedelta(minutes=1)).isoformat())
    assert [approval.id for approval in read_approvals([noted(), later], now=ASKED)] == ["a2", "a1"]


@pytest.mark.parametrize("broken", [
    "", "no JSON", "[]", "{}", "[" * 5000, *(json.dumps({key: value for key, value in BASE.items() if key != absent})
    for absent in ("id", "state", "tool", "session_id", "actor", "asked_at", "expires_at")),
    json.dumps(BASE | {"state": "sure"}), json.dumps(BASE | {"id": 7}), json.dumps(BASE | {"asked_at": "soon"}),
    json.dumps(BASE | {"state": ["pending"]}),
])  # fmt: skip
def test_other_events_are_skipped(broken: str) -> None:
    assert read_approvals([event(broken)], now=ASKED) == []
    assert len(read_approvals([event(broken), noted()], now=ASKED)) == 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*BASE, "note", "result", "decided_at"]), _JSON))
def test_any_other_values_give_an_approval_of_a_known_state_or_none(changes: dict[str, Any]) -> None:
    for approval in read_approvals([event(json.dumps(BASE | changes))], now=ASKED):
        assert approval.state in APPROVAL_STATES
        assert approval.asked_at.tzinfo is not None


def test_an_invalid_time_hides_no_other_approval() -> None:
    approvals = read_approvals([noted(id="odd", expires_at="0001-01-01T00:00:00+14:00"), noted()], now=ASKED)
    assert [approval.id for approval in approvals] == ["a1"]
