"""The AgentCore SDK's MemoryClient, MemoryControlPlaneClient, MemorySessionManager, MemorySession and Actor."""

import time

from bedrock_agentcore.memory import MemoryClient
from bedrock_agentcore.memory.constants import ConversationalMessage, MessageRole, RetrievalConfig
from bedrock_agentcore.memory.controlplane import MemoryControlPlaneClient
from bedrock_agentcore.memory.session import MemorySessionManager

# MemoryClient: a memory, turns with an LLM between, a blob, and what was extracted
client = MemoryClient()
memory = client.create_or_get_memory(
    name="documented_sdk",
    strategies=[{"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{actorId}/"]}}],
)
memory_id = memory["id"]
while client.get_memory_status(memory_id) != "ACTIVE":
    time.sleep(0.05)
place = {"memory_id": memory_id, "actor_id": "ben", "session_id": "tuesday"}
client.create_event(**place, messages=[("I live in Utrecht.", "USER"), ("Noted.", "ASSISTANT")])
client.create_blob_event(**place, blob_data={"step": 2})
print(
    client.wait_for_memories(memory_id, "/facts/ben/", test_query="Where do I live?", max_wait=240, poll_interval=0.1)
)
memories, answer, event = client.process_turn_with_llm(
    **place,
    user_input="Where do I live?",
    llm_callback=lambda question, records: f"{question} {records[0]['content']['text']}",
    retrieval_namespace="/facts/ben/",
)
print(len(memories), answer, event["sessionId"])
print([message["content"]["text"] for message in client.get_last_k_turns(**place, k=1)[0]])
client.fork_conversation(
    **place, root_event_id=event["eventId"], branch_name="other", new_messages=[("And my name?", "USER")]
)
merged = client.merge_branch_context(**place, branch_name="other", include_parent=True)
print(sorted(branch["name"] for branch in client.list_branches(**place)), len(merged))

# Strategies of every kind, each added when the one before is ACTIVE
override = {"prompt": "Keep what matters.", "modelId": "model"}
client.add_summary_strategy_and_wait(memory_id, "summaries", poll_interval=0.1)
client.add_user_preference_strategy_and_wait(memory_id, "likes", poll_interval=0.1)
client.add_episodic_strategy_and_wait(
    memory_id, "episodes", reflection_namespace_templates=["/lessons/{actorId}/"], poll_interval=0.1
)
client.add_custom_semantic_strategy_and_wait(
    memory_id, "own_facts", extraction_config=override, consolidation_config=override, poll_interval=0.1
)
client.add_custom_episodic_strategy_and_wait(
    memory_id,
    "own_episodes",
    extraction_config=override,
    consolidation_config=override,
    reflection_config={**override, "namespaceTemplates": ["/own/{actorId}/"]},
    poll_interval=0.1,
)
print(sorted(strategy["type"] for strategy in client.get_memory_strategies(memory_id)))
own = next(strategy for strategy in client.get_memory_strategies(memory_id) if strategy["name"] == "own_episodes")
client.update_memory_strategies_and_wait(memory_id, delete_strategy_ids=[own["strategyId"]], poll_interval=0.1)

# MemoryControlPlaneClient
control = MemoryControlPlaneClient(region_name=client.region_name)  # it ignores AWS_REGION
added = control.add_strategy(
    memory_id,
    {"semanticMemoryStrategy": {"name": "more", "namespaceTemplates": ["/more/{actorId}/"]}},
    wait_for_active=True,
    poll_interval=0.1,
)
more = next(strategy for strategy in control.get_memory(memory_id)["strategies"] if strategy["name"] == "more")
control.update_strategy(
    memory_id, more["strategyId"], description="more facts", wait_for_active=True, poll_interval=0.1
)
described = control.get_strategy(memory_id, more["strategyId"])["description"]
control.remove_strategy(memory_id, more["strategyId"], wait_for_active=True, poll_interval=0.1)
print(described, "more" in [strategy["name"] for strategy in control.get_memory(memory_id)["strategies"]])

# MemorySessionManager, MemorySession, Actor
manager = MemorySessionManager(memory_id=memory_id)
session = manager.create_memory_session("ben", "wednesday")
found, answer, event = session.process_turn_with_llm(
    user_input="Where do I live?",
    llm_callback=lambda question, records: records[0]["content"]["text"],
    retrieval_config={"/facts/{actorId}/": RetrievalConfig(top_k=2)},
)
session.fork_conversation(
    messages=[ConversationalMessage("Where else?", MessageRole.USER)],
    root_event_id=event["eventId"],
    branch_name="elsewhere",
)
print(answer, sorted(branch["name"] for branch in session.list_branches()), len(session.list_events()))
record = session.search_long_term_memories(query="Where do I live?", namespace="/facts/ben/", top_k=1)[0]
listed = session.list_long_term_memory_records(namespace_path="/facts/")
print(session.get_memory_record(record["memoryRecordId"])["content"]["text"], len(listed))
session.delete_memory_record(record["memoryRecordId"])
print(
    sorted(summary["sessionId"] for summary in session.get_actor().list_sessions()),
    [actor["actorId"] for actor in session.list_actors()],
)
client.delete_memory_and_wait(memory_id, poll_interval=0.1)
print(memory_id in [summary["id"] for summary in client.list_memories()])
