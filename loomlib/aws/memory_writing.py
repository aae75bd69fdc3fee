"""AgentCore Memory's writing calls, and its events and records in AWS's own shapes, for copies that lose nothing.

A write is made again when throttled: creations carry a token by which the service knows a repetition, and what is to
be deleted may be gone already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from loomlib.errors import RequestRejectedError, ResourceNotFoundError

from .connection import Clients
from .memory_calls import asked_again, pages

BATCH: Final = 100
"""Records of one batch at most."""


def iter_event_shapes(
    clients: Clients,
    memory_id: str,
    actor_id: str,
    session_id: str,
    *,
    payloads: bool = True,
    region: str | None = None,
) -> Iterator[dict[str, Any]]:
    """A session's events as the service gives them, newest first; a session without events has none."""
    asked = {"memoryId": memory_id, "actorId": actor_id, "sessionId": session_id, "includePayloads": payloads}
    try:
        yield from pages(clients.data(region).list_events, "events", asked, "Listing events", session_id)
    except ResourceNotFoundError:
        return


def iter_record_shapes(
    clients: Clients, memory_id: str, path: str, *, region: str | None = None
) -> Iterator[dict[str, Any]]:
    """The records of a path and all below it, as the service gives them."""
    asked = {"memoryId": memory_id, "namespacePath": path}
    call = clients.data(region).list_memory_records
    yield from pages(call, "memoryRecordSummaries", asked, "Listing memory records", path)


def create_event(clients: Clients, asked: Mapping[str, Any], *, region: str | None = None) -> dict[str, Any]:
    """CreateEvent in AWS's form; what was created, an event's shape."""
    answer = asked_again(clients.data(region).create_event, asked, "Creating an event", str(asked.get("actorId", "")))
    return answer["event"]


def create_records(
    clients: Clients,
    memory_id: str,
    records: Sequence[Mapping[str, Any]],
    *,
    token: str,
    region: str | None = None,
) -> tuple[dict[str, str], dict[str, str]]:
    """BatchCreateMemoryRecords; new ids, and the reasons of those that failed, by request identifier.

    With the same `token` and records nothing is created twice.
    """
    asked = {"memoryId": memory_id, "records": list(records), "clientToken": token}
    answer = asked_again(clients.data(region).batch_create_memory_records, asked, "Creating records", memory_id)
    made = {str(each.get("requestIdentifier", "")): str(each["memoryRecordId"]) for each in answer["successfulRecords"]}
    refused = {
        str(each.get("requestIdentifier", "")): str(each.get("errorMessage") or "no reason given")
        for each in _failed(answer)
    }
    return made, refused


def delete_event(
    clients: Clients, memory_id: str, actor_id: str, session_id: str, event_id: str, *, region: str | None = None
) -> None:
    """Delete one event; one that is gone is no error."""
    asked = {"memoryId": memory_id, "actorId": actor_id, "sessionId": session_id, "eventId": event_id}
    try:
        asked_again(clients.data(region).delete_event, asked, "Deleting an event", event_id)
    except ResourceNotFoundError:
        return


def delete_records(
    clients: Clients, memory_id: str, record_ids: Sequence[str], *, region: str | None = None
) -> dict[str, str]:
    """Delete records, in batches; the reasons of those that stayed, by id. One that is gone is no error."""
    stayed: dict[str, str] = {}
    for start in range(0, len(record_ids), BATCH):
        batch = [{"memoryRecordId": each} for each in record_ids[start : start + BATCH]]
        asked = {"memoryId": memory_id, "records": batch}
        answer = asked_again(clients.data(region).batch_delete_memory_records, asked, "Deleting records", memory_id)
        for failed in _failed(answer):
            if failed.get("errorCode") != 404:
                stayed[str(failed["memoryRecordId"])] = str(failed.get("errorMessage") or "no reason given")
    return stayed


def get_event(
    clients: Clients, memory_id: str, actor_id: str, session_id: str, event_id: str, *, region: str | None = None
) -> dict[str, Any] | None:
    """An event's shape; None where the service gives none to this actor and session."""
    asked = {"memoryId": memory_id, "actorId": actor_id, "sessionId": session_id, "eventId": event_id}
    try:
        return asked_again(clients.data(region).get_event, asked, "Reading an event", event_id)["event"]
    except (ResourceNotFoundError, RequestRejectedError):
        return None


def _failed(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    return answer.get("failedRecords") or []


def json_ready(value: Any) -> Any:
    """A shape without times, which JSON does not know: they become ISO 8601 in UTC."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): json_ready(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [json_ready(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value
