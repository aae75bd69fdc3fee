"""From a Bedrock agent to its successor: generate, deploy by plan, ask, approve, and generate again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from agent_variants import shop_agent, stock_group
from loom_command import LoomCommand
from waiting import wait_until

import loomlib as loom
from loomlib import local
from loomlib.errors import LoomError
from loomlib.imports.bedrock_agents.emit import generate_agent, write_agent
from tests.service.conftest import Aws


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("imports") / "home"
    yield folder
    local.stop(folder)


@pytest.fixture(scope="module")
def bench(home: Path) -> Iterator[loom.Workbench]:
    with loom.connect(home=home) as bench:
        yield bench


@pytest.fixture(scope="module")
def folder(bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of the shop, generated for Strands."""
    shop = bench.bedrock.agents.create_example("shop")
    code = shop.generate(tmp_path_factory.mktemp("code") / "shop", "strands", alias="live")
    assert set(code.written.files.values()) == {"created"}
    assert code.conflicts == ()
    assert f'Next: bench.deploy("{code.folder}")' in repr(code)
    assert "created" in code._repr_html_()
    return code.folder


def test_the_successor_answers_with_exactly_the_permissions_that_it_needs(bench: loom.Workbench, folder: Path) -> None:
    memory = bench.memories.create("shop")
    new = bench.plan(folder, memory=memory).apply()
    session = uuid.uuid4().hex + uuid.uuid4().hex
    status = new.invoke("What is the status of order 4711?", session_id=session).raise_for_status()
    assert "shipped" in status.text
    inv = new.invoke("Pay a refund of 25 euros for order 4711", session_id=session).raise_for_status()
    (waiting,) = inv.pending
    assert (waiting.tool.rpartition("__")[2], waiting.session_id) == ("pay_refund", session)
    answer = new.approvals.approve(waiting, note="The refund was paid.").raise_for_status()
    assert "The refund was paid" in answer.text
    assert next(item.state for item in new.approvals.list() if item.id == waiting.id) == "done"
    with pytest.raises(LoomError, match="already decided: done"):
        new.approvals.approve(waiting)


def test_generating_again_on_the_command_line_changes_nothing_and_keeps_edits(
    home: Path, folder: Path, loom_command: LoomCommand, tmp_path: Path
) -> None:
    folder = shutil.copytree(folder, tmp_path / "shop")
    command = ("bedrock-agents", "generate", "loom-shop", str(folder), "--alias", "live")
    environment = {**os.environ, "LOOM_HOME": str(home)}
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    printed = loom_command.run(*command, "--json", environment=environment)
    assert set(json.loads(printed.stdout)["files"].values()) == {"unchanged"}
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{requirements.read_text()}rich>=15\n")
    printed = loom_command.run(*command, "--framework", "langgraph", environment=environment)
    assert printed.returncode in (0, 1)
    assert {"rich>=15", "langgraph>=1.2"} <= set(requirements.read_text().splitlines())


def test_sessions_share_nothing_that_a_snapshot_must_not_have(bench: loom.Workbench, tmp_path: Path) -> None:
    write_agent(generate_agent(shop_agent(action_groups=(stock_group(),)), "strands"), tmp_path / "shop")
    assert bench.tools.check_snapshot(tmp_path / "shop").findings == ()


class Stock(BaseHTTPRequestHandler):
    """An API that answers with what it was asked."""

    def do_GET(self) -> None:
        echo = {"path": self.path, "shop": self.headers.get("X-Shop")}
        content = json.dumps(echo).encode()
        self.send_response(200 if "missing" not in self.path else 404)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Stock)
    Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_address[1]}"
    listening.shutdown()
    listening.server_close()


def called(folder: Path, state: local.ServiceState, arguments: dict[str, Any], **environment: str) -> str:
    """What the generated code of an API's first operation returns, in a process of its own."""
    code = (
        "import json, sys\n"
        "from definitions import ROOT\n"
        "from http_actions import call_server\n"
        "try: print(call_server(ROOT.actions[0], json.loads(sys.argv[1])))\n"
        "except ValueError as error: print('refused:', error)\n"
    )
    credentials = {
        "AWS_ACCESS_KEY_ID": state.access_key,
        "AWS_SECRET_ACCESS_KEY": state.secret_key,
        "AWS_REGION": state.region,
        "AWS_DEFAULT_REGION": state.region,
    }
    result = subprocess.run(
        [sys.executable, "-c", code, json.dumps(arguments)],
        cwd=folder,
        env={**os.environ, **credentials, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_an_api_is_called_directly_or_through_a_gateway(aws: Aws, server: str, tmp_path: Path) -> None:
    group = stock_group(server=server)
    write_agent(generate_agent(shop_agent(action_groups=(group,)), "strands"), tmp_path)
    direct = called(tmp_path, aws.state, {"sku": "a/1", "X-Shop": "north", "colours": ["red"]}, STOCK_URL=server)
    assert json.loads(direct) == {"path": "/items/a%2F1?colours=red", "shop": "north"}
    assert "refused: the server answered 404" in called(tmp_path, aws.state, {"sku": "missing"}, STOCK_URL=server)

    document = {
        "openapi": "3.0.0",
        "info": {"title": "Stock", "version": "1"},
        "servers": [{"url": server}],
        "paths": {
            "/items/{sku}": {
                "get": {
                    "operationId": "findItem",
                    "description": "Finds an item in the stock",
                    "parameters": [{"name": "sku", "in": "path", "required": True, "schema": {"type": "string"}}],
                }
            }
        },
    }
    control = aws.control
    gateway = control.create_gateway(
        name=f"stock-{uuid.uuid4().hex[:6]}",
        roleArn="arn:aws:iam::123456789012:role/loom",
        protocolType="MCP",
        authorizerType="AWS_IAM",
    )
    gateway_ref = {"gatewayIdentifier": gateway["gatewayId"]}
    wait_until(lambda: control.get_gateway(**gateway_ref)["status"] == "READY")
    target = control.create_gateway_target(
        **gateway_ref,
        name="stock",
        targetConfiguration={"mcp": {"openApiSchema": {"inlinePayload": json.dumps(document)}}},
    )
    wait_until(lambda: control.get_gateway_target(**gateway_ref, targetId=target["targetId"])["status"] == "READY")
    through = called(tmp_path, aws.state, {"sku": "a1"}, LOOM_GATEWAY_URL=gateway["gatewayUrl"])
    assert json.loads(through)["path"] == "/items/a1"
