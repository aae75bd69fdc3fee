"""What an agent does with the SDK's MemoryClient and MemoryControlPlaneClient, from creating to deleting a memory."""

import sys

from bedrock_agentcore.memory import MemoryClient
from bedrock_agentcore.memory.constants import StrategyType
from bedrock_agentcore.memory.controlplane import MemoryControlPlaneClient

region = sys.argv[1]
client = MemoryClient(region_name=region)
strategies = [
    {StrategyType.SEMANTIC.value: {"name": "Facts", "namespaceTemplates": ["/facts/{actorId}/"]}},
    {StrategyType.SUMMARY.value: {"name": "Summaries"}},
]
memory = client.create_memory_and_wait("sdk_memory", strategies, description="of the SDK", event_expiry_days=7)
assert memory["status"] == "ACTIVE", memory
memory_id = memory["memoryId"]
assert client.create_or_get_memory("sdk_memory", strategies)["id"] == memory_id
assert [strategy["type"] for strategy in client.get_memory_strategies(memory_id)] == ["SEMANTIC", "SUMMARIZATION"]
assert memory_id in [summary["id"] for summary in client.list_memories()]

place = {"memory_id": memory_id, "actor_id": "ada", "session_id": "travel"}
said = [
    client.create_event(**place, messages=[(f"question {i}", "USER"), (f"answer {i}", "ASSISTANT")]) for i in range(4)
]
listed = client.list_events(**place)
assert [event["eventId"] for event in listed] == [event["eventId"] for event in reversed(said)]
turns = client.get_last_k_turns(**place, k=2)
assert len(turns) == 2, turns

root = said[1]["eventId"]
forked = client.fork_conversation(
    **place, root_event_id=root, branch_name="cheaper", new_messages=[("a train?", "USER")]
)
client.create_event(**place, messages=[("yes, a train", "ASSISTANT")], branch={"name": "cheaper"})
branches = {branch["name"]: branch for branch in client.list_branches(**place)}
assert set(branches) == {"main", "cheaper"}, branches
assert branches["cheaper"]["rootEventId"] == root
assert branches["cheaper"]["eventCount"] == 2
assert branches["main"]["eventCount"] == 4
assert len(client.list_branch_events(**place, branch_name="cheaper")) == 2
assert len(client.list_branch_events(**place)) == 4
assert len(client.list_branch_events(**place, branch_name="cheaper", include_parent_branches=True)) == 4
merged = [message["content"] for message in client.merge_branch_context(**place, branch_name="cheaper")]
assert sorted(merged) == sorted(["question 0", "answer 0", "question 1", "answer 1", "a train?", "yes, a train"]), (
    merged
)
tree = client.get_conversation_tree(**place)
assert len(tree["main_branch"]["events"]) == 4
assert tree["main_branch"]["branches"]["cheaper"]["root_event_id"] == root

added = client.add_user_preference_strategy_and_wait(memory_id, "Likes", namespaces=["/likes/{actorId}/"])
assert len(added["strategies"]) == 3
likes = next(strategy for strategy in added["strategies"] if strategy["name"] == "Likes")
custom = client.add_custom_semantic_strategy_and_wait(
    memory_id,
    "Own",
    extraction_config={"prompt": "extract", "modelId": "m"},
    consolidation_config={"prompt": "consolidate", "modelId": "m"},
)
own = next(strategy for strategy in custom["strategies"] if strategy["name"] == "Own")
assert own["configuration"]["type"] == "SEMANTIC_OVERRIDE", own
client.modify_strategy(
    memory_id, own["strategyId"], configuration={"extraction": {"appendToPrompt": "new", "modelId": "n"}}
)
own = next(strategy for strategy in client.get_memory_strategies(memory_id) if strategy["name"] == "Own")
override = own["configuration"]["extraction"]["customExtractionConfiguration"]["semanticExtractionOverride"]
assert override == {"appendToPrompt": "new", "modelId": "n"}, own
client.add_episodic_strategy_and_wait(memory_id, "Episodes", reflection_namespace_templates=["/reflections/{actorId}/"])
client.modify_strategy(memory_id, likes["strategyId"], description="what they like", namespaces=["/taste/{actorId}/"])
client.delete_strategy(memory_id, own["strategyId"])
left = {strategy["name"]: strategy for strategy in client.get_memory_strategies(memory_id)}
assert set(left) == {"Facts", "Summaries", "Likes", "Episodes"}, left
assert left["Likes"]["namespaceTemplates"] == ["/taste/{actorId}/"]

control = MemoryControlPlaneClient(region_name=region)
second = control.create_memory("second_memory", event_expiry_days=3, wait_for_active=True)
assert second["status"] == "ACTIVE", second
assert control.get_memory(second["id"])["strategyCount"] == 0
control.update_memory(
    second["id"],
    description="changed",
    event_expiry_days=30,
    add_strategies=[{"semanticMemoryStrategy": {"name": "S"}}],
)
described = control.get_memory(second["id"])
assert (described["description"], described["eventExpiryDuration"], described["strategyCount"]) == ("changed", 30, 1)
assert {summary["id"] for summary in control.list_memories(max_results=100)} >= {memory_id, second["id"]}
control.delete_memory(second["id"], wait_for_deletion=True)
client.delete_memory_and_wait(memory_id)
assert memory_id not in [summary["id"] for summary in client.list_memories()]
print("all as on AWS")
