"""Records of long-term memory through plain boto3: written, read, searched, filtered, paged, changed, deleted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from memory_clients import FACTS, LongTerm

Make = Callable[..., LongTerm]


def test_a_record_is_written_read_changed_and_deleted(long_term: Make) -> None:
    memory = long_term(FACTS)
    (record_id,) = memory.write(["The user lives in Ulm."], "/facts/anna/", metadata={"n": {"numberValue": 3}})
    record = memory.data.get_memory_record(memoryId=memory.id, memoryRecordId=record_id)["memoryRecord"]
    assert (record["content"]["text"], record["namespaces"]) == ("The user lives in Ulm.", ["/facts/anna/"])
    assert record["metadata"] == {"n": {"numberValue": 3.0}}
    assert len(record_id) == 40

    change = {"memoryRecordId": record_id, "timestamp": datetime.now(UTC), "content": {"text": "The user plays chess."}}
    changed = memory.data.batch_update_memory_records(memoryId=memory.id, records=[change])
    assert [record["status"] for record in changed["successfulRecords"]] == ["SUCCEEDED"]
    assert memory.search("board games", namespace="/facts/anna/")[0]["content"]["text"] == "The user plays chess."
    record = memory.data.get_memory_record(memoryId=memory.id, memoryRecordId=record_id)["memoryRecord"]
    assert record["metadata"] == {"n": {"numberValue": 3.0}}

    assert memory.data.delete_memory_record(memoryId=memory.id, memoryRecordId=record_id)["memoryRecordId"] == record_id
    assert memory.search("board games", namespace="/facts/anna/") == []
    with pytest.raises(ClientError, match="Memory record not found") as refused:
        memory.data.get_memory_record(memoryId=memory.id, memoryRecordId=record_id)
    assert refused.value.response["Error"]["Code"] == "ResourceNotFoundException"


def test_half_a_surrogate_pair_is_stored_as_a_replacement_character(long_term: Make) -> None:
    memory = long_term()
    record_id, _ = memory.write(["half \ud83d", "whole"], "/x")
    change = {"memoryRecordId": record_id, "timestamp": datetime.now(UTC), "content": {"text": "the other half \ude00"}}
    assert memory.texts("/x") == ["half \ufffd", "whole"]
    memory.data.batch_update_memory_records(memoryId=memory.id, records=[change])
    assert memory.texts("/x") == ["the other half \ufffd", "whole"]


def test_a_namespace_is_exact_and_a_path_holds_what_lies_below_it(long_term: Make) -> None:
    memory = long_term()
    for namespace in ("/org/a", "/org/a/", "/org/a/b", "/org/ab", "/other/a"):
        memory.write([f"A record of {namespace}"], namespace)
    assert memory.texts("/org/a") == [f"A record of {namespace}" for namespace in ("/org/a", "/org/a/", "/org/a/b")]
    assert len(memory.texts("/org")) == 4
    assert memory.texts("/or") == []
    matches = memory.search("a record", namespacePath="/org/a/")
    assert sorted(match["namespaces"][0] for match in matches) == ["/org/a", "/org/a/", "/org/a/b"]
    (exact,) = memory.search("a record", namespace="/org/a/")
    assert exact["namespaces"] == ["/org/a/"]


def test_retrieval_is_by_meaning_best_first_with_scores(long_term: Make) -> None:
    memory = long_term()
    texts = ["The user is allergic to shellfish.", "The user drives a Volvo.", "The user likes jazz concerts."]
    memory.write(texts, "/x")
    matches = memory.search("which seafood must be avoided?", namespace="/x")
    assert matches[0]["content"]["text"] == texts[0]
    scores = [match["score"] for match in matches]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(memory.search("music", 1, namespace="/x")) == 1


def test_pages_hold_every_record_once_while_others_are_written(long_term: Make) -> None:
    memory = long_term()
    ids = memory.write([f"Record {number}" for number in range(45)], "/x")
    record_ids: list[str] = []
    token: dict[str, str] = {}
    while True:
        page = memory.data.list_memory_records(memoryId=memory.id, namespace="/x", maxResults=10, **token)
        record_ids += [record["memoryRecordId"] for record in page["memoryRecordSummaries"]]
        if "nextToken" not in page:
            break
        memory.write(["A later one"], "/x")
        token = {"nextToken": page["nextToken"]}
    assert record_ids == ids[::-1]
    first = memory.data.list_memory_records(memoryId=memory.id, namespace="/x")
    assert len(first["memoryRecordSummaries"]) == 20
    with pytest.raises(ClientError, match="nextToken"):
        memory.data.list_memory_records(memoryId=memory.id, namespace="/y", nextToken=first["nextToken"])
    pages = memory.data.get_paginator("retrieve_memory_records").paginate(
        memoryId=memory.id,
        namespace="/x",
        searchCriteria={"searchQuery": "Record 7", "topK": 33},
        PaginationConfig={"PageSize": 10},
    )
    sizes = [len(page["memoryRecordSummaries"]) for page in pages]
    assert sizes == [10, 10, 10, 3]


@pytest.mark.parametrize(
    ("operator", "value", "numbers"),
    [
        ("EQUALS_TO", {"numberValue": 2}, [2]),
        ("GREATER_THAN", {"numberValue": 2}, [3]),
        ("GREATER_THAN_OR_EQUALS", {"numberValue": 2}, [2, 3]),
        ("LESS_THAN", {"numberValue": 2}, [0, 1]),
        ("LESS_THAN_OR_EQUALS", {"numberValue": 2}, [0, 1, 2]),
        ("EXISTS", None, [0, 1, 2, 3]),
        ("NOT_EXISTS", None, []),
        ("EQUALS_TO", {"stringValue": "2"}, []),
    ],
)
def test_metadata_filters_numbers(long_term: Make, operator: str, value: Any, numbers: list[int]) -> None:
    memory = long_term()
    for number in range(4):
        memory.write([f"Number {number}"], "/x", metadata={"n": {"numberValue": number}})
    metadata_filter = {"left": {"metadataKey": "n"}, "operator": operator}
    if value is not None:
        metadata_filter["right"] = {"metadataValue": value}
    list_answer = memory.data.list_memory_records(memoryId=memory.id, namespace="/x", metadataFilters=[metadata_filter])
    retrieval_answer = memory.data.retrieve_memory_records(
        memoryId=memory.id,
        namespace="/x",
        searchCriteria={"searchQuery": "number", "metadataFilters": [metadata_filter]},
    )
    expected = [f"Number {number}" for number in numbers]
    for answer in (list_answer, retrieval_answer):
        assert sorted(record["content"]["text"] for record in answer["memoryRecordSummaries"]) == expected


def test_metadata_filters_lists_and_times(long_term: Make) -> None:
    memory, moment = long_term(), datetime(2026, 1, 1, tzinfo=UTC)
    for days, tags in ((0, ["red"]), (1, ["red", "blue"]), (2, ["green"])):
        when = {"dateTimeValue": moment + timedelta(days=days)}
        memory.write([f"Day {days}"], "/x", metadata={"at": when, "tags": {"stringListValue": tags}})

    def days(key: str, operator: str, value: dict[str, Any]) -> list[str]:
        metadata_filter = {"left": {"metadataKey": key}, "operator": operator, "right": {"metadataValue": value}}
        answer = memory.data.list_memory_records(memoryId=memory.id, namespace="/x", metadataFilters=[metadata_filter])
        return sorted(record["content"]["text"] for record in answer["memoryRecordSummaries"])

    assert days("tags", "CONTAINS", {"stringValue": "red"}) == ["Day 0", "Day 1"]
    assert days("at", "BEFORE", {"dateTimeValue": moment + timedelta(days=1)}) == ["Day 0"]
    assert days("at", "AFTER", {"dateTimeValue": moment}) == ["Day 1", "Day 2"]
    assert days("at", "EQUALS_TO", {"dateTimeValue": moment}) == ["Day 0"]
    with pytest.raises(ClientError, match="BEFORE compares with a dateTimeValue"):
        days("at", "BEFORE", {"numberValue": 3})


def test_a_batch_tells_of_each_record_and_the_same_token_does_nothing_twice(long_term: Make) -> None:
    memory = long_term()
    good: dict[str, Any] = {
        "requestIdentifier": "good",
        "namespaces": ["/x"],
        "content": {"text": "A record"},
        "timestamp": datetime.now(UTC),
    }
    bad = {**good, "requestIdentifier": "bad", "memoryStrategyId": "nobody-0123456789"}
    request = {"memoryId": memory.id, "records": [good, bad], "clientToken": "one"}
    answer = memory.data.batch_create_memory_records(**request)
    assert [record["requestIdentifier"] for record in answer["successfulRecords"]] == ["good"]
    (failure,) = answer["failedRecords"]
    assert (failure["requestIdentifier"], failure["status"], failure["errorCode"]) == ("bad", "FAILED", 400)

    again = memory.data.batch_create_memory_records(**request)
    assert again["successfulRecords"] == answer["successfulRecords"]
    assert len(memory.records("/x")) == 1
    with pytest.raises(ClientError, match="clientToken was used before"):
        memory.data.batch_create_memory_records(**{**request, "records": [good]})

    missing = "mem-" + "0" * 36
    record_id = answer["successfulRecords"][0]["memoryRecordId"]
    deleted = memory.data.batch_delete_memory_records(
        memoryId=memory.id, records=[{"memoryRecordId": missing}, {"memoryRecordId": record_id}]
    )
    assert [record["errorCode"] for record in deleted["failedRecords"]] == [404]
    assert [record["memoryRecordId"] for record in deleted["successfulRecords"]] == [record_id]
    change = {"memoryRecordId": record_id, "timestamp": datetime.now(UTC), "content": {"text": "late"}}
    updated = memory.data.batch_update_memory_records(memoryId=memory.id, records=[change])
    assert [record["errorCode"] for record in updated["failedRecords"]] == [404]


def test_a_record_moves_and_its_expiry_comes_and_goes(long_term: Make) -> None:
    memory = long_term()
    (record_id,) = memory.write(["A record"], "/from")
    change = {"memoryRecordId": record_id, "timestamp": datetime.now(UTC), "namespaces": ["/to"]}
    memory.data.batch_update_memory_records(
        memoryId=memory.id, records=[change], recordExpirySpecification={"recordExpiryDurationDays": 31}
    )
    assert memory.search("record", namespace="/from") == []
    assert [record["memoryRecordId"] for record in memory.search("record", namespace="/to")] == [record_id]
    record = memory.data.get_memory_record(memoryId=memory.id, memoryRecordId=record_id)["memoryRecord"]
    assert timedelta(days=30) < record["expiresAt"] - datetime.now(UTC) < timedelta(days=32)
    memory.data.batch_update_memory_records(
        memoryId=memory.id, records=[change], recordExpirySpecification={"action": "REMOVE"}
    )
    record = memory.data.get_memory_record(memoryId=memory.id, memoryRecordId=record_id)["memoryRecord"]
    assert "expiresAt" not in record


def test_requests_that_break_a_rule_are_refused(long_term: Make) -> None:
    memory = long_term()
    for place in ({}, {"namespace": "/a", "namespacePath": "/a"}):
        with pytest.raises(ClientError, match="Exactly one of namespace"):
            memory.data.list_memory_records(memoryId=memory.id, **place)
    with pytest.raises(ClientError, match="Wildcards"):
        memory.data.list_memory_records(memoryId=memory.id, namespace="/a/*")
    with pytest.raises(ClientError, match="Memory not found"):
        memory.data.list_memory_records(memoryId="nobody-0123456789", namespace="/a")


def test_a_deleted_memory_takes_its_records_along(long_term: Make) -> None:
    memory = long_term()
    memory.write(["A record"], "/x")
    memory.control.delete_memory(memoryId=memory.id)
    with pytest.raises(ClientError, match="Memory not found"):
        memory.search("record", namespace="/x")


def test_a_memory_is_named_by_its_arn_too(long_term: Make) -> None:
    memory = long_term()
    memory.write(["A record"], "/x")
    answer = memory.data.list_memory_records(memoryId=memory.memory["arn"], namespace="/x")
    assert len(answer["memoryRecordSummaries"]) == 1
