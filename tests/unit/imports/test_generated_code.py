"""The generated code: a reviewer's tools accept it, and the mistakes of other importers are not in it."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from agent_variants import everything, member, shop_agent, step, stock_group, variants, weather_group, with_features
from hypothesis import example, given, settings
from hypothesis import strategies as st
from imported_agents import lambda_arn, orders_agent, support_supervisor

from loomlib.errors import LoomError
from loomlib.imports.bedrock_agents import ActionGroup, ImportedAgent, ModelChoice, assess_features
from loomlib.imports.bedrock_agents.emit import FRAMEWORKS, FrameworkName, GeneratedAgent, generate_agent, write_agent
from loomlib.imports.bedrock_agents.emit.python_text import PythonCall, python_text
from loomlib.imports.bedrock_agents.features import FEATURE_NAMES

VENV = Path(sys.executable).parent


def put(generated: GeneratedAgent, folder: Path) -> Path:
    for path, text in generated.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def ran(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LOOM_"))}
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1", "AWS_EC2_METADATA_DISABLED": "true"},
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert result.returncode == 0, result.stdout[-4_000:] + result.stderr[-4_000:]
    return result.stdout


@pytest.fixture(scope="module", params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> FrameworkName:
    return request.param


@pytest.fixture(scope="module")
def all_variants(framework: FrameworkName) -> dict[str, GeneratedAgent]:
    return {name: generate_agent(agent, framework) for name, agent in variants().items()}


@pytest.fixture(scope="module")
def full(framework: FrameworkName) -> GeneratedAgent:
    return generate_agent(everything(), framework)


def modules(generated: GeneratedAgent) -> Iterator[tuple[str, ast.Module]]:
    for path, text in generated.files.items():
        if path.endswith(".py") and not path.startswith("tests/"):
            yield path, parsed(text)


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def calls(tree: ast.AST) -> set[str]:
    callees = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in callees}


def test_ruff_accepts_code_of_every_shape(all_variants: Mapping[str, GeneratedAgent], tmp_path: Path) -> None:
    checked_files: set[tuple[str, str]] = set()
    for name, generated in all_variants.items():
        # A text that another variant has under the same path is checked once; imports are sorted by what is there.
        fresh = {path: text for path, text in generated.files.items() if (path, text) not in checked_files}
        checked_files |= set(fresh.items())
        names = {path: '"""Checked elsewhere."""\n' for path in generated.files if path.endswith(".py")}
        put(
            replace(generated, files={**names, **fresh, "pyproject.toml": generated.files["pyproject.toml"]}),
            tmp_path / re.sub(r"\W", "_", name),
        )
    assert "already formatted" in ran(VENV / "ruff", "format", "--check", ".", cwd=tmp_path)
    ran(VENV / "ruff", "check", "--no-cache", ".", cwd=tmp_path)


@pytest.mark.slow
def test_pyright_accepts_the_code(full: GeneratedAgent, tmp_path: Path) -> None:
    ran(VENV / "pyright", "--pythonpath", sys.executable, ".", cwd=put(full, tmp_path))


def test_its_own_tests_pass_without_aws(full: GeneratedAgent, tmp_path: Path) -> None:
    assert "passed" in ran(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", cwd=put(full, tmp_path)
    )


def test_equal_agents_give_equal_code_in_every_process(framework: FrameworkName, full: GeneratedAgent) -> None:
    code = (
        "from agent_variants import everything\n"
        "from loomlib.imports.bedrock_agents.emit import generate_agent\n"
        f"print(generate_agent(everything(), {framework!r}).digest)\n"
    )
    root = Path(__file__).parents[3]
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}"}
        result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert result.stdout.strip() == full.digest, result.stderr


def test_the_entry_point_streams_prints_its_start_first_and_runs_under_main(full: GeneratedAgent) -> None:
    tree = ast.parse(full.files["agent.py"])
    (invoke,) = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef) and node.name == "invoke"]
    assert any(isinstance(node, ast.Yield) for node in ast.walk(invoke))
    statements = [ast.unparse(node) for node in invoke.body]
    printed = next(number for number, text in enumerate(statements) if text.startswith("print("))
    assert "Agent invoked - Start time: " in statements[printed]
    assert not any("payload" in text for text in statements[:printed] if '"""' not in text and "'''" not in text)
    assert full.files["agent.py"].endswith('if __name__ == "__main__":\n    create_app().run()\n')
    assert "except Exception" not in re.sub(
        r"except Exception as error:\n.*?raise\n", "", full.files["agent.py"], flags=re.S
    )


def test_importing_makes_no_client_id_clock_or_state(full: GeneratedAgent) -> None:
    allowed = {"compile", "Literal", "tuple", "field", "dataclass", "create_app", "run", "_schema"}
    for path, tree in modules(full):
        for statement in tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                call_names = calls(statement)
                is_data = path.startswith("definitions/") and not call_names - {
                    "Action", "AgentDefinition", "Collaborator", "Guardrail", "Inference", "KnowledgeBase",
                    "LongTermMemory", "Parameter", "Step",
                }  # fmt: skip
                assert is_data or call_names <= allowed, (path, ast.unparse(statement)[:200])
            assert not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Constant), path
        assert not any(isinstance(node, ast.Global) for node in ast.walk(tree)), path


def test_nobody_is_asked_on_a_terminal(all_variants: Mapping[str, GeneratedAgent]) -> None:
    for generated in all_variants.values():
        for path, tree in modules(generated):
            assert not calls(tree) & {"input", "getpass", "breakpoint"}, path


def test_code_makes_nothing_in_aws_but_events_of_its_memory(all_variants: Mapping[str, GeneratedAgent]) -> None:
    for generated in all_variants.values():
        for path, tree in modules(generated):
            making = {name for name in calls(tree) if name.startswith(("create_", "update_", "put_", "delete_"))}
            assert making <= {"create_app", "create_event"}, path


def test_generating_needs_no_network_and_has_no_random_names(framework: FrameworkName) -> None:
    code = (
        "import socket\n"
        "def refuse(*_, **__): raise AssertionError('no network')\n"
        "socket.socket.connect = refuse\n"
        "import sys; from agent_variants import everything\n"
        "from loomlib.imports.bedrock_agents.emit import generate_agent\n"
        f"generated = generate_agent(everything(), {framework!r})\n"
        "assert 'boto3' not in sys.modules and 'botocore' not in sys.modules\n"
        "print(generated.name)\n"
    )
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.stdout.strip() == "everything", result.stderr


def test_the_guardrail_is_code_and_no_comment(framework: FrameworkName) -> None:
    generated = generate_agent(with_features("guardrail"), framework)
    definition = ast.unparse(ast.parse(generated.files["definitions/guardrail.py"]))
    assert "Guardrail(id='guard0000001', version='2')" in definition
    assert re.search(r"guardrail", ast.unparse(ast.parse(generated.files["model_loop.py"])))
    without = generate_agent(shop_agent(), framework)
    assert "guardrail" not in ast.unparse(ast.parse(without.files["definitions/shop_agent.py"]))


def test_only_functions_and_resources_that_are_used_are_allowed(framework: FrameworkName) -> None:
    off = weather_group("switched-off", is_enabled=False)
    agent = shop_agent(action_groups=(weather_group(), off), collaboration="supervisor", collaborators=(
        member("orders", orders_agent()),
    ))  # fmt: skip
    generated = generate_agent(agent, framework)
    resources = tomllib.loads(generated.files["loom-agent.toml"])["resources"]
    assert resources == {
        "models": ["amazon.nova-pro-v1:0"],
        "functions": [lambda_arn("weather"), lambda_arn("orders")],
    }
    assert "switched-off" not in "".join(generated.files.values())
    every = tomllib.loads(generate_agent(support_supervisor(), framework).files["loom-agent.toml"])["resources"]
    assert every == {
        "models": ["us.anthropic.claude-sonnet-4-20250514-v1:0", "amazon.nova-pro-v1:0"],
        "functions": [lambda_arn("orders"), lambda_arn("invoices")],
        "knowledge_bases": ["KBRULES001"],
        "guardrails": ["guard0000001"],
        "memories": {"LOOM_MEMORY_ID": "support_supervisor_memory"},
        "code_interpreters": {"CODE_INTERPRETER_ID": "aws.codeinterpreter.v1"},
    }


def test_the_agent_file_is_one_that_deploying_reads(all_variants: Mapping[str, GeneratedAgent]) -> None:
    agent_file: Any = pytest.importorskip("loomlib.deploy.agent_file")
    for generated in all_variants.values():
        spec = agent_file.parse_agent(tomllib.loads(generated.files["loom-agent.toml"]))
        assert (spec.name, spec.entry_point) == (generated.name, "")  # agent.py, on AWS with OpenTelemetry


def test_schemas_of_apis_are_kept_whole(framework: FrameworkName) -> None:
    group = orders_agent().action_groups[0]
    nested = {
        "type": "object",
        "properties": {"lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"enum": ["a"]}}}}},
        "additionalProperties": False,
    }
    changed = replace(group.tools[1].parameters[2], type="object", schema=nested)
    tool = replace(group.tools[1], parameters=(*group.tools[1].parameters[:2], changed))
    agent = shop_agent(action_groups=(replace(group, tools=(tool,)),))
    module = ast.parse(generate_agent(agent, framework).files["definitions/shop_agent.py"])
    schemas = [
        ast.literal_eval(keyword.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "input_schema"
    ]
    assert schemas == [tool.input_schema]


def test_an_api_without_a_function_is_called_where_its_server_is(framework: FrameworkName, tmp_path: Path) -> None:
    folder = put(generate_agent(shop_agent(action_groups=(stock_group(),)), framework), tmp_path)
    code = (
        "import json\n"
        "from definitions import ROOT\n"
        "from http_actions import server_request\n"
        "find, add = ROOT.actions\n"
        "one = server_request(find, {'sku': 'a/b', 'colours': ['red', 'blue'], 'X-Shop': 'x'})\n"
        "two = server_request(add, {'sku': 'a', 'count': 2})\n"
        "print(json.dumps([one.full_url, one.method, one.headers, two.full_url, two.method, two.data.decode()]))\n"
    )
    url, method, headers, other, verb, body = json.loads(ran(sys.executable, "-c", code, cwd=folder))
    assert (url, method) == ("https://stock.example.com/v1/items/a%2Fb?colours=red&colours=blue", "GET")
    assert headers["X-shop"] == "x"
    assert (other, verb, json.loads(body)) == ("https://stock.example.com/v1/items", "POST", {"sku": "a", "count": 2})
    readme = generate_agent(shop_agent(action_groups=(stock_group(server=""),)), framework).files["README.md"]
    assert "STOCK\\_URL" in readme or "STOCK_URL" in readme


def test_a_form_has_texts_as_a_query_has_them(tmp_path: Path) -> None:
    group = stock_group()
    form = replace(group.tools[1], content_type="application/x-www-form-urlencoded")
    folder = put(generate_agent(shop_agent(action_groups=(replace(group, tools=(form,)),)), "strands"), tmp_path)
    code = (
        "from definitions import ROOT\n"
        "from http_actions import server_request\n"
        "values = {'sku': {'city': 'Bern'}, 'count': [True, 2]}\n"
        "print(server_request(ROOT.actions[0], values).data.decode())\n"
    )
    sent = parse_qs(ran(sys.executable, "-c", code, cwd=folder).strip())
    assert sent == {"sku": ['{"city": "Bern"}'], "count": ["true", "2"]}


def test_a_gateways_tool_is_found_by_the_whole_name_of_its_operation(tmp_path: Path) -> None:
    group = replace(stock_group(), name="stock_")
    tool = replace(group.tools[0], name="stock___read_item__id__get")
    folder = put(generate_agent(shop_agent(action_groups=(replace(group, tools=(tool,)),)), "strands"), tmp_path)
    code = """
import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from definitions import ROOT
from http_actions import call_server

class Gateway(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tools = [{"name": "stock___other_get"}, {"name": "stock___read_item__id__get"}]
        text = asked["params"].get("name", "")
        result = {"result": {"tools": tools, "content": [{"text": text}]}}
        content = json.dumps(result).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass

os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_DEFAULT_REGION": "us-east-1"}
with HTTPServer(("127.0.0.1", 0), Gateway) as server:
    Thread(target=server.serve_forever, daemon=True).start()
    os.environ["LOOM_GATEWAY_URL"] = f"http://127.0.0.1:{server.server_port}"
    print(call_server(ROOT.actions[0], {"sku": "a"}))
    server.shutdown()
"""
    assert ran(sys.executable, "-c", code, cwd=folder).strip() == "stock___read_item__id__get"


def test_two_versions_of_an_agent_have_each_its_own_model(framework: FrameworkName, tmp_path: Path) -> None:
    identifiers = ("amazon.nova-lite-v1:0", "anthropic.claude-3-haiku-20240307-v1:0")
    versions = [
        shop_agent(
            id="ORDERS0001", name="orders", version=f"{number}", alias_id=f"ALIAS{number}",
            model=ModelChoice(identifier=identifier, model_ids=(identifier,)),
        )
        for number, identifier in enumerate(identifiers, 1)
    ]  # fmt: skip
    collaborators = (member("former", versions[0]), member("current", versions[1]))
    agent = shop_agent(collaboration="supervisor", collaborators=collaborators)
    folder = put(generate_agent(agent, framework), tmp_path)
    code = """
import os
os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_DEFAULT_REGION": "us-east-1"}
from aws_clients import AwsClients
from definitions import ROOT
from model_loop import ModelLoop
from sessions import Conversation, Session
clients = AwsClients()
for item in ROOT.collaborators:
    loop = ModelLoop(
        clients=clients, agent=item.agent, session=Session(id="s" * 40, actor="u"),
        conversation=Conversation(), history=(), text="x", delegate=None,
    )
    strands = getattr(loop, "_strands", None)
    print(strands.model.config["model_id"] if strands else loop._model.model_id)
"""
    assert ran(sys.executable, "-c", code, cwd=folder).split() == list(identifiers)


def test_a_parser_that_chooses_an_unknown_agent_is_an_error_with_both_names(tmp_path: Path) -> None:
    classifier = step("routing_classifier", "$question$", parser_lambda=lambda_arn("parser"))
    agent = shop_agent(collaboration="router", prompts=(classifier,), collaborators=(member("orders", orders_agent()),))
    folder = put(generate_agent(agent, "strands"), tmp_path)
    code = """
import io
import json
from aws_clients import AwsClients
from definitions import ROOT
from sessions import Conversation, Session
from steps import ActionFailedError, Asker, route

class Clients(AwsClients):
    def get(self, name, **_):
        return self

    def converse(self, **_):
        return {"output": {"message": {"content": [{"text": "orders"}]}}, "stopReason": "end_turn"}

    def invoke(self, **_):
        chosen = {"agentCollaboratorName": "Orders", "input": {"text": "x"}}
        details = {"type": "AGENT", "agentCollaboratorInvocation": chosen}
        answer = {"routingClassifierParsedResponse": {"responseDetails": details}}
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

conversation = Conversation()
session = Session(id="s" * 40, actor="u")
asker = Asker(clients=Clients(), agent=ROOT, session=session, conversation=conversation)
try:
    route(asker, ROOT.router, "Where is my parcel?")
except ActionFailedError as error:
    print(error)
"""
    printed = ran(sys.executable, "-c", code, cwd=folder)
    assert "unknown agent: Orders" in printed
    assert lambda_arn("parser") in printed


@pytest.mark.parametrize("server", ["http://169.254.169.254", "http://localhost:8080", "https://[::1]/v1", "file:///"])
def test_an_api_at_an_address_of_the_machine_needs_you(server: str) -> None:
    files = generate_agent(shop_agent(action_groups=(stock_group(server=server),)), "strands").files
    assert server not in "".join(files.values())
    assert "STOCK" in files["README.md"]


def test_a_described_server_is_called_on_no_address_of_the_machine_and_redirects_to_no_other(tmp_path: Path) -> None:
    folder = put(generate_agent(shop_agent(action_groups=(stock_group(),)), "strands"), tmp_path)
    code = """
import os
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from definitions import ROOT
from http_actions import call_server

class Moved(BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.2:9/latest/meta-data")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

asked = []
with HTTPServer(("127.0.0.1", 0), Moved) as server:
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    find = replace(ROOT.actions[0], server_url=url)
    for variable, sku in (("", "a"), (url + "/v1", "a"), (url + "/v1", "..")):
        if variable:
            os.environ[find.server_variable] = variable
        try:
            call_server(find, {"sku": sku})
        except ValueError as error:
            print(error)
    print(asked)
    server.shutdown()
"""
    refused, moved, dots, requested_paths = ran(sys.executable, "-c", code, cwd=folder).splitlines()
    assert "127.0.0.1 is an address of this machine" in refused
    assert moved.startswith("the server answered 302")
    assert "cannot be '..'" in dots
    assert requested_paths == "['/v1/items/a']"


def test_the_variable_of_a_server_is_one_that_no_sdk_reads_and_names_one_server() -> None:
    group = stock_group()
    other = replace(group, api_document={"servers": [{"url": "https://other.example.com"}]})
    aws_group = replace(group, name="aws-endpoint")
    agent = shop_agent(
        action_groups=(group, aws_group),
        collaboration="supervisor",
        collaborators=(member("other", shop_agent(id="OTHER00001", name="other", action_groups=(other,))),),
    )
    files = generate_agent(agent, "strands").files
    assert list(tomllib.loads(files["loom-agent.toml"])["environment"]) == ["API_AWS_ENDPOINT_URL"]
    assert "https://stock.example.com/v1" in files["definitions/shop_agent.py"]
    assert "https://other.example.com" in files["definitions/other.py"]


@pytest.mark.parametrize("name", ["class", "Import", "root", "lambda", 'x"""\r\nimport os\x00', "…"])
def test_any_name_of_an_agent_gives_modules_that_can_be_imported(name: str, tmp_path: Path) -> None:
    folder = put(generate_agent(shop_agent(name=name, alias_name=name), "strands"), tmp_path)
    assert "ROOT" in ran(sys.executable, "-c", "import definitions; print(definitions.__all__)", cwd=folder)
    assert all(ast.parse(file.read_text("utf-8")) for file in folder.glob("*.py"))


def test_long_term_memory_is_that_of_a_user_whom_the_payload_names(framework: FrameworkName, tmp_path: Path) -> None:
    generated = generate_agent(with_features("memory"), framework)
    folder = put(generated, tmp_path)
    code = (
        "from payloads import read_request\n"
        "for named in ({}, {'actor': 'ada'}, {'memoryId': 'ada'}):\n"
        "    print(read_request({'prompt': 'Hello', **named}, longest_wait_s=60).remembers)\n"
    )
    assert ran(sys.executable, "-c", code, cwd=folder).split() == ["False", "True", "True"]
    assert generated.files["agent.py"].count("request.remembers") == 2
    assert "means the same. Without it, long-term memory is not used.\n\nThe answer" in generated.files["README.md"]


def test_spans_have_no_session_attribute_that_is_named_like_a_secret(framework: FrameworkName, tmp_path: Path) -> None:
    folder = put(generate_agent(shop_agent(), framework), tmp_path)
    code = (
        "from definitions import ROOT\n"
        "from model_loop import _trace_attributes\n"
        "from sessions import Session\n"
        "given = {'tier': 'gold', 'accessToken': 'hush', 'x-api-key': 'hush'}\n"
        "print(_trace_attributes(ROOT, Session(id='s', actor='ada', attributes=given)))\n"
    )
    output = ran(sys.executable, "-c", code, cwd=folder)
    assert "gold" in output
    assert "hush" not in output


def test_a_slow_function_is_not_called_twice(tmp_path: Path) -> None:
    folder = put(generate_agent(shop_agent(action_groups=(weather_group(),)), "strands"), tmp_path)
    code = (
        "from aws_clients import AwsClients\n"
        "config = AwsClients().get('lambda').meta.config\n"
        "print(config.retries['total_max_attempts'], config.read_timeout)\n"
    )
    output = ran("env", "AWS_DEFAULT_REGION=us-east-1", sys.executable, "-c", code, cwd=folder)
    assert output.split() == ["1", "900"]


def test_texts_of_any_characters_stay_texts(framework: FrameworkName, tmp_path: Path) -> None:
    text = 'x"""\n\'\'\'{{ 7*7 }}{% raw %} ${a} \\N{BULLET} \ud800 \x00 \x7f \u2028 \r\n]]\n[agent]\nname="other"'
    texts = {"name": text, "description": text, "instruction": text, "alias_name": text, "version": text}
    agent = shop_agent(**texts, tags={text: text}, action_groups=(replace(weather_group(), name=text),))
    generated = generate_agent(agent, framework)
    result = write_agent(generated, tmp_path)
    for path in result.files:
        content = (tmp_path / path).read_text("utf-8")
        if path.endswith(".py"):
            ast.parse(content)
    manifest = tomllib.loads(generated.files["loom-agent.toml"])
    assert manifest["agent"]["description"] == text.replace("\ud800", "?")
    assert manifest["agent"]["name"] == generated.name
    assert "49" not in generated.files["README.md"]
    assert not write_agent(generate_agent(agent, framework), tmp_path).is_changed


@pytest.mark.parametrize("template", ['{"messages": 5}', '{"messages": ["hello", null]}', '{"system": 1}', "[]", "{"])
def test_a_prompt_in_another_form_is_no_error(template: str) -> None:
    assert generate_agent(shop_agent(prompts=(step("pre_processing", template),)), "strands").files


RECALLING = """
import os
from datetime import UTC, datetime, timedelta
from definition import LongTermMemory
from long_term_memory import recall
from sessions import Session

os.environ["LOOM_MEMORY_ID"] = "memory-1"
now = datetime.now(UTC)
ages = {"current": 0, "newest": 1, "second": 2, "third": 3, "old": 40}


class Clients:
    def get(self, _): return self
    def get_memory(self, memoryId):
        other = {"type": "SEMANTIC", "strategyId": "x", "namespaces": ["/x/"]}
        places = ["/{memoryStrategyId}/{actorId}/{sessionId}/"]
        summaries = {"type": "SUMMARIZATION", "strategyId": "s1", "namespaces": places}
        return {"memory": {"strategies": [other, summaries]}}
    def get_paginator(self, _): return self
    def paginate(self, memoryId, namespacePath):
        assert (memoryId, namespacePath) == ("memory-1", "/s1/ada/")
        for session, days in ages.items():
            record = {"namespaces": [f"/s1/ada/{session}/"], "createdAt": now - timedelta(days=days)}
            yield {"memoryRecordSummaries": [{**record, "content": {"text": f"about {session}"}}]}


settings = LongTermMemory(storage_days=30, max_recent_sessions=2)
print(recall(Clients(), Session(id="current", actor="ada"), settings))
"""


def test_the_newest_summaries_of_other_sessions_are_recalled(framework: FrameworkName, tmp_path: Path) -> None:
    folder = put(generate_agent(with_features("memory"), framework), tmp_path)
    recalled = ran(sys.executable, "-c", RECALLING, cwd=folder)
    assert re.findall(r"about (\w+)", recalled) == ["newest", "second"]


def test_the_readme_says_of_every_agent_what_became_of_its_features(framework: FrameworkName) -> None:
    readme = generate_agent(support_supervisor(), framework).files["README.md"]
    for name in ("support-supervisor", "order-desk", "billing-desk", "shop-rules"):
        assert f"### {name}" in readme
    assert "| guardrails | kept |" in readme
    assert "| long term memory | approximated |" in readme
    hostile = shop_agent(name="x | y", description="<script>alert(1)</script> `code`")
    assert "<script>" not in generate_agent(hostile, framework).files["README.md"].replace("\\<", "")


def test_the_record_of_the_import_has_no_secret_and_no_time(framework: FrameworkName) -> None:
    record = json.loads(generate_agent(support_supervisor(), framework).files["import.json"])
    assert record["framework"] == framework
    assert record["agents"][0] == {
        "name": "support-supervisor", "id": "SUPPORT001", "version": "3", "alias": "ALIASPROD1",
    }  # fmt: skip
    assert record["tools"]["ORDERS0001/orders__getOrder"]["path"] == "/orders/{orderId}"
    assert not re.search(r"\d{4}-\d\d-\d\d", json.dumps(record))


def test_an_unknown_framework_and_too_many_levels_are_refused() -> None:
    unknown: Any = "crewai"
    with pytest.raises(LoomError, match="There is no such framework"):
        generate_agent(shop_agent(), unknown)
    agent: ImportedAgent = shop_agent(name="level-6")
    for level in range(5, 0, -1):
        agent = shop_agent(
            name=f"level-{level}", collaboration="supervisor", collaborators=(member("next", agent),)
        )  # fmt: skip
    with pytest.raises(LoomError, match="more than 5 levels"):
        generate_agent(agent, "strands")


def test_a_group_that_nobody_executes_is_left_out_and_named(framework: FrameworkName) -> None:
    group = ActionGroup(id="MISSING001", name="missing", executor="none", schema="missing", problem="no schema")
    generated = generate_agent(shop_agent(action_groups=(group,)), framework)
    assert "are left out: missing" in generated.files["README.md"]


TEXTS = st.text(max_size=300)
LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(LITERALS)
def test_literals_read_back_as_they_were(value: Any) -> None:
    assert ast.literal_eval(python_text(value)) == value


@example([{"k" * 80: "\n0"}])
@settings(max_examples=8, deadline=None)
@given(st.lists(LITERALS, min_size=20, max_size=40))
def test_literals_are_formatted_as_ruff_formats_them(values: list[Any]) -> None:
    lines = [
        f"VALUE = {python_text(PythonCall(name='Thing', arguments={'value': value}), before=8)}\n" for value in values
    ]
    result = subprocess.run(
        [str(VENV / "ruff"), "format", "--isolated", "--line-length", "100", "--diff", "-"],
        input="".join(lines), capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout


def test_the_tools_of_a_reviewer_are_there() -> None:
    assert shutil.which("ruff", path=str(VENV))


def test_the_page_on_importing_has_a_row_for_each_feature_and_a_column_for_each_framework() -> None:
    page = Path(__file__).parents[3] / "docs" / "pages" / "how-to" / "import-bedrock-agent.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")]
    assert rows[0] == ["Feature", *(framework.title for framework in FRAMEWORKS.values())]
    assert [row[0].replace(" ", "_") for row in rows[2:]] == list(FEATURE_NAMES)
    states = {feature.name: feature.state for feature in assess_features(everything())}
    for name, strands, *_ in rows[2:]:
        state = states[name.replace(" ", "_")]  # type: ignore[index]
        assert state in ("needs you", "unused") or state in strands, name
