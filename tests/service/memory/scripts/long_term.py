"""A program of the SDK that searches, lists and deletes what was extracted: region, memory id, namespace."""

import sys

from bedrock_agentcore.memory import MemoryClient
from bedrock_agentcore.memory.session import MemorySessionManager

region, memory_id, namespace = sys.argv[1:]
client = MemoryClient(region_name=region)
found = client.retrieve_memories(memory_id=memory_id, namespace=namespace, query="seafood", top_k=1)
assert found[0]["content"]["text"] == "The user is allergic to shellfish.", found

manager = MemorySessionManager(memory_id=memory_id, region_name=region)
found = manager.search_long_term_memories(query="seafood", namespace=namespace, top_k=1)
assert found[0]["content"]["text"] == "The user is allergic to shellfish.", found
listed = manager.list_long_term_memory_records(namespace=namespace)
assert len(listed) == 2, listed
record_id = listed[0]["memoryRecordId"]
assert manager.get_memory_record(record_id)["memoryRecordId"] == record_id
manager.delete_memory_record(record_id)
gone = manager.delete_all_long_term_memories_in_namespace(namespace=namespace)
assert len(gone["successfulRecords"]) == 1, gone
assert manager.list_long_term_memory_records(namespace=namespace) == []
print("all as on AWS")
