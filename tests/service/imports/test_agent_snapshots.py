"""Agents of a local AgentCore are read through boto3, written as folders, and read again."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from loom_command import LoomCommand
from waiting import wait_until

import loomlib as loom
from loomlib.aws import Clients
from loomlib.errors import AccessDeniedError, ResourceNotFoundError
from loomlib.imports.bedrock_agents.snapshot import read_snapshot
from tests.bedrock_agent_shapes import SHAPES, SHAPES_BY_NAME, AgentShape, create_shape
from tests.service.conftest import Aws

ROLE = "arn:aws:iam::123456789012:role/agents"
MODEL = "amazon.nova-pro-v1:0"
FUNCTIONS = {"functions": [{"name": "get_weather", "description": "Returns the weather"}]}
BY_CALLER = {"customControl": "RETURN_CONTROL"}


@pytest.fixture(scope="module")
def bench(aws: Aws) -> Iterator[loom.Workbench]:
    with loom.connect(home=str(aws.state.home)) as bench:
        yield bench


@pytest.fixture(scope="module")
def made(aws: Aws) -> Iterator[list[str]]:
    """The ids of agents that are deleted at the end."""
    ids: list[str] = []
    yield ids
    for agent in ids:
        aws.client("bedrock-agent").delete_agent(agentId=agent, skipResourceInUseCheck=True)


def create(aws: Aws, made: list[str], *groups: dict[str, Any], **more: Any) -> tuple[str, str]:
    """Create an agent with an alias `live`; return its id and name."""
    agents, name = aws.client("bedrock-agent"), f"read-{uuid.uuid4().hex[:8]}"
    arguments = {
        "instruction": "You help travellers with questions about the weather.",
        "foundationModel": MODEL,
        **more,
    }
    agent: str = agents.create_agent(agentName=name, agentResourceRoleArn=ROLE, **arguments)["agent"]["agentId"]
    made.append(agent)
    for group in groups:
        agents.create_agent_action_group(agentId=agent, agentVersion="DRAFT", **group)
    release(aws, agent)
    return agent, name


def release(aws: Aws, agent: str) -> str:
    """Prepare an agent and route its alias `live` to a new version; return the alias's ARN."""
    agents = aws.client("bedrock-agent")
    agents.prepare_agent(agentId=agent)
    listed = agents.list_agent_aliases(agentId=agent)["agentAliasSummaries"]
    live = [item["agentAliasId"] for item in listed if item["agentAliasName"] == "live"]
    if not live:
        return agents.create_agent_alias(agentId=agent, agentAliasName="live")["agentAlias"]["agentAliasArn"]
    other = agents.create_agent_alias(agentId=agent, agentAliasName=f"a{uuid.uuid4().hex[:8]}")["agentAlias"]
    routing = [{"agentVersion": other["routingConfiguration"][0]["agentVersion"]}]
    updated = agents.update_agent_alias(
        agentId=agent, agentAliasId=live[0], agentAliasName="live", routingConfiguration=routing
    )
    agents.delete_agent_alias(agentId=agent, agentAliasId=other["agentAliasId"])
    return updated["agentAlias"]["agentAliasArn"]


def collaborate(aws: Aws, supervisor: str, alias_arn: str, name: str = "helper", kind: str = "SUPERVISOR") -> None:
    """Make an agent a supervisor with one more collaborator."""
    agents = aws.client("bedrock-agent")
    agent = agents.get_agent(agentId=supervisor)["agent"]
    members = ("agentName", "instruction", "foundationModel", "agentResourceRoleArn")
    agents.update_agent(agentId=supervisor, agentCollaboration=kind, **{member: agent[member] for member in members})
    agents.associate_agent_collaborator(
        agentId=supervisor,
        agentVersion="DRAFT",
        agentDescriptor={"aliasArn": alias_arn},
        collaboratorName=name,
        collaborationInstruction="Ask it about the weather",
    )


@contextmanager
def answering(clients: Clients, operation: str, part: str, code: str, *, times: int = 1_000) -> Iterator[list[str]]:
    """Let the requests of an operation fail whose path contains a text; yield the paths that failed."""
    failed: list[str] = []

    def refuse(params: dict[str, Any], **_: Any) -> Any:
        if part not in params["url_path"] or len(failed) >= times:
            return None
        failed.append(params["url_path"])
        status = 429 if code == "ThrottlingException" else 403
        error = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
        return SimpleNamespace(status_code=status, headers={}), error

    events = clients.client("bedrock-agent").meta.events
    events.register(f"before-call.bedrock-agent.{operation}", refuse)
    try:
        yield failed
    finally:
        events.unregister(f"before-call.bedrock-agent.{operation}", refuse)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_an_agent_of_every_shape_becomes_a_folder_and_the_folder_the_same_agent(
    bench: loom.Workbench, shape: AgentShape, tmp_path: Path
) -> None:
    created = create_shape(bench.clients, shape)
    view = bench.bedrock.agents.get(created.root.id)
    snapshot = view.snapshot(created.aliases[created.root.name])
    folder = snapshot.write(tmp_path / "agent")
    assert read_snapshot(folder) == snapshot.value
    assert snapshot.value.is_immutable
    declared = shape.declaration["agents"][-1]
    agent = snapshot.agent
    assert (agent.name, agent.instruction) == (declared["name"], declared["settings"]["instruction"])
    assert {group.name for group in agent.action_groups} == {
        group["actionGroupName"] for group in declared.get("action_groups", ())
    }
    assert {item.name for item in agent.collaborators} == {
        item["collaboratorName"] for item in declared.get("collaborators", ())
    }
    states = set(snapshot.features()["state"])
    if shape.needs_you:
        assert "needs you" in states
        return
    assert "needs you" not in states
    for item in agent.walk():
        assert item.model.model_ids
        for group in item.enabled_action_groups:
            assert group.tools


def test_a_snapshot_has_what_bedrock_has_and_says_what_becomes_of_it(
    bench: loom.Workbench, aws: Aws, made: list[str], tmp_path: Path
) -> None:
    group = {"actionGroupName": "travel", "actionGroupExecutor": BY_CALLER, "functionSchema": FUNCTIONS}
    agent_id, name = create(aws, made, group, tags={"team": "travel"})
    snapshot = bench.bedrock.agents.get(name).snapshot("live")
    agent = snapshot.agent
    assert (agent.id, agent.version, agent.alias_name, agent.tags) == (agent_id, "1", "live", {"team": "travel"})
    assert (agent.model.identifier, agent.model.kind) == (MODEL, "foundation model")
    features = snapshot.features().set_index("feature")
    assert features.loc["action_groups", "state"] == "approximated"
    assert "return of control becomes an interrupt" in features.loc["action_groups", "reason"]
    assert f"Snapshot of {name}, version 1" in repr(snapshot)
    assert "return of control" in snapshot._repr_html_()
    folder = snapshot.write(tmp_path / "weather")
    assert "| action groups | approximated |" in (folder / "README.md").read_text()
    assert "2026" not in (folder / "agent.json").read_text()


def test_versions_of_one_agent_have_one_digest_until_it_is_changed(
    bench: loom.Workbench, aws: Aws, made: list[str]
) -> None:
    group = {"actionGroupName": "travel", "actionGroupExecutor": BY_CALLER, "functionSchema": FUNCTIONS}
    agent_id, name = create(aws, made, group)
    view = bench.bedrock.agents.get(name)
    first, draft = view.snapshot("live"), view.snapshot("DRAFT")
    assert first.digest == draft.digest
    assert (first.value.is_immutable, draft.value.is_immutable, draft.agent.version) == (True, False, "DRAFT")
    assert "working draft, which can change" in draft.value.notes[0]
    release(aws, agent_id)
    second = view.snapshot("live")
    assert (second.agent.version, second.digest) == ("2", first.digest)
    agents = aws.client("bedrock-agent")
    other = {**group, "actionGroupName": "booking"}
    agents.create_agent_action_group(agentId=agent_id, agentVersion="DRAFT", **other)
    assert view.snapshot("DRAFT").digest != first.digest
    assert view.snapshot("live").digest == first.digest
    features = view.features()
    assert set(features["agent"]) == {name}
    assert len(features) == 11


def test_a_schema_that_vanished_from_s3_needs_you_and_the_rest_is_read(
    bench: loom.Workbench, aws: Aws, made: list[str]
) -> None:
    s3, bucket = aws.client("s3"), f"schemas-{uuid.uuid4().hex[:8]}"
    s3.create_bucket(Bucket=bucket)
    paths = {"/weather": {"get": {"description": "Returns the weather", "responses": {"200": {"description": "It"}}}}}
    document = {"openapi": "3.0.0", "info": {"title": "W", "version": "1"}, "paths": paths}
    s3.put_object(Bucket=bucket, Key="a.json", Body=json.dumps(document).encode())
    schema_location = {"s3": {"s3BucketName": bucket, "s3ObjectKey": "a.json"}}
    _, name = create(
        aws,
        made,
        {"actionGroupName": "api", "actionGroupExecutor": BY_CALLER, "apiSchema": schema_location},
        {"actionGroupName": "travel", "actionGroupExecutor": BY_CALLER, "functionSchema": FUNCTIONS},
    )
    view = bench.bedrock.agents.get(name)
    api = view.snapshot().agent.action_groups[0]
    assert (api.api_source, [tool.name for tool in api.tools]) == (f"s3://{bucket}/a.json", ["api__get_weather"])
    assert view.snapshot().value.notes == ()

    def changed_later() -> tuple[str, ...]:
        s3.put_object(Bucket=bucket, Key="a.json", Body=json.dumps(document).encode("utf-16"))
        return view.snapshot().value.notes

    (note,) = wait_until(changed_later, what="a second that S3 counts after the version")
    assert f"The schema s3://{bucket}/a.json was changed after version 1 was created" in note
    s3.delete_object(Bucket=bucket, Key="a.json")
    snapshot = view.snapshot()
    api, travel = snapshot.agent.action_groups
    assert (api.schema, api.tools) == ("missing", ())
    assert f"the schema s3://{bucket}/a.json cannot be read" in api.problem
    assert [tool.name for tool in travel.tools] == ["travel__get_weather"]
    row = snapshot.features().set_index("feature").loc["action_groups"]
    assert row["state"] == "needs you"
    assert "NoSuchKey" in row["reason"]


def test_agents_that_call_each_other_in_a_circle_are_read_once_each(
    bench: loom.Workbench, aws: Aws, made: list[str]
) -> None:
    first, name = create(aws, made)
    second, _ = create(aws, made)
    collaborate(aws, first, release(aws, second))
    collaborate(aws, second, release(aws, first), "boss")
    release(aws, second)
    snapshot = bench.bedrock.agents.get(name).snapshot()
    (helper,) = snapshot.agent.collaborators
    assert helper.agent is not None
    (boss,) = helper.agent.collaborators
    assert boss.agent is None
    assert boss.problem == f"the agents call each other in a circle ({first} → {second} → {first})"
    rows = snapshot.features()
    assert rows[(rows["feature"] == "multi_agent") & (rows["state"] == "needs you")]["agent"].tolist() == [
        helper.agent.name
    ]


def test_five_levels_are_read_and_a_sixth_needs_you(bench: loom.Workbench, aws: Aws, made: list[str]) -> None:
    created = create_shape(bench.clients, SHAPES_BY_NAME["five-levels"])
    top = bench.bedrock.agents.get(created.root.id).snapshot(created.aliases[created.root.name])
    assert len(list(top.agent.walk())) == 5
    above, name = create(aws, made)
    arn = aws.client("bedrock-agent").get_agent_alias(
        agentId=created.root.id, agentAliasId=created.aliases[created.root.name]
    )["agentAlias"]["agentAliasArn"]
    collaborate(aws, above, arn, kind="SUPERVISOR_ROUTER")
    release(aws, above)
    agent = bench.bedrock.agents.get(name).snapshot().agent
    assert agent.collaboration == "router"
    levels = list(agent.walk())
    assert len(levels) == 5
    assert "below the 5 levels" in levels[-1].collaborators[0].problem


def test_a_collaborator_that_cannot_be_read_is_a_problem_of_its_own(
    bench: loom.Workbench, aws: Aws, made: list[str], tmp_path: Path
) -> None:
    supervisor, name = create(aws, made)
    helper, _ = create(aws, made)
    collaborate(aws, supervisor, release(aws, helper))
    release(aws, supervisor)
    with answering(bench.clients, "GetAgentVersion", helper, "AccessDeniedException"):
        snapshot = bench.bedrock.agents.get(name).snapshot()
    (item,) = snapshot.agent.collaborators
    assert item.agent is None
    assert "AccessDeniedException" in item.problem
    assert read_snapshot(snapshot.write(tmp_path / "agent")) == snapshot.value


def test_parts_that_cannot_be_listed_are_notes_and_throttled_requests_are_repeated(
    bench: loom.Workbench, aws: Aws, made: list[str]
) -> None:
    functions = {"actionGroupName": "travel", "actionGroupExecutor": BY_CALLER, "functionSchema": FUNCTIONS}
    agent, name = create(aws, made, functions, tags={"team": "travel"})
    with answering(bench.clients, "ListAgentKnowledgeBases", agent, "AccessDeniedException"):
        snapshot = bench.bedrock.agents.get(name).snapshot()
    assert [note for note in snapshot.value.notes if "Listing knowledge bases" in note]
    with answering(bench.clients, "GetAgentActionGroup", agent, "AccessDeniedException"):
        group = bench.bedrock.agents.get(name).snapshot().agent.action_groups[0]
    assert (group.name, group.schema) == ("travel", "missing")
    assert group.problem.startswith("it cannot be read: Reading the action group travel: AccessDeniedException")
    with answering(bench.clients, "GetAgentVersion", agent, "ThrottlingException", times=2) as failed:
        again = bench.bedrock.agents.get(name).snapshot()
    assert len(failed) == 2
    assert again.value.notes == ()
    assert again.agent.tags == {"team": "travel"}


def test_an_alias_that_is_not_there_is_refused_with_those_that_are(
    bench: loom.Workbench, aws: Aws, made: list[str]
) -> None:
    agent, name = create(aws, made)
    with pytest.raises(ResourceNotFoundError, match=r"no alias beta .*AgentTestAlias, live"):
        bench.bedrock.agents.get(name).snapshot("beta")
    alias = aws.client("bedrock-agent").list_agent_aliases(agentId=agent)["agentAliasSummaries"]
    live = next(item["agentAliasId"] for item in alias if item["agentAliasName"] == "live")
    by_id = bench.bedrock.agents.get(name).snapshot(live)
    by_arn = bench.bedrock.agents.get(name).snapshot(f"arn:aws:bedrock:us-east-1:1:agent-alias/{agent}/{live}")
    assert by_id.agent == by_arn.agent


# The inventory


def test_the_inventory_has_a_row_for_each_agent_also_for_one_that_cannot_be_read(
    bench: loom.Workbench, aws: Aws, made: list[str]
) -> None:
    create_shape(bench.clients, SHAPES_BY_NAME["supervisor"])
    agents = aws.client("bedrock-agent")
    group = {"actionGroupName": "travel", "actionGroupExecutor": BY_CALLER, "functionSchema": FUNCTIONS}
    readable, name = create(aws, made, group)
    release(aws, readable)
    closed, closed_name = create(aws, made)
    without = agents.create_agent(agentName=f"draft-{uuid.uuid4().hex[:8]}", agentResourceRoleArn=ROLE)["agent"]
    made.append(without["agentId"])
    with answering(bench.clients, "GetAgentVersion", closed, "AccessDeniedException"):
        frame = bench.bedrock_agents()
    assert len(frame.columns) == 8 + 11 + 1
    rows = frame.set_index("name")
    row = rows.loc[name]
    assert (row["id"], row["version"], row["aliases"], row["model"]) == (readable, "2", "live → 2", MODEL)
    assert (row["action_groups"], row["guardrails"], row["problem"]) == ("approximated", "unused", "")
    assert row["updated_at"].tzinfo is not None
    assert rows.loc["loom-shop", ["collaborators", "guardrails", "multi_agent"]].tolist() == [3, "kept", "kept"]
    assert rows.loc[without["agentName"], "version"] == "DRAFT"
    assert "AccessDeniedException" in rows.loc[closed_name, "problem"]
    assert rows.loc[closed_name, ["version", "action_groups"]].isna().all()
    assert rows.loc[closed_name, "aliases"] == "live → 1"
    with answering(bench.clients, "ListAgents", "", "AccessDeniedException"), pytest.raises(AccessDeniedError):
        bench.bedrock_agents()


def test_the_command_line_lists_agents_and_writes_a_snapshot(
    bench: loom.Workbench, aws: Aws, loom_command: LoomCommand, tmp_path: Path
) -> None:
    create_shape(bench.clients, SHAPES_BY_NAME["supervisor"])
    environment = {**os.environ, "LOOM_HOME": str(aws.state.home)}

    def loom_(*arguments: str, code: int = 0) -> tuple[str, str]:
        process = loom_command.run("bedrock-agents", *arguments, environment=environment, cwd=tmp_path)
        assert process.returncode == code, process.stderr
        return process.stdout, process.stderr

    line = next(line for line in loom_("list")[0].splitlines() if line.startswith("loom-shop "))
    assert "live → 1" in line
    _, stderr = loom_("snapshot", "loom-shop", "shop", "--alias", "live")
    assert "multi agent · kept" in stderr
    assert "loom-shop, version 1 · 4 agents · sha256:" in stderr
    summary = json.loads(loom_("snapshot", "loom-shop", "shop", "--json")[0])
    snapshot = read_snapshot(tmp_path / "shop")
    assert (summary["digest"], summary["version"], summary["is_immutable"]) == (snapshot.digest, "1", True)
    (tmp_path / "shop" / "mine.txt").write_text("mine")
    assert "would overwrite or remove: mine.txt" in loom_("snapshot", "loom-shop", "shop", code=1)[1]


def test_reading_agents_asks_only_for_what_the_documentation_names(bench: loom.Workbench) -> None:
    created = create_shape(bench.clients, SHAPES_BY_NAME["supervisor"])
    create_shape(bench.clients, SHAPES_BY_NAME["openapi-s3-bearer"])
    create_shape(bench.clients, SHAPES_BY_NAME["inference-profile"])
    operations: set[str] = set()

    def note(model: Any, **_: Any) -> None:
        operations.add(model.name)

    clients = [bench.clients.client(name) for name in ("bedrock-agent", "bedrock", "s3")]
    for client in clients:
        client.meta.events.register("before-call", note)
    try:
        bench.bedrock_agents()
        bench.bedrock.agents.get(created.root.id).snapshot()
    finally:
        for client in clients:
            client.meta.events.unregister("before-call", note)
    assert {"GetInferenceProfile", "GetObject", "GetGuardrail", "ListTagsForResource"} <= operations
    assert {name for name in operations if not name.startswith(("Get", "List"))} == set()
    page = Path(loom.__file__).parents[1] / "docs" / "pages" / "how-to" / "bedrock-agents.md"
    text = page.read_text(encoding="utf-8")
    assert {name for name in operations if f"{name}`" not in text} == set()
