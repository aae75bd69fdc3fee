"""The resource engine: any resource of the service model by declaration, regions, and homes of an older release."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator
from echo_agent import ECHO_AGENT
from moto.core.utils import get_service_model
from waiting import PATIENCE_S
from waiting import wait_until as wait_for

from loomlib import local
from loomlib.local.resources import Behaviour, Draft, ProvisioningError, Resource, ResourceRecord
from loomlib.local.resources.engine import ResourceEngine
from loomlib.local.resources.store import ResourceStore
from loomlib.local.wire import RefusedError

OLDER_HOME = Path(__file__).parent / "data" / "older_home"
OLDER_RUNTIME, OLDER_MEMORY = "older-Z3vUDUiHXi", "older_memory-bExHO6Nn8O"

GATEWAY = Resource(noun="Gateway", arn="gateway/{id}")
GATEWAY_TARGET = Resource(
    noun="GatewayTarget", arn="gateway/{parent}/target/{id}", id="{suffix}", parent=GATEWAY, aliases={"targetId": "id"}
)
WORKLOAD_IDENTITY = Resource(
    noun="WorkloadIdentity", id="{name}", arn="workload-identity-directory/default/workload-identity/{name}"
)
POLICY_ENGINE = Resource(noun="PolicyEngine", arn="policy-engine/{id}")
REGION = "eu-central-1"
PRINTS_ITS_REGION = f"import os; print('region', os.environ['AWS_REGION'])\n{ECHO_AGENT}"


class GatewayBehaviour(Behaviour):
    """Adds a gateway's address, in the background; a gateway named broken fails."""

    needs_provisioning = True

    async def before_create(self, draft: Draft) -> None:
        assert draft.record.status == "CREATING"

    async def provision(self, record: ResourceRecord) -> ResourceRecord:
        if record.name == "broken":
            raise ProvisioningError("no address is left")
        return record

    def members(self, record: ResourceRecord) -> dict[str, Any]:
        return {"gatewayUrl": f"https://{record.id}.example"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResourceStore]:
    with contextlib.closing(ResourceStore(tmp_path)) as store:
        yield store


@pytest.fixture
def engine(store: ResourceStore) -> ResourceEngine:
    declared = [
        (GATEWAY, GatewayBehaviour()),
        (GATEWAY_TARGET, Behaviour()),
        (WORKLOAD_IDENTITY, Behaviour()),
        (POLICY_ENGINE, Behaviour()),
    ]
    return ResourceEngine(store, declared, account_id="123456789012")


def call(engine: ResourceEngine, region: str = REGION) -> Callable[..., Any]:
    """Calls operations and checks that each answer has the form of the service model."""
    model = get_service_model("bedrock-agentcore-control")

    async def checked(operation: str, **parameters: Any) -> dict[str, Any]:
        answer = await engine.call(operation, parameters, region=region)
        shape = model.operation_model(operation).output_shape
        if shape is not None:
            report = ParamValidator().validate(answer, shape)
            assert not report.has_errors(), report.generate_report()
        return answer

    return checked


async def test_a_resource_needs_only_a_declaration(engine: ResourceEngine) -> None:
    control = call(engine)
    created = await control("CreateWorkloadIdentity", name="robot", tags={"team": "loom"})
    assert created["workloadIdentityArn"] == (
        f"arn:aws:bedrock-agentcore:{REGION}:123456789012:workload-identity-directory/default/workload-identity/robot"
    )
    urls = ["https://example.com/back"]
    await control("UpdateWorkloadIdentity", name="robot", allowedResourceOauth2ReturnUrls=urls)
    assert (await control("GetWorkloadIdentity", name="robot"))["allowedResourceOauth2ReturnUrls"] == urls
    listed = (await control("ListWorkloadIdentities"))["workloadIdentities"]
    assert [item["name"] for item in listed] == ["robot"]
    tags = await control("ListTagsForResource", resourceArn=created["workloadIdentityArn"])
    assert tags == {"tags": {"team": "loom"}}
    with pytest.raises(RefusedError, match="Workload identity with name robot already exists") as conflict:
        await control("CreateWorkloadIdentity", name="robot")
    assert (conflict.value.code, conflict.value.status) == ("ConflictException", 409)
    await control("DeleteWorkloadIdentity", name="robot")
    with pytest.raises(RefusedError, match="Workload identity not found: robot"):
        await control("GetWorkloadIdentity", name="robot")


async def test_statuses_move_in_the_background_to_ready_or_to_a_failure(engine: ResourceEngine) -> None:
    control = call(engine)
    gateway = {"roleArn": "arn:aws:iam::123456789012:role/loom", "authorizerType": "NONE", "protocolType": "MCP"}
    good = await control("CreateGateway", name="good", **gateway)
    broken = await control("CreateGateway", name="broken", **gateway)
    assert (good["status"], broken["status"]) == ("CREATING", "CREATING")
    gateways = [good, broken]
    async with asyncio.timeout(PATIENCE_S):
        while "CREATING" in {item["status"] for item in gateways}:
            await asyncio.sleep(0.005)
            gateways = [await control("GetGateway", gatewayIdentifier=item["gatewayId"]) for item in (good, broken)]
    assert [item["status"] for item in gateways] == ["READY", "FAILED"]
    assert gateways[1]["statusReasons"] == ["no address is left"]
    target = {"mcp": {"lambda": {"lambdaArn": "arn:aws:lambda:eu-central-1:123456789012:function:f", "toolSchema": {}}}}
    created_target = await engine.call(
        "CreateGatewayTarget",
        {"gatewayIdentifier": good["gatewayId"], "name": "tools", "targetConfiguration": target},
        region=REGION,
    )
    listed = await engine.call("ListGatewayTargets", {"gatewayIdentifier": good["gatewayId"]}, region=REGION)
    assert [item["targetId"] for item in listed["items"]] == [created_target["targetId"]]
    assert (await control("DeleteGateway", gatewayIdentifier=good["gatewayId"]))["status"] == "DELETING"
    assert engine.store.records("GatewayTarget") == [], "what is below a resource is deleted with it"
    await engine.close()


async def test_a_repeated_request_has_one_effect_and_a_token_is_of_one_request(engine: ResourceEngine) -> None:
    control = call(engine)
    token = "t" * 40
    first = await control("CreatePolicyEngine", name="rules", description="d", clientToken=token)
    again = await control("CreatePolicyEngine", name="rules", description="d", clientToken=token)
    assert again["policyEngineId"] == first["policyEngineId"]
    with pytest.raises(RefusedError, match="clientToken was used already") as other:
        await control("CreatePolicyEngine", name="others", clientToken=token)
    assert other.value.code == "ConflictException"


async def test_pages_neither_skip_nor_repeat_while_resources_come_and_go(engine: ResourceEngine) -> None:
    control = call(engine)
    engines = [await control("CreatePolicyEngine", name=f"engine_{number}") for number in range(5)]
    first = await control("ListPolicyEngines", maxResults=2)
    await control("DeletePolicyEngine", policyEngineId=engines[0]["policyEngineId"])
    await control("CreatePolicyEngine", name="engine_5")
    second = await control("ListPolicyEngines", maxResults=9, nextToken=first["nextToken"])
    names = [item["name"] for page in (first, second) for item in page["policyEngines"]]
    assert names == [f"engine_{number}" for number in range(6)]
    assert "nextToken" not in second
    with pytest.raises(RefusedError, match="nextToken"):
        await control("ListGateways", nextToken=first["nextToken"])


async def test_each_region_has_resources_of_its_own(engine: ResourceEngine) -> None:
    control, cn_control = call(engine), call(engine, "cn-north-1")
    await control("CreateWorkloadIdentity", name="robot")
    created = await cn_control("CreateWorkloadIdentity", name="robot")
    assert created["workloadIdentityArn"].startswith("arn:aws-cn:bedrock-agentcore:cn-north-1:")
    await cn_control("DeleteWorkloadIdentity", name="robot")
    assert (await control("GetWorkloadIdentity", name="robot"))["name"] == "robot"


async def test_resources_are_read_again_as_they_were_stored(engine: ResourceEngine, store: ResourceStore) -> None:
    control = call(engine)
    await control("CreateWorkloadIdentity", name="robot", allowedResourceOauth2ReturnUrls=["https://example.com/a"])
    before = store.records("WorkloadIdentity")
    store.reload()
    assert store.records("WorkloadIdentity") == before


def test_a_runtime_and_its_logs_belong_to_the_region_of_the_client(aws: Any) -> None:
    state = aws.state
    keys = {"aws_access_key_id": state.access_key, "aws_secret_access_key": state.secret_key}

    def client(name: str) -> Any:
        return boto3.client(name, endpoint_url=state.url, region_name="eu-west-1", **keys)

    control, data, logs = (client(name) for name in ("bedrock-agentcore-control", "bedrock-agentcore", "logs"))
    created = control.create_agent_runtime(
        agentRuntimeName="abroad",
        agentRuntimeArtifact=aws.upload({"agent.py": PRINTS_ITS_REGION}),
        roleArn="arn:aws:iam::123456789012:role/loom",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    assert created["agentRuntimeArn"].startswith("arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/abroad-")
    runtime_id = created["agentRuntimeId"]
    with pytest.raises(ClientError, match="not found"):
        aws.control.get_agent_runtime(agentRuntimeId=runtime_id)
    wait_for(lambda: control.get_agent_runtime(agentRuntimeId=runtime_id)["status"] == "READY")
    session = "session-of-a-client-in-another-region"
    answer = data.invoke_agent_runtime(
        agentRuntimeArn=created["agentRuntimeArn"], runtimeSessionId=session, payload=b"{}"
    )
    assert b"echo" in answer["response"].read()
    group = f"/aws/bedrock-agentcore/runtimes/{runtime_id}-DEFAULT"
    wait_for(lambda: logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"])
    wait_for(
        lambda: any("eu-west-1" in event["message"] for event in logs.filter_log_events(logGroupName=group)["events"])
    )
    for item in (control, data, logs):
        item.close()


def test_a_home_of_an_older_release_keeps_everything(tmp_path: Path, start_service: Callable[..., Any]) -> None:
    home = tmp_path / "home"
    for name in ("runtimes", "memory"):
        home.mkdir(exist_ok=True)
        with contextlib.closing(sqlite3.connect(home / f"{name}.db")) as database:
            database.executescript((OLDER_HOME / f"{name}.sql").read_text())
    for version in ("1", "2"):
        code = home / "runtimes" / OLDER_RUNTIME / version / "code"
        code.mkdir(parents=True)
        (code / "agent.py").write_text(ECHO_AGENT)
    for _ in range(2):  # the import happens once: what is deleted afterwards does not come back
        service = start_service(home)
        control, data = service.control, service.data
        runtime = control.get_agent_runtime(agentRuntimeId=OLDER_RUNTIME)
        assert (runtime["agentRuntimeVersion"], runtime["description"], runtime["status"]) == ("2", "second", "READY")
        first = control.get_agent_runtime(agentRuntimeId=OLDER_RUNTIME, agentRuntimeVersion="1")
        assert first["environmentVariables"] == {"GREETING": "hello"}
        endpoints = control.list_agent_runtime_endpoints(agentRuntimeId=OLDER_RUNTIME)["runtimeEndpoints"]
        assert {item["name"]: item["liveVersion"] for item in endpoints} == {"DEFAULT": "2", "prod": "1"}
        prod = next(item for item in endpoints if item["name"] == "prod")
        tags = control.list_tags_for_resource(resourceArn=prod["agentRuntimeEndpointArn"])["tags"]
        assert (prod["description"], tags) == ("stays", {"stage": "prod"})
        _, body = service.invoke(runtime["agentRuntimeArn"], qualifier="prod")
        assert b"echo" in body
        memory = control.get_memory(memoryId=OLDER_MEMORY)["memory"]
        assert (memory["description"], [item["name"] for item in memory["strategies"]]) == ("d", ["facts"])
        events = data.list_events(memoryId=OLDER_MEMORY, actorId="anna", sessionId="s" * 8)["events"]
        assert events[0]["payload"][0]["conversational"]["content"]["text"] == "I live in Ulm."
        assert control.list_tags_for_resource(resourceArn=memory["arn"])["tags"] == {"owner": "anna"}
        failed = [item for item in control.list_agent_runtimes()["agentRuntimes"] if item["status"] == "CREATE_FAILED"]
        assert len(failed) <= 1
        for item in failed:
            control.delete_agent_runtime(agentRuntimeId=item["agentRuntimeId"])
        local.stop(home)
    assert failed == []


def test_a_token_of_an_older_release_still_names_its_memory(tmp_path: Path, start_service: Callable[..., Any]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with contextlib.closing(sqlite3.connect(home / "memory.db")) as database:
        database.executescript((OLDER_HOME / "memory.sql").read_text())
    control = start_service(home).control
    arguments = {
        "name": "older_memory",
        "eventExpiryDuration": 365,
        "description": "d",
        "clientToken": "token-of-the-memory-0123456789-0123456789",
        "tags": {"owner": "anna"},
        "memoryStrategies": [
            {"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{actorId}/"]}}
        ],
    }
    assert control.create_memory(**arguments)["memory"]["id"] == OLDER_MEMORY
    with pytest.raises(ClientError, match="with other parameters"):
        control.create_memory(**{**arguments, "eventExpiryDuration": 30})
