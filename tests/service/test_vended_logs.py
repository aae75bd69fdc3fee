"""AgentCore's own logs, delivered to the groups that a client names (vended logs)."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError
from waiting import wait_until


def deliver(logs: Any, arn: str, group: str) -> None:
    name = f"loom-{uuid.uuid4().hex[:8]}"
    logs.create_log_group(logGroupName=group)
    target = f"arn:aws:logs:{logs.meta.region_name}:123456789012:log-group:{group}"
    source = logs.put_delivery_source(name=name, logType="APPLICATION_LOGS", resourceArn=arn)["deliverySource"]
    assert (source["resourceArns"], source["service"]) == ([arn], "bedrock-agentcore")
    destination = logs.put_delivery_destination(
        name=name, deliveryDestinationConfiguration={"destinationResourceArn": target}
    )["deliveryDestination"]
    logs.create_delivery(deliverySourceName=name, deliveryDestinationArn=destination["arn"])


def test_invocations_are_delivered_to_the_group_of_a_delivery(aws: Any) -> None:
    runtime, logs = aws.deploy("vended"), aws.client("logs")
    arn = runtime["agentRuntimeArn"]
    aws.invoke(arn, b'{"prompt": "before"}')
    group = f"/aws/vendedlogs/bedrock-agentcore/runtime/APPLICATION_LOGS/{runtime['agentRuntimeId']}"
    deliver(logs, arn, group)
    answer, body = aws.invoke(arn, b'{"prompt": "after"}')
    events = wait_until(lambda: logs.filter_log_events(logGroupName=group)["events"], what="the record")
    (record,) = [json.loads(event["message"]) for event in events]
    assert events[0]["logStreamName"] == "BedrockAgentCoreRuntime_ApplicationLogs"
    assert (record["resource_arn"], record["session_id"]) == (arn, answer["runtimeSessionId"])
    assert record["request_payload"] == {"prompt": "after"}
    assert record["response_payload"] == json.loads(body)
    assert (record["operation"], len(record["trace_id"])) == ("InvokeAgentRuntime", 32)


def test_usage_is_logged_without_a_delivery(aws: Any) -> None:
    runtime = aws.deploy("metered")
    aws.invoke(runtime["agentRuntimeArn"])
    group = f"/aws/vendedlogs/bedrock-agentcore/runtime/USAGE_LOGS/{runtime['agentRuntimeId']}"
    logs = aws.client("logs")
    wait_until(lambda: logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"], what="the group")


def test_traces_of_a_memory_are_delivered_to_xray(aws: Any) -> None:
    memory = aws.control.create_memory(name=f"m_{uuid.uuid4().hex[:8]}", eventExpiryDuration=7)["memory"]
    logs, name = aws.client("logs"), f"loom-{uuid.uuid4().hex[:8]}"
    logs.put_delivery_source(name=name, logType="TRACES", resourceArn=memory["arn"])
    destination = logs.put_delivery_destination(name=name, deliveryDestinationType="XRAY")["deliveryDestination"]
    assert destination["deliveryDestinationType"] == "XRAY"
    delivery = logs.create_delivery(deliverySourceName=name, deliveryDestinationArn=destination["arn"])["delivery"]
    assert delivery["deliveryDestinationType"] == "XRAY"


def test_what_has_no_such_logs_is_refused(aws: Any) -> None:
    logs = aws.client("logs")
    memory = aws.control.create_memory(name=f"m_{uuid.uuid4().hex[:8]}", eventExpiryDuration=7)["memory"]
    with pytest.raises(ClientError, match="does not have logs of type USAGE_LOGS"):
        logs.put_delivery_source(name="usage", logType="USAGE_LOGS", resourceArn=memory["arn"])
    missing = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/missing-0123456789"
    with pytest.raises(logs.exceptions.ResourceNotFoundException):
        logs.put_delivery_source(name="missing", logType="APPLICATION_LOGS", resourceArn=missing)


def test_extractions_of_a_memory_are_delivered_with_their_failures(aws: Any) -> None:
    strategies = [
        {"semanticMemoryStrategy": {"name": "facts", "namespaces": ["/facts/{actorId}"]}},
        {"userPreferenceMemoryStrategy": {"name": "likes", "namespaceTemplates": ["/likes/{tenant}/"]}},
    ]
    memory = aws.control.create_memory(
        name=f"m_{uuid.uuid4().hex[:8]}", eventExpiryDuration=7, memoryStrategies=strategies
    )["memory"]
    logs, group = aws.client("logs"), f"/aws/vendedlogs/bedrock-agentcore/memory/APPLICATION_LOGS/{memory['id']}"
    deliver(logs, memory["arn"], group)
    text = {"conversational": {"content": {"text": "I am allergic to nuts."}, "role": "USER"}}
    event = aws.data.create_event(
        memoryId=memory["id"], actorId="ana", sessionId="monday", eventTimestamp=1_795_000_000, payload=[text]
    )["event"]
    events = wait_until(
        lambda: len(log_events := logs.filter_log_events(logGroupName=group)["events"]) == 2 and log_events,
        what="the records",
    )
    records = {(record := json.loads(item["message"]))["namespace"]: record for item in events}
    assert {item["logStreamName"] for item in events} == {"BedrockAgentCoreMemory_ApplicationLogs"}
    assert [record["memory_strategy_id"] for _, record in sorted(records.items())] == [
        strategy["strategyId"] for strategy in memory["strategies"]
    ]
    for record in records.values():
        assert (record["resource_arn"], record["actor_id"], record["session_id"]) == (memory["arn"], "ana", "monday")
        assert record["event_id"] == event["eventId"]
    extracted, failed = records["/facts/ana"], records["/likes/{tenant}/"]
    assert (extracted["severityText"], extracted["body"]["isError"]) == ("INFO", False)
    assert (failed["severityText"], failed["body"]["isError"]) == ("ERROR", True)
    assert "tenant" in failed["body"]["log"]
