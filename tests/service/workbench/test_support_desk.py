"""The notebook of the support desk: its one trace has every hop, and on AWS it makes the calls that it makes here."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from recording_proxy import SentRequest, operation_of, recording_proxy
from waiting import wait_until

import loomlib as loom
from loomlib import local
from loomlib.aws import Clients, Connection
from loomlib.workbench.context import Context

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "03_support_desk.ipynb"
SERVICES = (
    *("bedrock", "bedrock-agent", "bedrock-agent-runtime", "bedrock-runtime"),
    *("bedrock-agentcore", "bedrock-agentcore-control", "cloudwatch", "iam", "lambda", "logs", "s3", "sts"),
)
INDEX = "arn:aws:s3vectors:us-east-1:123456789012:bucket/handbook/index/handbook"
STORAGE = {"type": "S3_VECTORS", "s3VectorsConfiguration": {"indexArn": INDEX}}


class FirstLookupError(Exception):
    """Ends the wait for a trace, which on AWS is looked up again after ten seconds."""


def end_at_first_lookup(_: str) -> None:
    raise FirstLookupError


def has_every_hop(bench: loom.Workbench, inv: loom.Invocation) -> bool:
    """Whether the spans of all processes are stored: on a busy machine some arrive after one lookup has ended."""
    logs = bench.clients.logs()
    pages = logs.get_paginator("filter_log_events")
    found: list[dict[str, Any]] = []
    with contextlib.suppress(logs.exceptions.ResourceNotFoundException):
        for page in pages.paginate(logGroupName="aws/spans", filterPattern=f'"{inv.record.trace_id}"'):
            found += [json.loads(event["message"]) for event in page["events"]]
    of_gateway = {span.get("parentSpanId") for span in found if span["name"] == "InvokeGateway"}
    calls = {span["spanId"] for span in found if span["name"].startswith("MCP send tools/call")}
    servers = {span["spanId"] for span in found if span["name"] == "POST /mcp"}
    is_served = any(span["name"] == "tools/call calculator" and span.get("parentSpanId") in servers for span in found)
    is_answered = any(span["name"] == "POST /invocations" for span in found)
    return len(calls) >= 3 and calls <= of_gateway and is_served and is_answered


def run_notebook(
    parameters: Mapping[str, Any], connect: str, *, before_trace: Callable[[loom.Invocation], object] = bool
) -> dict[str, Any]:
    """Run the notebook's code, with other values of its parameters, and return its variables."""
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            if source.startswith("trace = inv.trace()"):
                before_trace(names["inv"])
            if names.get("where") == "aws" and source.startswith("trace"):
                if source.startswith("trace = inv.trace()"):
                    with pytest.raises(FirstLookupError):
                        names["inv"].trace(progress=end_at_first_lookup)
                continue
            exec(compile(source.replace("loom.connect(where)", connect), NOTEBOOK.name, "exec"), names)
            if "parameters" in cell["metadata"].get("tags", ()):
                names.update(parameters)
    names["scratch"].cleanup()  # as at the end of a kernel
    return names


def delete_everything(bench: loom.Workbench) -> None:
    """Delete what the notebook has made, but for the runtimes."""
    bench.gateways.delete("support-tools")
    bench.tools.functions.delete("desk-orders")
    bench.bedrock.guardrails.delete("support")
    bench.bedrock.knowledge_bases.delete("handbook")
    bench.memories.delete("support")
    s3 = bench.clients.s3()
    bucket = f"loom-knowledge-{bench.clients.account_id()}-{bench.clients.region}"
    for item in s3.list_objects_v2(Bucket=bucket)["Contents"]:
        s3.delete_object(Bucket=bucket, Key=item["Key"])
    s3.delete_bucket(Bucket=bucket)


@dataclasses.dataclass(frozen=True)
class Runs:
    """Both runs: their variables, the operations of each in order without repetitions, and updates of runtimes."""

    here: Mapping[str, Any]
    there: Mapping[str, Any]
    operations_here: list[str]
    operations_there: list[str]
    updates_here: int


def operations(requests: list[SentRequest]) -> list[str]:
    return list(dict.fromkeys(operation_of(request, SERVICES, region="us-east-1") for request in requests))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    home = tmp_path_factory.mktemp("desk") / "home"
    with loom.connect(home=home) as bench, pytest.MonkeyPatch.context() as patch:
        state = local.find(home)
        assert state is not None
        trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        policy = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        iam = bench.clients.client("iam")
        role = iam.create_role(RoleName="desk", AssumeRolePolicyDocument=document(trust))["Role"]["Arn"]
        iam.put_role_policy(RoleName="desk", PolicyName="all", PolicyDocument=document(policy))
        parameters = {"role_arn": role, "storage": STORAGE}
        agents = [bench.deploy(name) for name in ("mcp_server", "support_desk")]
        with recording_proxy(state.url) as (address, requests):
            environment = {name: value.replace(state.url, address) for name, value in state.environment().items()}
            context = bench.context
            recorded = Context(
                where="local",
                settings=context.settings,
                store=context.store,
                clients=Clients(Connection(region=state.region, environment=environment)),
                environment=context.environment,
            )
            local_variables = run_notebook(
                {**parameters, "recorded": loom.Workbench(recorded)},
                "recorded",
                before_trace=lambda inv: wait_until(lambda: has_every_hop(bench, inv), what="the spans of every hop"),
            )
            # The agent has this value already.
            local_variables["agent"].configure({"KNOWLEDGE_BASE_ID": local_variables["handbook"].value.id})
            updates = sum(request.method == "PUT" and "/runtimes/" in request.target for request in requests)
            recorded.clients.close()
            operations_here = operations(requests)
        local_variables["trace"].cost()
        delete_everything(bench)

        with recording_proxy(state.url) as (address, requests):
            for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
                patch.delenv(name, raising=False)
            patch.setenv("LOOM_HOME", str(home.parent / "aws"))
            for name, value in state.environment().items():
                patch.setenv(name, value.replace(state.url, address))
            with loom.connect("aws") as aws:
                assert not aws.context.labels
                for agent in agents:
                    aws.register(agent.arn)
            requests.clear()
            aws_variables = run_notebook({**parameters, "where": "aws"}, "loom.connect(where)")
            aws_variables["bench"].close()
            yield Runs(local_variables, aws_variables, operations_here, operations(requests), updates)


def document(statement: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def test_one_trace_shows_every_hop(runs: Runs) -> None:
    spans = runs.here["trace"].spans()
    names = dict(zip(spans["span_id"], spans["name"], strict=True))
    below = {names.get(parent, ""): set() for parent in spans["parent_id"]}
    for name, parent in zip(spans["name"], spans["parent_id"], strict=True):
        below[names.get(parent, "")].add(name)
    assert "The warranty of a lamp lasts 36 months" in runs.here["inv"].text
    assert below["execute_tool search_handbook"] == {"Bedrock Agent Runtime.Retrieve", "Bedrock Runtime.ApplyGuardrail"}
    for tool in ("orders___order_status", "orders___stock", "desk___calculator"):
        assert below[f"execute_tool {tool}"] == {f"MCP send tools/call {tool}"}
        assert below[f"MCP send tools/call {tool}"] == {"InvokeGateway"}
    assert below["InvokeGateway"] == {"POST /mcp"}
    assert "tools/call calculator" in below["POST /mcp"]
    assert "Bedrock AgentCore.InvokeCodeInterpreter" in below["execute_tool run_python"]
    assert {"Bedrock AgentCore.ListEvents", "Bedrock AgentCore.CreateEvent"} <= set(names.values())
    assert len(set(spans["trace_id"])) == 1


def test_the_trace_has_a_cost_and_a_diagnosis_and_its_session_came_from_a_snapshot(runs: Runs) -> None:
    trace = runs.here["trace"]
    assert trace.cost().total.known > 0
    assert list(trace.causes().columns[:3]) == ["rank", "rule", "title"]
    assert any("restored from a snapshot" in sentence for sentence in trace.sentences())
    assert "blocked by a guardrail" in runs.here["blocked"].text


def test_a_runtime_that_has_the_variables_already_gets_no_new_version(runs: Runs) -> None:
    assert runs.updates_here == 1


def test_on_aws_the_same_notebook_makes_the_same_calls(runs: Runs) -> None:
    assert runs.operations_there == runs.operations_here
    for expected in (
        "bedrock-agent.CreateKnowledgeBase", "bedrock-agent.StartIngestionJob", "bedrock-agent-runtime.Retrieve",
        "bedrock.CreateGuardrail", "bedrock-runtime.ApplyGuardrail", "lambda.CreateFunction",
        "bedrock-agentcore-control.CreateGateway", "bedrock-agentcore-control.CreateGatewayTarget",
        "bedrock-agentcore-control.CreateMemory", "bedrock-agentcore-control.UpdateAgentRuntime",
        "bedrock-agentcore.InvokeAgentRuntime",
    ):  # fmt: skip
        assert expected in runs.operations_there
    assert runs.there["inv"].text == runs.here["inv"].text
