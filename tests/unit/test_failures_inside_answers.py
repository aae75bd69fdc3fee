"""Answers with the HTTP status 200 that report a failure, or an item that is gone: documented answers of AWS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.stub import Stubber

from loomlib.aws import Clients, Connection
from loomlib.aws.event_rules import put_rule
from loomlib.aws.functions import LambdaFunction
from loomlib.aws.gateways import Gateway, delete_gateway
from loomlib.aws.image_builds import delete_image
from loomlib.aws.metrics import metric_totals
from loomlib.errors import AccessDeniedError, AwsError, ServiceFailedError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RULE = "arn:aws:events:us-east-1:123456789012:rule/new-invoices"
FUNCTION = LambdaFunction(
    name="invoices", arn="arn:aws:lambda:us-east-1:123456789012:function:invoices", runtime="", handler="", status="",
    description="", timeout_s=1, memory_mb=128, region="us-east-1", updated_at=NOW,
)  # fmt: skip
GATEWAY_ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:gateway/tools-abcdefghij"
GATEWAY = Gateway(
    id="tools-abcdefghij", name="tools", arn=GATEWAY_ARN, url="", status="READY", authorizer="NONE", searches=False,
    region="us-east-1", created_at=NOW,
)  # fmt: skip
TARGET: dict[str, Any] = {
    "targetId": "ABCDEFGHIJ", "name": "sums", "status": "READY", "createdAt": NOW, "updatedAt": NOW,
}  # fmt: skip
TARGET_READ: dict[str, Any] = {
    **TARGET, "gatewayArn": GATEWAY_ARN,
    "credentialProviderConfigurations": [{"credentialProviderType": "GATEWAY_IAM_ROLE"}],
    "targetConfiguration": {"mcp": {"mcpServer": {"endpoint": "https://example.com/mcp"}}},
}  # fmt: skip


@pytest.fixture
def clients() -> Iterator[Clients]:
    environment = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    with closing(Clients(Connection(environment=environment))) as opened:
        yield opened


@pytest.mark.parametrize(("status", "error"), [("InternalError", ServiceFailedError), ("Forbidden", AccessDeniedError)])
def test_a_metric_that_cannot_be_read_is_an_error_and_not_zero(
    clients: Clients, status: str, error: type[AwsError]
) -> None:
    metric = {"MetricName": "Invocations", "Dimensions": [{"Name": "Resource", "Value": "echo-1"}]}
    results = [
        {"Id": "m0_samplecount", "Values": [5.0], "StatusCode": "Complete"},
        {"Id": "m0_sum", "Values": [], "StatusCode": status, "Messages": [{"Code": "X", "Value": "the reason"}]},
    ]
    with Stubber(clients.client("cloudwatch")) as cloudwatch:
        cloudwatch.add_response("list_metrics", {"Metrics": [metric]})
        cloudwatch.add_response("get_metric_data", {"MetricDataResults": results})
        with pytest.raises(error, match=f"{status}: the reason.*Invocations in AWS/Bedrock"):
            metric_totals(clients, "AWS/Bedrock", about="echo-1", start=NOW, end=NOW)


def test_a_target_that_a_rule_does_not_get_is_an_error(clients: Clients) -> None:
    failed = {"TargetId": "agent", "ErrorCode": "ConcurrentModificationException", "ErrorMessage": "try again"}
    with Stubber(clients.client("events")) as events, Stubber(clients.client("lambda")) as functions:
        events.add_client_error("describe_rule", "ResourceNotFoundException", http_status_code=400)
        events.add_response("put_rule", {"RuleArn": RULE})
        functions.add_response("add_permission", {})
        events.add_response("put_targets", {"FailedEntryCount": 1, "FailedEntries": [failed]})
        with pytest.raises(ServiceFailedError, match=r"ConcurrentModificationException: try again.*new-invoices"):
            put_rule(clients, "new-invoices", {"source": ["aws.s3"]}, FUNCTION, {})


def test_an_image_that_ecr_does_not_delete_is_an_error_unless_it_is_gone(clients: Clients) -> None:
    with Stubber(clients.client("ecr")) as ecr:
        for code in ("ImageNotFound", "ImageReferencedByManifestList"):
            failed = {"imageId": {"imageTag": "t"}, "failureCode": code, "failureReason": "why"}
            ecr.add_response("batch_delete_image", {"failures": [failed]})
        delete_image(clients, "agents", "t")
        with pytest.raises(AwsError, match=r"ImageReferencedByManifestList: why.*agents:t"):
            delete_image(clients, "agents", "t")


def test_a_gateway_is_deleted_whose_target_is_gone_between_its_listing_and_its_reading(clients: Clients) -> None:
    with Stubber(clients.control("us-east-1")) as control:
        control.add_response("list_gateway_targets", {"items": [TARGET]})
        control.add_response("get_gateway_target", TARGET_READ)
        deleted = {"gatewayArn": GATEWAY_ARN, "targetId": TARGET["targetId"], "status": "DELETING"}
        control.add_response("delete_gateway_target", deleted)
        control.add_response("list_gateway_targets", {"items": [TARGET]})
        control.add_client_error("get_gateway_target", "ResourceNotFoundException", http_status_code=404)
        control.add_response("delete_gateway", {"gatewayId": GATEWAY.id, "status": "DELETING"})
        delete_gateway(clients, GATEWAY)
        control.assert_no_pending_responses()
