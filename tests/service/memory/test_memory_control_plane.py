"""Memories and their strategies through plain boto3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from loomlib import local

SEMANTIC = {"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/f/{actorId}/"]}}


def refusal(call: Callable[..., Any], **parameters: Any) -> tuple[int, str]:
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    return caught.value.response["ResponseMetadata"]["HTTPStatusCode"], caught.value.response["Error"]["Code"]


def made(aws: Any, name: str, **more: Any) -> dict[str, Any]:
    return aws.control.create_memory(**({"name": name, "eventExpiryDuration": 30} | more))["memory"]


def shown(aws: Any, memory_id: str) -> dict[str, Any]:
    return aws.control.get_memory(memoryId=memory_id)["memory"]


def test_a_memory_is_creating_and_then_active_with_all_it_was_given(aws: Any) -> None:
    settings = {
        "description": "d",
        "memoryExecutionRoleArn": "arn:aws:iam::123456789012:role/m",
        "indexedKeys": [{"key": "priority", "type": "STRING"}],
    }
    created = made(aws, "whole", memoryStrategies=[SEMANTIC], **settings)
    assert created["status"] == created["strategies"][0]["status"] == "CREATING"
    memory = shown(aws, created["id"])
    assert memory["status"] == memory["strategies"][0]["status"] == "ACTIVE"
    assert {name: memory[name] for name in settings} == settings
    assert memory["id"].startswith("whole-")
    assert len(memory["id"]) == len("whole-") + 10
    assert memory["arn"].endswith(f":memory/{memory['id']}")
    strategy = memory["strategies"][0]
    assert (strategy["type"], strategy["namespaces"], strategy["namespaceTemplates"]) == (
        "SEMANTIC",
        ["/f/{actorId}/"],
        ["/f/{actorId}/"],
    )


def test_every_kind_of_strategy_is_shown_in_awss_form(aws: Any) -> None:
    step = {"appendToPrompt": "p", "modelId": "m"}
    strategies = [
        {"summaryMemoryStrategy": {"name": "sums"}},
        {
            "userPreferenceMemoryStrategy": {
                "name": "likes",
                "recordExpirySpecification": {"recordExpiryDurationDays": 40},
            }
        },
        {
            "episodicMemoryStrategy": {
                "name": "ep",
                "reflectionConfiguration": {"namespaceTemplates": ["/r/{actorId}/"]},
            }
        },
        {
            "customMemoryStrategy": {
                "name": "own",
                "configuration": {
                    "episodicOverride": {
                        "extraction": step,
                        "consolidation": step,
                        "reflection": step | {"namespaceTemplates": ["/q/"]},
                    }
                },
            }
        },
        {
            "customMemoryStrategy": {
                "name": "selfish",
                "configuration": {
                    "selfManagedConfiguration": {
                        "invocationConfiguration": {
                            "topicArn": "arn:aws:sns:us-east-1:123456789012:t",
                            "payloadDeliveryBucketName": "bucket",
                        }
                    }
                },
            }
        },
    ]
    memory = shown(aws, made(aws, "kinds", memoryStrategies=strategies)["id"])
    by_name = {strategy["name"]: strategy for strategy in memory["strategies"]}
    assert {name: strategy["type"] for name, strategy in by_name.items()} == {
        "sums": "SUMMARIZATION",
        "likes": "USER_PREFERENCE",
        "ep": "EPISODIC",
        "own": "CUSTOM",
        "selfish": "CUSTOM",
    }
    assert "{sessionId}" in by_name["sums"]["namespaceTemplates"][0]
    assert by_name["likes"]["recordExpiryDurationDays"] == 40
    reflection = by_name["ep"]["configuration"]["reflection"]["episodicReflectionConfiguration"]
    assert reflection["namespaceTemplates"] == ["/r/{actorId}/"]
    own = by_name["own"]["configuration"]
    assert own["type"] == "EPISODIC_OVERRIDE"
    assert own["extraction"]["customExtractionConfiguration"]["episodicExtractionOverride"] == step
    assert own["reflection"]["customReflectionConfiguration"]["episodicReflectionOverride"]["namespaces"] == ["/q/"]
    selfish = by_name["selfish"]["configuration"]
    assert selfish["type"] == "SELF_MANAGED"
    assert selfish["selfManagedConfiguration"]["historicalContextWindowSize"] == 4
    changes = {"configuration": {"selfManagedConfiguration": {"historicalContextWindowSize": 8}}}
    changes["memoryStrategyId"] = by_name["selfish"]["strategyId"]
    aws.control.update_memory(memoryId=memory["id"], memoryStrategies={"modifyMemoryStrategies": [changes]})
    changed = next(item for item in shown(aws, memory["id"])["strategies"] if item["name"] == "selfish")
    expected = {**selfish["selfManagedConfiguration"], "historicalContextWindowSize": 8}
    assert changed["configuration"]["selfManagedConfiguration"] == expected


def test_an_update_adds_modifies_and_deletes_strategies(aws: Any) -> None:
    memory = made(aws, "changing", memoryStrategies=[SEMANTIC, {"summaryMemoryStrategy": {"name": "sums"}}])
    facts, sums = (strategy["strategyId"] for strategy in memory["strategies"])
    answer = aws.control.update_memory(
        memoryId=memory["id"],
        description="new",
        eventExpiryDuration=90,
        addIndexedKeys=[{"key": "k", "type": "NUMBER"}],
        memoryStrategies={
            "addMemoryStrategies": [{"userPreferenceMemoryStrategy": {"name": "likes"}}],
            "modifyMemoryStrategies": [
                {"memoryStrategyId": facts, "description": "d", "namespaces": ["/g/{actorId}/"]}
            ],
            "deleteMemoryStrategies": [{"memoryStrategyId": sums}],
        },
    )["memory"]
    assert answer["status"] == "UPDATING"
    after = shown(aws, memory["id"])
    assert (after["status"], after["description"], after["eventExpiryDuration"]) == ("ACTIVE", "new", 90)
    assert [strategy["name"] for strategy in after["strategies"]] == ["facts", "likes"]
    assert after["strategies"][0]["namespaceTemplates"] == ["/g/{actorId}/"]
    assert after["indexedKeys"] == [{"key": "k", "type": "NUMBER"}]
    removal = {"deleteMemoryStrategies": [{"memoryStrategyId": sums}]}
    assert refusal(aws.control.update_memory, memoryId=memory["id"], memoryStrategies=removal) == (
        404,
        "ResourceNotFoundException",
    )
    duplicate = {"addMemoryStrategies": [SEMANTIC]}
    assert refusal(aws.control.update_memory, memoryId=memory["id"], memoryStrategies=duplicate) == (
        400,
        "ValidationException",
    )
    assert len(shown(aws, memory["id"])["strategies"]) == 2


def test_a_name_is_taken_once_and_a_token_makes_one_memory(aws: Any) -> None:
    first = made(aws, "once", clientToken="t" * 40)
    assert made(aws, "once", clientToken="t" * 40)["id"] == first["id"]
    duplicate = {"name": "once", "eventExpiryDuration": 30}
    assert refusal(aws.control.create_memory, **duplicate) == (400, "ValidationException")
    with pytest.raises(ClientError, match="already exists"):
        aws.control.create_memory(**duplicate)
    other = {"name": "twice", "eventExpiryDuration": 30, "clientToken": "t" * 40}
    assert refusal(aws.control.create_memory, **other) == (400, "ValidationException")


def test_a_deleted_memory_is_gone_with_its_events_and_its_name_is_free(aws: Any) -> None:
    memory_id = made(aws, "mortal")["id"]
    assert aws.control.delete_memory(memoryId=memory_id)["status"] == "DELETING"
    for call in (aws.control.get_memory, aws.control.delete_memory, aws.data.list_actors):
        assert refusal(call, memoryId=memory_id) == (404, "ResourceNotFoundException")
    assert made(aws, "mortal")["id"] != memory_id


def test_memories_are_listed_in_pages(aws: Any) -> None:
    ids = {made(aws, f"paged_{number}")["id"] for number in range(23)}
    assert len(aws.control.list_memories()["memories"]) == 20
    pages = aws.control.get_paginator("list_memories").paginate(PaginationConfig={"PageSize": 6})
    listed_ids = [memory["id"] for page in pages for memory in page["memories"]]
    assert ids <= set(listed_ids)
    assert len(listed_ids) == len(set(listed_ids))
    assert refusal(aws.control.list_memories, nextToken="no token") == (400, "ValidationException")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "9lives"},
        {"eventExpiryDuration": 2},
        {"eventExpiryDuration": 3_651},
        {"memoryStrategies": [SEMANTIC, SEMANTIC]},
        {"memoryStrategies": [{"semanticMemoryStrategy": {"name": f"s{number}"}} for number in range(7)]},
        {"memoryStrategies": [{"semanticMemoryStrategy": {"name": "s", "namespaces": ["/{bad"]}}]},
        {"memoryStrategies": [{"semanticMemoryStrategy": {"name": "s"}, "summaryMemoryStrategy": {"name": "t"}}]},
        {"indexedKeys": [{"key": "k", "type": "DATE"}]},
    ],
)
def test_a_memory_that_breaks_the_rules_is_refused(aws: Any, wrong: dict[str, Any]) -> None:
    control = aws.client("bedrock-agentcore-control", parameter_validation=False)
    parameters = {"name": "wrong", "eventExpiryDuration": 30} | wrong
    assert refusal(control.create_memory, **parameters) == (400, "ValidationException")


def test_memories_outlive_the_service(start_service: Callable[..., Any]) -> None:
    before = start_service()
    memory = shown(before, made(before, "lasting", memoryStrategies=[SEMANTIC])["id"])
    before.control.delete_memory(memoryId=made(before, "gone")["id"])
    local.stop(before.state.home)
    after = start_service(before.state.home)
    assert shown(after, memory["id"]) == memory
    assert [summary["id"] for summary in after.control.list_memories()["memories"]] == [memory["id"]]


def test_a_memory_has_tags_beside_those_of_runtimes(aws: Any) -> None:
    memory = made(aws, "tagged", tags={"team": "red"})
    aws.control.tag_resource(resourceArn=memory["arn"], tags={"site": "x", "team": "blue"})
    aws.control.untag_resource(resourceArn=memory["arn"], tagKeys=["site", "absent"])
    assert aws.control.list_tags_for_resource(resourceArn=memory["arn"])["tags"] == {"team": "blue"}
    many = {f"t{number}": "v" for number in range(50)}
    wrong = {"resourceArn": memory["arn"], "tags": many}
    assert refusal(aws.control.tag_resource, **wrong) == (400, "ValidationException")
    aws.control.delete_memory(memoryId=memory["id"])
    error = refusal(aws.control.list_tags_for_resource, resourceArn=memory["arn"])
    assert error == (404, "ResourceNotFoundException")
