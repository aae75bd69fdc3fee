"""Rate limits of gateways: kept as resources, and answered with AWS's error when they are reached."""

from __future__ import annotations

import json
import secrets
from contextlib import closing
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError
from test_gateway_calls import ask
from token_issuer import TokenIssuer
from waiting import wait_until

import loomlib as loom


def entry(rate: float, period: str = "minute", **dimensions: str) -> dict[str, Any]:
    return {"dimensions": dimensions, "requests": [{"rate": rate, "period": period}]}


def status(url: str, tool: str, headers: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    body = {
        "jsonrpc": "2.0",
        "id": "r-1",
        "method": "tools/call",
        "params": {"name": tool, "arguments": {"a": 1, "b": 2}},
    }
    answer = requests.post(url, json=body, headers=headers, timeout=60)
    return answer.status_code, answer.json()


def test_rate_limits_are_created_read_changed_and_deleted(make_gateway: Any, aws: Any) -> None:
    gateway, control = make_gateway(), aws.control
    gateway_ref = {"gatewayIdentifier": gateway.id}
    limit = control.create_gateway_rate_limit(
        **gateway_ref, rateLimitId="per-tool", dimensionKeys=["toolName"], entries=[entry(5, toolName="*")]
    )
    assert (limit["rateLimitId"], limit["gatewayIdentifier"], limit["status"]) == ("per-tool", gateway.id, "CREATING")
    description = control.get_gateway_rate_limit(**gateway_ref, rateLimitId="per-tool")
    assert (description["status"], description["entries"]) == ("ACTIVE", [entry(5, toolName="*")])
    other = control.create_gateway_rate_limit(
        **gateway_ref, dimensionKeys=["targetName"], entries=[entry(5, targetName="a")]
    )
    changed = control.update_gateway_rate_limit(**gateway_ref, rateLimitId="per-tool", entries=[entry(6, toolName="*")])
    assert (changed["status"], changed["dimensionKeys"]) == ("UPDATING", ["toolName"])
    listed = control.list_gateway_rate_limits(**gateway_ref)["rateLimits"]
    assert [item["rateLimitId"] for item in listed] == ["per-tool", other["rateLimitId"]]
    assert control.delete_gateway_rate_limit(**gateway_ref, rateLimitId="per-tool")["status"] == "DELETING"
    keeping = {
        "rateLimitId": other["rateLimitId"],
        "dimensionKeys": ["targetName"],
        "entries": [entry(7, targetName="a")],
    }
    new = {"rateLimitId": "new", "dimensionKeys": ["toolName"], "entries": [entry(1, toolName="t")]}
    assert len(control.batch_put_gateway_rate_limits(**gateway_ref, rateLimits=[keeping, new])["rateLimits"]) == 2
    limits = control.batch_put_gateway_rate_limits(**gateway_ref, rateLimits=[new])["rateLimits"]
    assert [(item["rateLimitId"], item["status"]) for item in limits] == [("new", "ACTIVE")]
    assert [item["rateLimitId"] for item in control.list_gateway_rate_limits(**gateway_ref)["rateLimits"]] == ["new"]
    control.delete_gateway(**gateway_ref)


@pytest.mark.parametrize(
    ("keys", "entries", "message"),
    [
        (["toolName"], [entry(1, targetName="a")], "must have the dimensions toolName"),
        (["targetName", "toolName"], [entry(1, targetName="*", toolName="t")], "only \\* may follow"),
        (["toolName"], [entry(1, toolName="t")] * 2, "Two entries"),
        (["toolName"], [{"dimensions": {"toolName": "t"}}], "must have a request rate"),
        (["$.context.request.header.X-Tier"], [entry(1, **{"$.context.request.header.X-Tier": "*"})], "identity"),
        (
            ["toolName"],
            [{"dimensions": {"toolName": "t"}, "tokens": [{"rate": 1, "period": "minute"}]}],
            "token limits",
        ),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused(
    make_gateway: Any, aws: Any, keys: list[str], entries: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(ClientError, match=message):
        aws.control.create_gateway_rate_limit(gatewayIdentifier=make_gateway().id, dimensionKeys=keys, entries=entries)


def test_two_limits_of_the_same_dimensions_conflict(make_gateway: Any, aws: Any) -> None:
    settings = {
        "gatewayIdentifier": make_gateway().id,
        "dimensionKeys": ["toolName"],
        "entries": [entry(1, toolName="t")],
    }
    aws.control.create_gateway_rate_limit(**settings)
    with pytest.raises(aws.control.exceptions.ConflictException):
        aws.control.create_gateway_rate_limit(**settings)


def test_the_most_specific_entry_decides_and_a_reached_limit_is_aws_s_error(
    make_gateway: Any, aws: Any, mcp_server: Any
) -> None:
    gateway = make_gateway()
    gateway.add("sums", {"mcpServer": {"endpoint": mcp_server.url}})
    entries = [
        entry(2, targetName="sums", toolName="sums___add"),
        entry(0, targetName="sums", toolName="*"),
        entry(1, "second", targetName="*", toolName="*"),
    ]
    limit = aws.control.create_gateway_rate_limit(
        gatewayIdentifier=gateway.id, rateLimitId="rl-1", dimensionKeys=["targetName", "toolName"], entries=entries
    )
    trace_id, parent = secrets.token_hex(16), secrets.token_hex(8)
    headers = {"traceparent": f"00-{trace_id}-{parent}-01"}
    assert [status(gateway.url, "sums___add", headers)[0] for _ in range(3)] == [200, 200, 429]

    def spans() -> list[dict[str, Any]] | None:
        logs = aws.client("logs")
        try:
            events = logs.filter_log_events(logGroupName="aws/spans", filterPattern=f'"{trace_id}"')["events"]
        except logs.exceptions.ResourceNotFoundException:
            return None
        return [json.loads(event["message"]) for event in events] if len(events) == 3 else None

    gateway_spans = wait_until(spans, what="three spans") or []
    name = "aws.agentcore.gateway.throttle.customer"
    refused = [span["attributes"] for span in gateway_spans if f"{name}.decision" in span["attributes"]]
    assert [(item[f"{name}.limit_key"], item[f"{name}.matched_entry"]) for item in refused] == [
        ("rl-1", "sums,sums___add")
    ]
    code, blocked = status(gateway.url, "sums___fail")
    data = {"limitKey": "rl-1/targetName=sums,toolName=sums___fail", "metric": "requests", "retryAfter": 60}
    error = {"code": -32003, "message": "Rate limit exceeded", "data": data}
    assert (code, blocked) == (429, {"jsonrpc": "2.0", "id": "r-1", "error": error})
    assert "result" in ask(gateway.url, "tools/list")  # has no tool, so the limit is not about it
    aws.control.delete_gateway_rate_limit(gatewayIdentifier=gateway.id, rateLimitId=limit["rateLimitId"])
    assert status(gateway.url, "sums___add")[0] == 200


def test_each_verified_caller_has_a_bucket_of_its_own(make_gateway: Any, aws: Any) -> None:
    with closing(TokenIssuer()) as issuer:
        rules = {"discoveryUrl": issuer.discovery_url, "allowedAudience": ["tools"]}
        gateway = make_gateway("CUSTOM_JWT", authorizerConfiguration={"customJWTAuthorizer": rules})
        keys = ["$.context.jwt.sub", "$.context.request.header.X-Tier"]
        entries = [entry(1, **dict.fromkeys(keys, "*"))]
        aws.control.create_gateway_rate_limit(gatewayIdentifier=gateway.id, dimensionKeys=keys, entries=entries)
        tokens = {name: issuer.token(aud="tools", sub=name) for name in ("alice", "bob")}
        callers = [
            ("alice", "free"),
            ("alice", "free"),
            ("bob", "free"),
            ("alice", "gold"),
            ("alice", ""),
            ("alice", ""),
        ]
        codes = [
            status(
                gateway.url, "none", {"Authorization": f"Bearer {tokens[name]}", **({"X-Tier": tier} if tier else {})}
            )[0]
            for name, tier in callers
        ]
    assert codes == [200, 429, 200, 200, 200, 200]  # without the header the limit is not about the request


def test_a_notebook_sees_a_reached_limit_as_the_failure_of_a_call(aws: Any, mcp_server: Any) -> None:
    with loom.connect(home=str(aws.state.home)) as bench, bench.gateways.create("limited-sums") as gateway:
        gateway.add_mcp("sums", mcp_server.url)
        assert gateway.call("sums___add", a=1, b=2).value == 3
        aws.control.create_gateway_rate_limit(
            gatewayIdentifier=gateway.value.id, dimensionKeys=["toolName"], entries=[entry(0, toolName="sums___add")]
        )
        call = gateway.call("sums___add", a=1, b=2)
        assert not call.ok
        assert "Rate limit exceeded" in str(call.error)
    bench.gateways.delete("limited-sums")
