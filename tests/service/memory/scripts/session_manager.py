"""What an agent does with the SDK's MemorySessionManager."""

import sys

from bedrock_agentcore.memory.constants import BlobMessage, ConversationalMessage, MessageRole
from bedrock_agentcore.memory.models import EventMetadataFilter, LeftExpression, OperatorType, RightExpression
from bedrock_agentcore.memory.session import MemorySessionManager

region, memory_id = sys.argv[1:]
manager = MemorySessionManager(memory_id=memory_id, region_name=region)
place = {"actor_id": "grace", "session_id": "s-1"}
added = manager.add_turns(
    **place,
    messages=[ConversationalMessage("I sail", MessageRole.USER), ConversationalMessage("Noted", MessageRole.ASSISTANT)],
    metadata={"topic": {"stringValue": "hobby"}},
)
manager.add_turns(**place, messages=[BlobMessage({"state": [1, {"deep": None}]})])
manager.add_turns(**place, messages=[ConversationalMessage("Bye", MessageRole.USER)])
events = manager.list_events(**place)
assert [event.eventId for event in events][-1] == added.eventId
assert events[1].payload == [{"blob": {"state": [1, {"deep": None}]}}]
only = manager.list_events(
    **place,
    eventMetadata=[
        EventMetadataFilter.build_expression(
            LeftExpression.build("topic"), OperatorType.EQUALS_TO, RightExpression.build("hobby")
        )
    ],
)
assert [event.eventId for event in only] == [added.eventId]
assert manager.get_event(**place, event_id=added.eventId).metadata["topic"]["stringValue"] == "hobby"
manager.fork_conversation(
    **place, root_event_id=added.eventId, branch_name="b", messages=[ConversationalMessage("I row", MessageRole.USER)]
)
assert {branch.name for branch in manager.list_branches(**place)} == {"main", "b"}
assert len(manager.list_events(**place, branch_name="b")) == 1
assert len(manager.list_events(**place, branch_name="b", include_parent_branches=True)) == 2
assert manager.get_last_k_turns(**place, k=1)[0][0]["content"]["text"] == "I row"
session = manager.create_memory_session("grace", "s-2")
event = session.add_turns([ConversationalMessage("hello", MessageRole.USER)])
assert session.get_event(event.eventId).eventId == event.eventId
assert {summary.sessionId for summary in manager.list_actor_sessions("grace")} == {"s-1", "s-2"}
assert [summary.actorId for summary in manager.list_actors()] == ["grace"]
session.delete_event(event.eventId)
assert session.list_events() == []
print("all as on AWS")
