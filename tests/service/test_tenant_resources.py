"""Memories and credentials of several tenants: the tenant is that of the caller's key, and nothing else says it."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import time
import uuid
from typing import Any
from urllib.parse import quote

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tenant_roles import Tenant, refusal
from token_issuer import TokenIssuer

HOSTILE_AGENT = """
import boto3
from bedrock_agentcore import BedrockAgentCoreApp
from bedrock_agentcore.runtime import BedrockAgentCoreContext
from botocore.config import Config
from botocore.exceptions import ClientError

app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    token = BedrockAgentCoreContext.get_workload_access_token()
    if payload["operation"] == "token":
        return {"token": token}
    client = boto3.client("bedrock-agentcore", config=Config(retries={"total_max_attempts": 1}))
    given = {name: token if value == "TOKEN" else value for name, value in payload["parameters"].items()}
    try:
        done = getattr(client, payload["operation"])(**given)
    except ClientError as error:
        return {"error": error.response["Error"]["Code"]}
    events = done.get("events") or ()
    return {"texts": [event["payload"][0]["conversational"]["content"]["text"] for event in events],
            "key": done.get("apiKey", "")}


app.run()
"""

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared(aws: Any) -> str:
    """A memory of the owner's, which all tenants share."""
    return new_memory(aws)


def new_memory(caller: Any) -> str:
    response = caller.control.create_memory(name=f"memory{next(_numbers)}", eventExpiryDuration=30)
    return response["memory"]["id"]


def write(caller: Any, memory: str, actor: str, session: str, text: str) -> str:
    part = {"conversational": {"role": "USER", "content": {"text": text}}}
    response = caller.data.create_event(
        memoryId=memory, actorId=actor, sessionId=session, eventTimestamp=time.time(), payload=[part]
    )
    return response["event"]["eventId"]


def texts(caller: Any, memory: str, actor: str, session: str) -> list[str]:
    events = caller.data.list_events(memoryId=memory, actorId=actor, sessionId=session)["events"]
    return sorted(event["payload"][0]["conversational"]["content"]["text"] for event in events)


def add_record(caller: Any, memory: str, text: str, namespace: str = "/facts/") -> str:
    record = {
        "requestIdentifier": "r",
        "namespaces": [namespace],
        "content": {"text": text},
        "timestamp": time.time(),
    }
    response = caller.data.batch_create_memory_records(memoryId=memory, records=[record])
    return response["successfulRecords"][0]["memoryRecordId"]


def records(caller: Any, memory: str, namespace: str = "/facts/") -> list[str]:
    listed = caller.data.list_memory_records(memoryId=memory, namespace=namespace)["memoryRecordSummaries"]
    return sorted(record["content"]["text"] for record in listed)


def found(caller: Any, memory: str, query: str, namespace: str = "/facts/") -> list[str]:
    criteria = {"searchQuery": query, "topK": 20}
    answer = caller.data.retrieve_memory_records(memoryId=memory, namespace=namespace, searchCriteria=criteria)
    return sorted(record["content"]["text"] for record in answer["memoryRecordSummaries"])


def test_a_session_of_a_shared_memory_is_the_tenants_that_wrote_first(
    aws: Any, a: Tenant, b: Tenant, nobody: Tenant, shared: str
) -> None:
    session = str(uuid.uuid4())
    event = write(a, shared, "ann", session, "my secret")
    where = {"memoryId": shared, "actorId": "ann", "sessionId": session}
    for other in (b, nobody):
        assert texts(other, shared, "ann", session) == []
        assert refusal(other.data.get_event, eventId=event, **where) == "ResourceNotFoundException"
        assert refusal(other.data.delete_event, eventId=event, **where) == "ResourceNotFoundException"
        with pytest.raises(ClientError) as caught:
            write(other, shared, "ann", session, "as ann")
        error = caught.value.response["Error"]
        assert (error["Code"], error["Message"]) == (
            "AccessDeniedException",
            "The session belongs to another tenant",
        )
        assert other.data.list_sessions(memoryId=shared, actorId="ann")["sessionSummaries"] == []
        assert "ann" not in [actor["actorId"] for actor in other.data.list_actors(memoryId=shared)["actorSummaries"]]
    assert texts(a, shared, "ann", session) == texts(aws, shared, "ann", session) == ["my secret"]


def test_records_are_found_by_their_own_tenant_only(aws: Any, a: Tenant, b: Tenant, shared: str) -> None:
    mine, others = f"lisbon {uuid.uuid4()}", f"lisbon {uuid.uuid4()}"
    record, _ = add_record(a, shared, mine), add_record(b, shared, others)
    assert mine in records(a, shared)
    assert mine not in records(b, shared)
    assert mine in found(a, shared, "lisbon")
    assert mine not in found(b, shared, "lisbon")
    record_ref = {"memoryId": shared, "memoryRecordId": record}
    assert refusal(b.data.get_memory_record, **record_ref) == "ResourceNotFoundException"
    assert refusal(b.data.delete_memory_record, **record_ref) == "ResourceNotFoundException"
    change = {"memoryRecordId": record, "timestamp": time.time(), "content": {"text": "changed"}}
    changed = b.data.batch_update_memory_records(memoryId=shared, records=[change])
    assert [failed["errorCode"] for failed in changed["failedRecords"]] == [404]
    assert {mine, others} <= set(records(aws, shared))
    change["content"] = {"text": mine + " again"}
    assert aws.data.batch_update_memory_records(memoryId=shared, records=[change])["successfulRecords"]
    assert mine + " again" in records(a, shared)  # the owner's change leaves the record with its tenant


def test_what_a_tenant_creates_other_tenants_do_not_see(aws: Any, a: Tenant, b: Tenant, nobody: Tenant) -> None:
    memory = new_memory(a)
    arn = a.control.get_memory(memoryId=memory)["memory"]["arn"]
    for other in (b, nobody):
        assert refusal(other.control.get_memory, memoryId=memory) == "ResourceNotFoundException"
        assert refusal(other.control.delete_memory, memoryId=memory) == "ResourceNotFoundException"
        assert refusal(write, other, memory, "x", "s", "in") == "ResourceNotFoundException"
        assert refusal(records, other, memory) == "ResourceNotFoundException"
        assert refusal(other.control.list_tags_for_resource, resourceArn=arn) == "ResourceNotFoundException"
        assert memory not in [item["id"] for item in other.control.list_memories()["memories"]]
    assert memory in [item["id"] for item in a.control.list_memories()["memories"]]
    write(aws, memory, "ann", "s", "by the owner")  # who acts for the tenant there
    add_record(aws, memory, "known")
    assert (texts(a, memory, "ann", "s"), records(a, memory)) == (["by the owner"], ["known"])


def test_credentials_are_given_to_their_own_tenant_only(aws: Any, a: Tenant, b: Tenant) -> None:
    workload, provider = f"work{next(_numbers)}", f"key{next(_numbers)}"
    a.control.create_workload_identity(name=workload)
    a.control.create_api_key_credential_provider(name=provider, apiKey="top secret")
    token = a.data.get_workload_access_token(workloadName=workload)["workloadAccessToken"]
    arguments = {"resourceCredentialProviderName": provider}
    assert a.data.get_resource_api_key(workloadIdentityToken=token, **arguments)["apiKey"] == "top secret"
    assert refusal(b.data.get_workload_access_token, workloadName=workload) == "ResourceNotFoundException"
    with pytest.raises(ClientError) as caught:
        b.data.get_resource_api_key(workloadIdentityToken=token, **arguments)
    error = caught.value.response["Error"]
    assert (error["Code"], error["Message"]) == (
        "AccessDeniedException",
        "The workload access token belongs to another tenant",
    )
    own = f"work{next(_numbers)}"
    b.control.create_workload_identity(name=own)
    mine = b.data.get_workload_access_token(workloadName=own)["workloadAccessToken"]
    assert refusal(b.data.get_resource_api_key, workloadIdentityToken=mine, **arguments) == "ResourceNotFoundException"
    assert refusal(b.control.get_api_key_credential_provider, name=provider) == "ResourceNotFoundException"
    listed = b.control.list_api_key_credential_providers()["credentialProviders"]
    assert provider not in [item["name"] for item in listed]


def test_the_tenant_of_a_users_token_is_the_one_that_it_names(aws: Any, a: Tenant, b: Tenant) -> None:
    workload = f"shared{next(_numbers)}"
    aws.control.create_workload_identity(name=workload)
    with contextlib.closing(TokenIssuer()) as issuer:
        rules = {"customJWTAuthorizer": {"discoveryUrl": issuer.discovery_url, "allowedClients": ["web"]}}
        gateway = {"protocolType": "MCP", "authorizerType": "CUSTOM_JWT", "authorizerConfiguration": rules}
        aws.control.create_gateway(
            name=f"known{next(_numbers)}", roleArn="arn:aws:iam::123456789012:role/gateway", **gateway
        )
        user = {"workloadName": workload, "userToken": issuer.token(tenant_id="a")}
        assert a.data.get_workload_access_token_for_jwt(**user)["workloadAccessToken"]
        assert aws.data.get_workload_access_token_for_jwt(**user)["workloadAccessToken"]
        assert refusal(b.data.get_workload_access_token_for_jwt, **user) == "AccessDeniedException"


def test_a_gateway_sends_no_other_tenants_key(aws: Any, a: Tenant, b: Tenant) -> None:
    provider = f"key{next(_numbers)}"
    arn = a.control.create_api_key_credential_provider(name=provider, apiKey="top secret")["credentialProviderArn"]
    gateway = b.control.create_gateway(
        name=f"gate{next(_numbers)}", protocolType="MCP", authorizerType="NONE", roleArn=b.arn
    )["gatewayId"]
    target = {"mcp": {"mcpServer": {"endpoint": "http://127.0.0.1:9/mcp"}}}
    credentials = {
        "credentialProviderType": "API_KEY",
        "credentialProvider": {"apiKeyCredentialProvider": {"providerArn": arn}},
    }
    arguments = {"targetConfiguration": target, "credentialProviderConfigurations": [credentials]}
    refused = refusal(b.control.create_gateway_target, gatewayIdentifier=gateway, name="theirs", **arguments)
    assert refused == "ResourceNotFoundException"


def test_a_tenant_stays_itself_when_it_assumes_another_tenants_role(aws: Any, a: Tenant, b: Tenant) -> None:
    memory = new_memory(b)
    keys = a.client("sts").assume_role(RoleArn=b.arn, RoleSessionName="as-b")["Credentials"]
    client = boto3.client(
        "bedrock-agentcore-control",
        endpoint_url=aws.state.url,
        region_name=aws.state.region,
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
    )
    with contextlib.closing(client):
        assert refusal(client.get_memory, memoryId=memory) == "ResourceNotFoundException"


def test_a_hostile_agent_in_a_session_of_one_tenant_reads_nothing_of_another(aws: Any, a: Tenant, shared: str) -> None:
    provider = f"key{next(_numbers)}"
    a.control.create_api_key_credential_provider(name=provider, apiKey="top secret")
    with contextlib.closing(TokenIssuer()) as issuer:
        rules = {"customJWTAuthorizer": {"discoveryUrl": issuer.discovery_url, "allowedClients": ["web"]}}
        more = {"authorizerConfiguration": rules, "environmentVariables": {"MEMORY": shared}}
        arn = aws.deploy("hostile", HOSTILE_AGENT, **more)["agentRuntimeArn"]
        sessions = {name: str(uuid.uuid4()) for name in ("a", "b")}

        def ask(tenant: str, operation: str, **parameters: Any) -> dict[str, Any]:
            fields = {
                "Authorization": f"Bearer {issuer.token(tenant_id=tenant, sub='ann')}",
                "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": sessions[tenant],
            }
            connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
            with contextlib.closing(connection):
                body = json.dumps({"operation": operation, "parameters": parameters, "tenant_id": "a"})
                connection.request("POST", f"/runtimes/{quote(arn, safe='')}/invocations", body, fields)
                return json.loads(connection.getresponse().read())

        where = {"memoryId": shared, "actorId": "ann", "sessionId": sessions["a"]}
        part = {"conversational": {"role": "USER", "content": {"text": "ann's secret"}}}
        event = ask("a", "create_event", **where, eventTimestamp=time.time(), payload=[part])
        assert "error" not in event
        assert ask("a", "list_events", **where)["texts"] == ["ann's secret"]
        assert ask("b", "list_events", **where)["texts"] == []
        assert ask("b", "create_event", **where, eventTimestamp=time.time(), payload=[part]) == {
            "error": "AccessDeniedException"
        }
        key = {"resourceCredentialProviderName": provider}
        assert ask("a", "get_resource_api_key", workloadIdentityToken="TOKEN", **key)["key"] == "top secret"
        refused = ask("b", "get_resource_api_key", workloadIdentityToken="TOKEN", **key)
        assert refused == {"error": "ResourceNotFoundException"}
        stolen = ask("a", "token")["token"]
        refused = ask("b", "get_resource_api_key", workloadIdentityToken=stolen, **key)
        assert refused == {"error": "AccessDeniedException"}


STEP = st.tuples(
    st.sampled_from("ab"), st.sampled_from(["event", "record"]), st.sampled_from(["ann", "bob"]), st.sampled_from("st")
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEP, max_size=6))
def test_whatever_two_tenants_write_into_one_memory_each_reads_exactly_its_own(
    a: Tenant, b: Tenant, shared: str, steps: list[tuple[str, str, str, str]]
) -> None:
    """Actors, sessions and namespaces have the same names, as a hostile tenant would choose them."""
    tenants, run = {"a": a, "b": b}, uuid.uuid4().hex
    owner, events, stored = dict[str, str](), dict[str, list[str]](), {"a": list[str](), "b": list[str]()}
    for number, (name, kind, actor, session) in enumerate(steps):
        text = f"{kind} {number} of {name}"
        if kind == "record":
            add_record(tenants[name], shared, text, f"/{run}/")
            stored[name].append(text)
            continue
        place = f"{actor}-{session}"
        if owner.setdefault(place, name) == name:
            write(tenants[name], shared, f"{actor}{run}", session, text)
            events.setdefault(place, []).append(text)
        else:
            refused = refusal(write, tenants[name], shared, f"{actor}{run}", session, text)
            assert refused == "AccessDeniedException"
    for name, tenant in tenants.items():
        assert records(tenant, shared, f"/{run}/") == sorted(stored[name])
        assert found(tenant, shared, "record of a and of b", f"/{run}/") == sorted(stored[name])
        for place, owned_by in owner.items():
            actor, _, session = place.partition("-")
            read = texts(tenant, shared, f"{actor}{run}", session)
            assert read == (sorted(events[place]) if owned_by == name else [])
