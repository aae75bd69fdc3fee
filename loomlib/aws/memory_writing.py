"""Writing operations of AgentCore Memory, and events and records in AWS's own shapes for lossless copies.

A throttled write is retried: creations carry a client token, and deletions of a missing item succeed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from loomlib.errors import RequestRejectedError, ResourceNotFoundError

from .connection import Clients
from .paging import iter_items, with_retries

BATCH: Final = 100
"""Largest number of records in one batch."""


def iter_event_shapes(
    clients: Clients,
    memory_id: str,
    actor_id: str,
    session_id: str,
    *,
    payloads: bool = True,
    region: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield a session's events as the service returns them, newest first.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        actor_id: The actor's id.
        session_id: The session's id.
        payloads: Whether to read the events' contents; ids and times are always returned.
        region: The region, if it is not the connection's.
    """
    request = {"memoryId": memory_id, "actorId": actor_id, "sessionId": session_id, "includePayloads": payloads}
    try:
        yield from iter_items(clients.data(region).list_events, "events", request, "Listing events", session_id)
    except ResourceNotFoundError:
        return


def iter_record_shapes(
    clients: Clients, memory_id: str, path: str, *, region: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the records of a path and everything below it as the service returns them.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        path: The beginning of the namespaces.
        region: The region, if it is not the connection's.
    """
    request = {"memoryId": memory_id, "namespacePath": path}
    call = clients.data(region).list_memory_records
    yield from iter_items(call, "memoryRecordSummaries", request, "Listing memory records", path)


def create_event(clients: Clients, request: Mapping[str, Any], *, region: str | None = None) -> dict[str, Any]:
    """Create an event (in AWS's form) and return its shape.

    Args:
        clients: The AWS clients of a connection.
        request: The event, as CreateEvent takes it.
        region: The region, if it is not the connection's.
    """
    answer = with_retries(
        clients.data(region).create_event, request, "Creating an event", str(request.get("actorId", ""))
    )
    return answer["event"]


def create_records(
    clients: Clients,
    memory_id: str,
    records: Sequence[Mapping[str, Any]],
    *,
    token: str,
    region: str | None = None,
) -> tuple[dict[str, str], dict[str, str]]:
    """Create records (BatchCreateMemoryRecords); return the new ids and the failure reasons by request identifier.

    Repeating a call with the same `token` and records creates nothing twice.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        records: The records, as BatchCreateMemoryRecords takes them, at most 100; each has a `requestIdentifier`.
        token: The client token: repeating a call with the same token and records creates nothing twice.
        region: The region, if it is not the connection's.
    """
    request = {"memoryId": memory_id, "records": list(records), "clientToken": token}
    answer = with_retries(clients.data(region).batch_create_memory_records, request, "Creating records", memory_id)
    new_ids = {
        str(record.get("requestIdentifier", "")): str(record["memoryRecordId"])
        for record in answer["successfulRecords"]
    }
    refused = {
        str(record.get("requestIdentifier", "")): str(record.get("errorMessage") or "no reason given")
        for record in _failed(answer)
    }
    return new_ids, refused


def delete_event(
    clients: Clients, memory_id: str, actor_id: str, session_id: str, event_id: str, *, region: str | None = None
) -> None:
    """Delete an event; no error if it does not exist.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        actor_id: The actor's id.
        session_id: The session's id.
        event_id: The event's id.
        region: The region, if it is not the connection's.
    """
    request = {"memoryId": memory_id, "actorId": actor_id, "sessionId": session_id, "eventId": event_id}
    try:
        with_retries(clients.data(region).delete_event, request, "Deleting an event", event_id)
    except ResourceNotFoundError:
        return


def delete_records(
    clients: Clients, memory_id: str, record_ids: Sequence[str], *, region: str | None = None
) -> dict[str, str]:
    """Delete records in batches; return the failure reasons by id. A missing record is not a failure.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        record_ids: Ids of the records, any number; they are sent in batches of 100.
        region: The region, if it is not the connection's.
    """
    stayed: dict[str, str] = {}
    for start in range(0, len(record_ids), BATCH):
        batch = [{"memoryRecordId": record_id} for record_id in record_ids[start : start + BATCH]]
        request = {"memoryId": memory_id, "records": batch}
        answer = with_retries(clients.data(region).batch_delete_memory_records, request, "Deleting records", memory_id)
        for failed in _failed(answer):
            if failed.get("errorCode") != 404:
                stayed[str(failed["memoryRecordId"])] = str(failed.get("errorMessage") or "no reason given")
    return stayed


def get_event(
    clients: Clients, memory_id: str, actor_id: str, session_id: str, event_id: str, *, region: str | None = None
) -> dict[str, Any] | None:
    """Return an event's shape, or None if the actor's session has no such event.

    Args:
        clients: The AWS clients of a connection.
        memory_id: The memory's id.
        actor_id: The actor's id.
        session_id: The session's id.
        event_id: The event's id.
        region: The region, if it is not the connection's.
    """
    request = {"memoryId": memory_id, "actorId": actor_id, "sessionId": session_id, "eventId": event_id}
    try:
        return with_retries(clients.data(region).get_event, request, "Reading an event", event_id)["event"]
    except (ResourceNotFoundError, RequestRejectedError):
        return None


def _failed(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    return answer.get("failedRecords") or []


def json_ready(value: Any) -> Any:
    """Return a shape with times as ISO 8601 text in UTC."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
