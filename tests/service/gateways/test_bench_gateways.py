"""`bench.gateways`: gateways, their targets and tools as a notebook uses them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from http_servers import HttpServer

import loomlib as loom
from loomlib.aws.gateways import GatewayTargetError
from loomlib.errors import (
    ConflictError,
    InvocationFailedError,
    RequestRejectedError,
    ResourceNotFoundError,
    ToolNotFoundError,
)


@pytest.fixture
def bench(aws: Any) -> Iterator[loom.Workbench]:
    with loom.connect(home=str(aws.state.home)) as opened:
        yield opened


@pytest.fixture
def name() -> str:
    return f"tools-{uuid.uuid4().hex[:8]}"


def test_a_notebook_makes_a_gateway_calls_its_tools_and_deletes_it(
    bench: loom.Workbench, name: str, openapi: str, mcp_server: Any
) -> None:
    with bench.gateways.create(name, search=True) as gateway:
        assert repr(gateway).startswith(f"Gateway {name} (ready, AWS_IAM) at http://127.0.0.1:")
        gateway.add_mcp("sums", mcp_server.url)
        gateway.add_openapi("stock", json.loads(openapi))
        targets = gateway.targets().set_index("name")
        assert list(targets.loc[["sums", "stock"], "kind"]) == ["mcpServer", "openApiSchema"]
        assert "sums___add" in set(gateway.tools()["name"])
        assert gateway.search("sum up two numbers")[0] == "sums___add"
        call = gateway.call("sums___add", a=1, b=2)
        assert (call.ok, call.value) == (True, 3)
        with pytest.raises(ToolNotFoundError):
            gateway.call("sums___subtract", a=1)
        gateway.remove("stock")
        assert list(gateway.targets()["name"]) == ["sums"]
    table = bench.gateways.table().set_index("name")
    assert (table.loc[name, "status"], bool(table.loc[name, "search"])) == ("READY", True)
    bench.gateways.delete(name)
    with pytest.raises(ResourceNotFoundError, match="no such gateway"):
        bench.gateways.get(name)


def test_a_search_that_fails_is_an_error_and_no_empty_list(bench: loom.Workbench, name: str, openapi: str) -> None:
    with bench.gateways.create(name, search=True) as gateway:
        gateway.add_openapi("stock", json.loads(openapi))
        assert gateway.search("stock")
        bench.gateways.delete(name)
        with pytest.raises(InvocationFailedError, match="Gateway not found"):
            gateway.search("stock")


def test_a_document_is_read_from_a_file_and_its_faults_are_named(
    bench: loom.Workbench, name: str, openapi: str, tmp_path: Path
) -> None:
    file = tmp_path / "stock.json"
    file.write_text(openapi, "utf-8")
    gateway = bench.gateways.create(name)
    assert gateway.add_openapi("stock", file).status == "READY"
    with pytest.raises(RequestRejectedError, match="cannot be read"):
        gateway.add_openapi("other", tmp_path / "missing.json")
    with pytest.raises(GatewayTargetError, match="has no paths"):
        gateway.add_openapi("empty", {"openapi": "3.0.0"})
    gateway.remove("empty")
    bench.gateways.delete(name)


def test_a_gateway_with_an_authorizer_is_called_with_a_token(bench: loom.Workbench, name: str, mcp_server: Any) -> None:
    bench.gateways.create(name, authorizer=bench.identity.authorizer()).add_mcp("sums", mcp_server.url)
    with bench.gateways.get(name, bearer=lambda: bench.identity.token("alice")) as gateway:
        assert gateway.call("sums___add", a=20, b=22).value == 42
    bench.gateways.delete(name)


def test_an_agent_is_called_through_its_chosen_endpoint(bench: loom.Workbench, name: str, aws: Any) -> None:
    agent = bench.deploy("mcp_server", name="chosen_endpoint")
    agent.releases.create("prod")
    gateway = bench.gateways.create(name)
    added = gateway.add_agent("sums", agent.refresh().at("prod"))
    assert (added.status, gateway.call("sums___calculator", expression="6 * 7").ok) == ("READY", True)
    target = aws.control.get_gateway_target(gatewayIdentifier=gateway.value.id, targetId=added.id)
    assert target["targetConfiguration"]["mcp"]["mcpServer"]["endpoint"].endswith("/invocations?qualifier=prod")
    bench.gateways.delete(name)


def test_a_notebook_sends_requests_to_http_targets_and_chooses_them_by_rules(
    bench: loom.Workbench, name: str, http_api: HttpServer, echo: Any
) -> None:
    gateway = bench.gateways.create(name, http=True)
    assert gateway.add_http("assistant", bench.register(echo["agentRuntimeArn"])).status == "READY"
    for target in ("stable", "canary"):
        gateway.add_http(target, f"{http_api.url}/{target}", query={"v": "1"})
    assert set(gateway.targets()["kind"]) == {"agentcoreRuntime", "passthrough"}
    session = "s" * 40
    answer = gateway.send("assistant/invocations", {"prompt": "hi"}, session_id=session)
    assert (answer.ok, answer.value["echo"], answer.value["session"]) == (True, {"prompt": "hi"}, session)
    answer = gateway.send("stable/missing", method="GET")
    assert (answer.status, answer.ok, answer.value["query"]) == (404, False, [["v", "1"]])
    assert gateway.send("stable/a", "text", headers={"X-A": "1"}).value["headers"]["x-a"] == "1"
    with pytest.raises(ResourceNotFoundError, match="Target not found"):
        gateway.send("none/a")
    rule = gateway.rules.add(100, target={"stable": 1, "canary": 99}, paths=["/stable/*"], description="canary")
    bundle = ("arn:aws:bedrock-agentcore:us-east-1:123456789012:configuration-bundle/p-aaaaaaaaaa", f"{uuid.uuid4()}")
    gateway.rules.add(10, bundle=bundle, principals=["arn:aws:iam::123456789012:role/qa-*"])
    table = gateway.rules.table()
    assert list(table["priority"]) == [10, 100]
    assert table["targets"][1] == {"stable": 1, "canary": 99}
    assert table["bundles"][0] == {" ".join(bundle): 100}
    assert (list(table["paths"][1]), list(table["principals"][0])) == (
        ["/stable/*"],
        ["arn:aws:iam::123456789012:role/qa-*"],
    )
    reached = {gateway.send("stable/a", method="GET").value["path"] for _ in range(10)}
    assert "/canary/a" in reached
    with pytest.raises(ConflictError, match="priority 100"):
        gateway.rules.add(100, target="canary")
    with pytest.raises(RequestRejectedError, match="no HTTP target none"):
        gateway.rules.add(101, target="none")
    with pytest.raises(ValueError, match="a target or a bundle"):
        gateway.rules.add(102)
    gateway.rules.remove(rule.id)
    assert gateway.send("stable/a", method="GET").value["path"] == "/stable/a"
    with pytest.raises(ResourceNotFoundError):
        gateway.rules.remove(rule.id)
    bench.gateways.delete(name)


def test_a_gateway_without_http_targets_says_so(bench: loom.Workbench, name: str, http_api: HttpServer) -> None:
    gateway = bench.gateways.create(name)
    with pytest.raises(RequestRejectedError, match="without a protocolType"):
        gateway.add_http("web", http_api.url)
    bench.gateways.delete(name)
