"""Reading operations of AgentCore Memory.

Generators request a page when the previous one is consumed, so no more than a page is in memory. A throttled page is
requested again after a pause: reading is not measured, and a large memory has thousands of pages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from loomlib.errors import RequestTimeoutError, ResourceNotFoundError, ServiceFailedError

from ..presentation.formats import time_limit, waited
from .connection import Clients
from .errors import translated
from .memory_shapes import (
    FailedExtraction,
    MemoryDescription,
    MemoryEvent,
    MemoryRecord,
    MemorySession,
    event_of,
    failed_extraction_of,
    memory_of,
    record_of,
    session_of,
)
from .paging import iter_items, iter_pages, with_retries

JOBS_PAGE: Final = 50
"""Largest page of ListMemoryExtractionJobs, in items."""
LARGEST_TOP_K: Final = 100
"""Largest number of records that RetrieveMemoryRecords returns."""


def list_memories(clients: Clients, *, region: str | None = None) -> Iterator[MemoryDescription]:
    """Return every memory of the account in a region, without strategies."""
    where = region or clients.region
    for shape in iter_items(clients.control(region).list_memories, "memories", {}, "Listing memories", where):
        yield memory_of(shape, where)


def describe_memory(clients: Clients, memory_id: str, *, region: str | None = None) -> MemoryDescription:
    """Return the memory with its strategies.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is no such memory.
    """
    answer = with_retries(clients.control(region).get_memory, {"memoryId": memory_id}, "Reading a memory", memory_id)
    return memory_of(answer["memory"], region or clients.region)


def create_memory(
    clients: Clients,
    name: str,
    *,
    strategies: Sequence[Mapping[str, Any]] = (),
    event_expiry_days: int = 90,
    description: str = "",
    role_arn: str | None = None,
    region: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> MemoryDescription:
    """Create a memory and return it while it is CREATING.

    Args:
        clients: The AWS clients of a connection.
        name: The memory's name.
        strategies: The extraction strategies, in AWS's form; without any, events are stored and nothing is extracted.
        event_expiry_days: Days until an event expires.
        description: A description, shown in AWS's console.
        role_arn: The role of strategies that use your own models.
        region: The region, if it is not the connection's.
        tags: Tags of the memory.
    """
    request: dict[str, Any] = {"name": name, "eventExpiryDuration": event_expiry_days}
    if strategies:
        request["memoryStrategies"] = [dict(strategy) for strategy in strategies]
    if description:
        request["description"] = description
    if role_arn:
        request["memoryExecutionRoleArn"] = role_arn
    if tags:
        request["tags"] = dict(tags)
    with translated("Creating a memory", on=name):
        answer: dict[str, Any] = clients.control(region).create_memory(**request)
    return memory_of(answer["memory"], region or clients.region)


def wait_until_active(
    clients: Clients,
    memory_id: str,
    *,
    region: str | None = None,
    wait_s: float = 300.0,
    progress: Callable[[str], None] | None = None,
) -> MemoryDescription:
    """Wait until the memory is ACTIVE and return it.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        region: The region, if it is not the connection's.
        wait_s: The maximum number of seconds to wait.
        progress: Called with a line of progress.

    Raises:
        ServiceFailedError: Creation failed.
        RequestTimeoutError: The memory is not ACTIVE after `wait_s`.
    """
    began, pause_s = time.monotonic(), 0.02
    while True:
        memory = describe_memory(clients, memory_id, region=region)
        waited_s = time.monotonic() - began
        if memory.status == "ACTIVE":
            return memory
        if memory.status in ("FAILED", "DELETING"):
            raise ServiceFailedError(
                f"The memory is {memory.status}: {memory.failure_reason or 'no reason given'}",
                on=memory_id,
                try_="fix the stated cause and create the memory again",
            )
        if waited_s >= wait_s:
            raise RequestTimeoutError(
                f"The memory is still {memory.status} after {time_limit(wait_s)}", on=memory_id, try_="wait longer"
            )
        if progress is not None:
            progress(f"memory {memory.name} is {memory.status.lower()} · {waited(waited_s, wait_s)}")
        time.sleep(min(pause_s, wait_s - waited_s))
        pause_s = min(5.0, pause_s * 2)


def delete_memory(clients: Clients, memory_id: str, *, region: str | None = None) -> None:
    """Delete a memory with its contents; no error if it does not exist.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        region: The region, if it is not the connection's.
    """
    try:
        with translated("Deleting a memory", on=memory_id):
            clients.control(region).delete_memory(memoryId=memory_id)
    except ResourceNotFoundError:
        return


def iter_actors(clients: Clients, memory_id: str, *, region: str | None = None) -> Iterator[str]:
    """Yield the ids of all actors.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        region: The region, if it is not the connection's.
    """
    request = {"memoryId": memory_id}
    for shape in iter_items(clients.data(region).list_actors, "actorSummaries", request, "Listing actors", memory_id):
        yield str(shape["actorId"])


def iter_sessions(
    clients: Clients, memory_id: str, actor_id: str, *, with_events: bool = False, region: str | None = None
) -> Iterator[MemorySession]:
    """Yield an actor's sessions; an unknown actor has none.

    Sessions whose events are deleted stay listed for about a day; `with_events` leaves them out.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        actor_id: The actor's id.
        with_events: Leave out sessions without events, which stay listed for about a day after their events were
            deleted.
        region: The region, if it is not the connection's.
    """
    request: dict[str, Any] = {"memoryId": memory_id, "actorId": actor_id}
    if with_events:
        request["filter"] = {"eventFilter": "HAS_EVENTS"}
    try:
        for shape in iter_items(
            clients.data(region).list_sessions, "sessionSummaries", request, "Listing sessions", actor_id
        ):
            yield session_of(shape)
    except ResourceNotFoundError:
        describe_memory(clients, memory_id, region=region)  # raises if the memory does not exist


def iter_events(
    clients: Clients,
    memory_id: str,
    actor_id: str,
    session_id: str,
    *,
    branch: str | None = None,
    parents: bool = True,
    since: datetime | None = None,
    region: str | None = None,
) -> Iterator[MemoryEvent]:
    """Yield a session's events, newest first.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        actor_id: The actor's id.
        session_id: The session's id.
        branch: Only events of this branch.
        parents: Include the events before the branch forked.
        since: Only events from this time on; no page is requested after one that is entirely before it.
        region: The region, if it is not the connection's.
    """
    request: dict[str, Any] = {"memoryId": memory_id, "actorId": actor_id, "sessionId": session_id}
    if branch is not None:
        request["filter"] = {"branch": {"name": branch, "includeParentBranches": parents}}
    call, action = clients.data(region).list_events, "Listing events"
    try:
        for page in iter_pages(call, "events", request, action, session_id):
            events = [event_of(shape) for shape in page]
            recent = events if since is None else [event for event in events if event.timestamp >= since]
            yield from recent
            if events and not recent:
                return
    except ResourceNotFoundError:
        describe_memory(clients, memory_id, region=region)  # AWS reports a session without events as missing


def iter_records(
    clients: Clients,
    memory_id: str,
    *,
    namespace: str | None = None,
    path: str | None = None,
    strategy_id: str | None = None,
    filters: Sequence[Mapping[str, Any]] = (),
    region: str | None = None,
) -> Iterator[MemoryRecord]:
    """Yield the records of one namespace, or of a path and everything below it.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        namespace: The exact namespace; give this or `path`.
        path: The beginning of the namespaces.
        strategy_id: Only records of this strategy.
        filters: Metadata filters, as ListMemoryRecords takes them.
        region: The region, if it is not the connection's.

    Raises:
        ValueError: Both or neither of `namespace` and `path` are given.
    """
    request: dict[str, Any] = {"memoryId": memory_id, **_place(namespace, path)}
    if strategy_id:
        request["memoryStrategyId"] = strategy_id
    if filters:
        request["metadataFilters"] = list(filters)
    call, on = clients.data(region).list_memory_records, namespace or path or memory_id
    for shape in iter_items(call, "memoryRecordSummaries", request, "Listing memory records", on):
        yield record_of(shape)


def retrieve_records(
    clients: Clients,
    memory_id: str,
    query: str,
    *,
    namespace: str | None = None,
    path: str | None = None,
    strategy_id: str | None = None,
    top_k: int = 10,
    filters: Sequence[Mapping[str, Any]] = (),
    region: str | None = None,
) -> list[MemoryRecord]:
    """Return the records nearest in meaning to a query, best first, with their scores.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        query: The text whose meaning is compared.
        namespace: The exact namespace; give this or `path`.
        path: The beginning of the namespaces.
        strategy_id: Only records of this strategy.
        top_k: The maximum number of records.
        filters: Metadata filters, as RetrieveMemoryRecords takes them.
        region: The region, if it is not the connection's.

    Raises:
        ValueError: Both or neither of `namespace` and `path` are given.
    """
    criteria: dict[str, Any] = {"searchQuery": query, "topK": top_k}
    if strategy_id:
        criteria["memoryStrategyId"] = strategy_id
    if filters:
        criteria["metadataFilters"] = list(filters)
    request = {"memoryId": memory_id, **_place(namespace, path), "searchCriteria": criteria}
    call, on = clients.data(region).retrieve_memory_records, namespace or path or memory_id
    shapes = iter_items(call, "memoryRecordSummaries", request, "Retrieving memory records", on)
    return [record_of(shape) for shape in shapes][:top_k]


def get_record(clients: Clients, memory_id: str, record_id: str, *, region: str | None = None) -> MemoryRecord:
    """Return a record by its id.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        record_id: The record's id.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is no such record.
    """
    request = {"memoryId": memory_id, "memoryRecordId": record_id}
    answer = with_retries(clients.data(region).get_memory_record, request, "Reading a memory record", record_id)
    return record_of(answer["memoryRecord"])


def iter_failed_extractions(
    clients: Clients, memory_id: str, *, region: str | None = None
) -> Iterator[FailedExtraction]:
    """Yield the extractions that failed and can be started again.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        region: The region, if it is not the connection's.
    """
    call = clients.data(region).list_memory_extraction_jobs
    request = {"memoryId": memory_id, "maxResults": JOBS_PAGE}
    for shape in iter_items(call, "jobs", request, "Listing extraction jobs", memory_id):
        yield failed_extraction_of(shape)


def _place(namespace: str | None, path: str | None) -> dict[str, str]:
    if (namespace is None) == (path is None):
        raise ValueError("Name either a namespace or a path")
    return {"namespace": namespace} if namespace is not None else {"namespacePath": str(path)}
