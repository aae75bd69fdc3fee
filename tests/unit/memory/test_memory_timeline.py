"""A memory's timeline: what was said stands there in words; what an agent stored for itself is kept apart."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from loomlib.aws.memory_shapes import MemoryEvent, MemoryMessage
from loomlib.memory import timeline_entries
from loomlib.workbench.memory_views import TimelineView

STATE = json.dumps({"agent_id": "assistant", "state": {}, "conversation_manager_state": {"removed_message_count": 0}})


def event(number: int, role: str, text: str) -> MemoryEvent:
    return MemoryEvent(
        event_id=str(number),
        actor_id="anna",
        session_id="s",
        timestamp=datetime(2026, 1, 1, 12, 0, number, tzinfo=UTC),
        messages=(MemoryMessage(role=role, text=text),),
    )


def as_strands(role: str, *texts: str) -> str:
    """A message as the session manager of Strands stores it."""
    return json.dumps({"message": {"role": role, "content": [{"text": text} for text in texts]}, "message_id": 0})


def timeline() -> TimelineView:
    events = [
        event(1, "BLOB", STATE),
        event(2, "USER", as_strands("user", "I live in Basel.")),
        event(3, "ASSISTANT", as_strands("assistant", "Noted.", "You live in Basel.")),
        event(4, "USER", "plain words"),
        event(5, "USER", '{"message": "no content"}'),
    ]
    return TimelineView(timeline_entries(events, []), title="anna")


def test_a_message_is_shown_in_its_words_and_other_json_as_it_is() -> None:
    spoken = [entry.text for entry in timeline().spoken]
    assert spoken == ["I live in Basel.", "Noted.\nYou live in Basel.", "plain words", '{"message": "no content"}']


def test_stored_state_is_left_out_of_chart_and_page_and_stays_in_the_table() -> None:
    memory_timeline = timeline()
    assert {entry.lane for entry in memory_timeline.spoken} == {"messages from user", "messages from assistant"}
    html, chart = memory_timeline._repr_html_(), memory_timeline.figure().to_json()
    for page in (html, chart):
        assert "removed_message_count" not in page
        assert "blob" not in page
    assert "1 stored state of the agent" in html
    (state,) = memory_timeline.table().query("what == 'stored state'").to_dict("records")
    assert (state["lane"], state["text"]) == ("stored state", STATE)
