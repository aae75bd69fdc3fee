"""Every operation of AgentCore Memory with plain boto3, in the order in which an application meets them."""

import time
from datetime import UTC, datetime, timedelta

import boto3

control = boto3.client("bedrock-agentcore-control")
data = boto3.client("bedrock-agentcore")


def settled(memory_id):
    """GetMemory, until the memory's state and its strategies' are no longer on the way."""
    while True:
        memory = control.get_memory(memoryId=memory_id)["memory"]
        if not [state for state in (memory["status"], *(s["status"] for s in memory["strategies"])) if "ING" in state]:
            return memory
        time.sleep(0.05)


# CreateMemory, GetMemory, UpdateMemory, ListMemories
created = control.create_memory(
    name="documented",
    eventExpiryDuration=30,
    memoryStrategies=[
        {"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{actorId}/"]}},
        {"summaryMemoryStrategy": {"name": "summaries", "namespaceTemplates": ["/summaries/{actorId}/{sessionId}/"]}},
    ],
)["memory"]
memory_id = created["id"]
memory = settled(memory_id)
likes = {"userPreferenceMemoryStrategy": {"name": "likes", "namespaceTemplates": ["/likes/{actorId}/"]}}
summaries = next(strategy["strategyId"] for strategy in memory["strategies"] if strategy["name"] == "summaries")
control.update_memory(
    memoryId=memory_id,
    description="documented",
    memoryStrategies={
        "addMemoryStrategies": [likes],
        "deleteMemoryStrategies": [{"memoryStrategyId": summaries}],
    },
)
memory = settled(memory_id)
listed = [summary["id"] for page in control.get_paginator("list_memories").paginate() for summary in page["memories"]]
print(memory["status"], sorted(strategy["name"] for strategy in memory["strategies"]), memory_id in listed)

# CreateEvent (idempotent, with a branch, with metadata, with a blob), GetEvent, ListEvents, DeleteEvent
place = {"memoryId": memory_id, "actorId": "ana", "sessionId": "monday"}
begun = datetime.now(UTC)


def said(number, user, assistant, **more):
    """One turn as one event; its id."""
    payload = [
        {"conversational": {"role": role, "content": {"text": text}}}
        for role, text in (("USER", user), ("ASSISTANT", assistant))
    ]
    at = begun + timedelta(milliseconds=number)
    return data.create_event(**place, eventTimestamp=at, payload=payload, **more)["event"]["eventId"]


first = said(0, "I'm allergic to shellfish.", "Noted.", clientToken="token-" + "x" * 33)
again = said(0, "I'm allergic to shellfish.", "Noted.", clientToken="token-" + "x" * 33)
second = said(1, "I prefer window seats.", "Noted.", metadata={"topic": {"stringValue": "travel"}})
forked = said(2, "What about the train?", "It goes at nine.", branch={"name": "train", "rootEventId": first})
blob = data.create_event(**place, eventTimestamp=begun + timedelta(milliseconds=3), payload=[{"blob": {"step": 2}}])
pages = list(data.get_paginator("list_events").paginate(**place, PaginationConfig={"PageSize": 1}))
events = [event["eventId"] for page in pages for event in page["events"]]
travel = [
    {
        "left": {"metadataKey": "topic"},
        "operator": "EQUALS_TO",
        "right": {"metadataValue": {"stringValue": "travel"}},
    }
]
only = data.list_events(**place, filter={"eventMetadata": travel})["events"]
branch = data.list_events(**place, filter={"branch": {"name": "train", "includeParentBranches": True}})["events"]
print(
    first == again,
    events == [blob["event"]["eventId"], forked, second, first],
    [event["eventId"] for event in only] == [second],
    [event["eventId"] for event in branch] == [forked, first],
    data.get_event(**place, eventId=second)["event"]["metadata"]["topic"],
)
data.delete_event(**place, eventId=blob["event"]["eventId"])
print(len(data.list_events(**place, includePayloads=False)["events"]))

# ListActors, ListSessions
print(
    [actor["actorId"] for actor in data.list_actors(memoryId=memory_id)["actorSummaries"]],
    [session["sessionId"] for session in data.list_sessions(memoryId=memory_id, actorId="ana")["sessionSummaries"]],
)

# ListMemoryRecords (until extraction has come so far), RetrieveMemoryRecords, GetMemoryRecord
deadline = time.monotonic() + 240
while True:
    pages = data.get_paginator("list_memory_records").paginate(memoryId=memory_id, namespacePath="/")
    records = [record for page in pages for record in page["memoryRecordSummaries"]]
    if {"/facts/ana/", "/likes/ana/"} <= {record["namespaces"][0] for record in records}:
        break
    assert time.monotonic() < deadline, records
    time.sleep(0.1)
found = data.retrieve_memory_records(
    memoryId=memory_id,
    namespace="/facts/ana/",
    searchCriteria={"searchQuery": "What am I allergic to?", "topK": 1},
)["memoryRecordSummaries"][0]
one = data.get_memory_record(memoryId=memory_id, memoryRecordId=found["memoryRecordId"])["memoryRecord"]
print(one["content"]["text"], found["score"] > 0.1)

# BatchCreateMemoryRecords, BatchUpdateMemoryRecords, BatchDeleteMemoryRecords, DeleteMemoryRecord
now = datetime.now(UTC)
made = data.batch_create_memory_records(
    memoryId=memory_id,
    records=[
        {"requestIdentifier": name, "namespaces": ["/own/"], "content": {"text": text}, "timestamp": now}
        for name, text in (("a", "The shop opens at nine."), ("b", "The shop is in Porto."))
    ],
)
ids = [record["memoryRecordId"] for record in made["successfulRecords"]]
data.batch_update_memory_records(
    memoryId=memory_id,
    records=[{"memoryRecordId": ids[0], "timestamp": now, "content": {"text": "The shop opens at ten."}}],
)
changed = data.get_memory_record(memoryId=memory_id, memoryRecordId=ids[0])["memoryRecord"]["content"]["text"]
gone = data.batch_delete_memory_records(memoryId=memory_id, records=[{"memoryRecordId": ids[0]}])
data.delete_memory_record(memoryId=memory_id, memoryRecordId=ids[1])
left = data.list_memory_records(memoryId=memory_id, namespace="/own/")["memoryRecordSummaries"]
print(len(ids), changed, len(gone["successfulRecords"]), left)

# ListMemoryExtractionJobs, StartMemoryExtractionJob
print(data.list_memory_extraction_jobs(memoryId=memory_id)["jobs"])
try:
    data.start_memory_extraction_job(memoryId=memory_id, extractionJob={"jobId": "job-of-nobody"})
except data.exceptions.ResourceNotFoundException:
    print("no such job")

# DeleteMemory
print(control.delete_memory(memoryId=memory_id)["status"])
