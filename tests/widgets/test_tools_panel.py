"""The Tools panel without a page: each kind of tool is listed and tried, against a local AgentCore."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import loom_widgets
import loomlib as loom
from loomlib import local

from .conftest import Watched, wait_until

HOSTILE = "<img src=x onerror=alert(1)>"


class Echo(BaseHTTPRequestHandler):
    """Answers GET /echo?word=… with its path."""

    def do_GET(self) -> None:
        body = f"{HOSTILE} {self.path}".encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def gateway(bench: loom.Workbench) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever).start()
        word = {"name": "word", "in": "query", "required": True, "schema": {"type": "string"}}
        answer = {"200": {"description": "The word", "content": {"text/plain": {"schema": {"type": "string"}}}}}
        document = {
            "openapi": "3.0.0",
            "info": {"title": "Echo", "version": "1"},
            "servers": [{"url": f"http://127.0.0.1:{server.server_port}"}],
            "paths": {"/echo": {"get": {"operationId": "echo", "parameters": [word], "responses": answer}}},
        }
        created_gateway = bench.gateways.create(f"g{uuid.uuid4().hex[:8]}", search=True)
        created_gateway.add_openapi("words", document)
        yield created_gateway.value.arn
        server.shutdown()


@pytest.fixture
def watched(bench: loom.Workbench) -> Iterator[Watched]:
    watched = Watched(loom_widgets.tools(bench))
    wait_until(lambda: not watched.panel.busy)
    yield watched
    watched.panel.close()


def test_a_tool_behind_a_gateway_is_found_and_called(watched: Watched, gateway: str) -> None:
    panel = watched.panel
    assert gateway in {row["arn"] for row in panel.tables.rows("gateways")}
    chosen = watched.ask("choose_gateway", arn=gateway)
    assert chosen["targets"]["rows"] == [["words", "openApiSchema", "READY", ""]]
    assert [row["name"] for row in panel.tables.rows("tools")][-1] == "words___echo"
    assert watched.ask("hello") == chosen  # a view that opens later shows the same
    assert "words___echo" in watched.ask("search_tools", query="echo a word")["names"]
    (field,) = watched.ask("choose_tool", name="words___echo")["fields"]
    assert (field["name"], field["kind"], field["required"]) == ("word", "text", True)
    watched.ask("call_gateway_tool", name="words___echo", values={"word": "owl"})
    call = panel.state["call"]
    assert (call["ok"], HOSTILE in call["text"], "/echo?word=owl" in call["text"]) == (True, True, True)
    assert "local AgentCore" in call["labels"]
    assert "gateway.call('words___echo', **{'word': 'owl'}).value" in panel.code
    assert watched.ask("choose_tool", name="words___missing") == {"failed": True}
    assert panel.error["what"] == "The gateway has no such tool"


def test_a_tool_is_called_only_on_the_gateway_that_the_view_shows(
    bench: loom.Workbench, watched: Watched, gateway: str
) -> None:
    closed_gateway = bench.gateways.create(f"g{uuid.uuid4().hex[:8]}", authorizer=bench.identity.authorizer())
    chosen = watched.ask("choose_gateway", arn=gateway)
    assert watched.ask("choose_gateway", arn=closed_gateway.value.arn) == {"failed": True}  # it wants a token
    assert watched.ask("hello") == chosen
    word = {"name": "words___echo", "values": {"word": "owl"}}
    watched.ask("call_gateway_tool", gateway=gateway, **word)
    assert "/echo?word=owl" in watched.panel.state["call"]["text"]
    assert watched.ask("call_gateway_tool", gateway=closed_gateway.value.arn, **word) == {"failed": True}
    assert watched.panel.error["what"] == "Another gateway was chosen in the meantime"


def test_a_knowledge_base_is_searched_and_asked(bench: loom.Workbench, watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "owls.txt").write_text("The warranty of an owl is two years.")
    base = bench.bedrock.knowledge_bases.create(f"b{uuid.uuid4().hex[:8]}")
    base.add_folder(tmp_path)
    watched.ask("refresh")
    (row,) = [row for row in watched.panel.tables.rows("knowledge_bases") if row["id"] == base.value.id]
    watched.ask("search_base", key=row["id"], question="How long is the warranty?", k="3")
    answer = watched.panel.state["answer"]
    assert [cells[1] for cells in answer["rows"]] == ["The warranty of an owl is two years."]
    watched.ask("ask_base", key=row["id"], question="How long is the warranty?")
    answer = watched.panel.state["answer"]
    assert "two years" in answer["text"]
    assert answer["rows"][0][2].endswith("owls.txt")
    assert watched.ask("ask_base", key=row["id"], question=" ") == {"failed": True}


def test_a_guardrail_checks_a_text(bench: loom.Workbench, watched: Watched) -> None:
    guardrail = bench.bedrock.guardrails.create(
        f"r{uuid.uuid4().hex[:8]}", mask=["EMAIL"], topics={"money": "About money."}
    )
    watched.ask("check_text", key=guardrail.value.arn, text="Write to ann@example.org", side="OUTPUT")
    check = watched.panel.state["check"]
    assert (check["intervened"], check["text"]) == (True, "Write to {EMAIL}")
    assert ["sensitive information", "EMAIL", "ann@example.org", "ANONYMIZED"] in check["rows"]
    watched.ask("check_text", key=guardrail.value.arn, text="Hello")
    assert (watched.panel.state["check"]["intervened"], watched.panel.state["check"]["text"]) == (False, "Hello")


def test_a_function_is_called_with_an_event(bench: loom.Workbench, watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(
        "def lambda_handler(event, context):\n    print('asked')\n    return {'order': event['order']}\n"
    )
    function = bench.tools.functions.create(f"f{uuid.uuid4().hex[:8]}", tmp_path / "orders.py")
    watched.ask("refresh")
    (row,) = [row for row in watched.panel.tables.rows("functions") if row["arn"] == function.value.arn]
    watched.ask("call_function", key=row["arn"], event='{"order": "4711"}')
    reply = watched.panel.state["reply"]
    assert (reply["ok"], reply["text"], "asked" in reply["log"]) == (True, '{"order": "4711"}', True)
    assert f"bench.tools.functions.get({function.value.name!r}).call({{'order': '4711'}})" in watched.panel.code
    watched.ask("call_function", key=row["arn"], event="")
    assert (watched.panel.state["reply"]["ok"], watched.panel.state["reply"]["text"]) == (False, "KeyError: 'order'")
    assert watched.ask("call_function", key=row["arn"], event="{") == {"failed": True}
    assert watched.panel.error["what"] == "The event is not JSON"


def test_the_web_is_searched_in_a_folder_and_refused_without_one(watched: Watched, tmp_path: Path) -> None:
    assert watched.ask("search_web", query="lamp") == {"failed": True}
    assert "--web-search-folder" in str(watched.panel.error)
    (tmp_path / "web" / "lights.example").mkdir(parents=True)
    page = f"<title>Lamps</title><p>A lamp costs 49 euros. {HOSTILE.replace('<', '&lt;')}</p>"
    (tmp_path / "web" / "lights.example" / "lamp.html").write_text(page)
    options = local.ServiceOptions(web_search_folder=str(tmp_path / "web"))
    with loom.connect(home=tmp_path / "home", options=options) as bench:
        panel = loom_widgets.tools(bench)
        Watched(panel).ask("search_web", query="price of a lamp")
        ((title, url, text),) = panel.state["web"]["rows"]
        assert (title, url) == ("Lamps", "https://lights.example/lamp.html")
        assert HOSTILE in text
        assert "bench.tools.web_search('price of a lamp')" in panel.code
        panel.close()


def test_a_bedrock_agent_is_asked_and_the_calls_that_it_returns_are_answered(
    bench: loom.Workbench, watched: Watched
) -> None:
    agents, name = bench.clients.client("bedrock-agent"), f"a{uuid.uuid4().hex[:8]}"
    id = agents.create_agent(
        agentName=name,
        instruction="You help travellers with questions about the weather in cities.",
        foundationModel="amazon.nova-pro-v1:0",
        agentResourceRoleArn="arn:aws:iam::123456789012:role/agents",
    )["agent"]["agentId"]
    city = {"city": {"type": "string", "description": "The city", "required": True}}
    function = {"name": "get_weather", "description": "Returns the weather in a city", "parameters": city}
    agents.create_agent_action_group(
        agentId=id,
        agentVersion="DRAFT",
        actionGroupName="weather",
        actionGroupExecutor={"customControl": "RETURN_CONTROL"},
        functionSchema={"functions": [function]},
    )
    agents.prepare_agent(agentId=id)
    watched.ask("refresh")
    assert id in {row["id"] for row in watched.panel.tables.rows("bedrock_agents")}
    watched.ask("ask_agent", key=id, prompt="What is the weather in Paris?")
    turn = watched.panel.state["turn"]
    assert turn["requests"] == [{"name": "get_weather", "arguments": "city='Paris'", "needs": "result"}]
    watched.ask("answer_agent", key=id, results={"get_weather": f"In Paris it is 21 degrees. {HOSTILE}"})
    turn = watched.panel.state["turn"]
    assert ("21 degrees" in turn["text"], turn["requests"]) == (True, [])
    assert [row[0] for row in turn["rows"]] == ["action", "model", "answer"]
    assert "reply = reply.answer({'get_weather':" in watched.panel.code
    copied_code: dict[str, Any] = {}
    exec(watched.panel.code, copied_code)
    assert "21 degrees" in copied_code["reply"].text
    copied_code["bench"].close()
    assert watched.ask("answer_agent", key="other") == {"failed": True}
    assert watched.ask("ask_agent", key=id, prompt="hello", alias="none") == {"failed": True}


def test_cells_share_a_session_until_it_ends(watched: Watched) -> None:
    watched.ask("run_code", code="owls = 2\nopen('owls.csv', 'w').write('a,b')", language="python")
    watched.ask("run_code", code="print(owls + 1)", language="python")
    output = watched.panel.state["output"]
    assert (output["ok"], output["text"].strip()) == (True, "3")
    assert "owls.csv" in {row["path"] for row in watched.panel.tables.rows("files")}
    watched.ask("run_code", code="1 / 0", language="python")
    assert (watched.panel.state["output"]["ok"], "ZeroDivisionError" in watched.panel.state["output"]["text"]) == (
        False,
        True,
    )
    watched.ask("stop_code")
    assert (watched.panel.state["output"], list(watched.panel.tables.rows("files"))) == ({}, [])
    watched.ask("run_code", code="print('owls' in globals())")
    assert watched.panel.state["output"]["text"].strip() == "False"


def test_a_list_that_is_read_again_leaves_the_last_actions_status_code_and_error(
    watched: Watched, bench: loom.Workbench
) -> None:
    panel = watched.panel
    watched.ask("run_code", code="print(6 * 7)")
    assert watched.ask("search_web", query=" ") == {"failed": True}
    kept = (panel.status, panel.code, panel.error)
    name = f"n{uuid.uuid4().hex[:8]}"
    bench.bedrock.guardrails.create(name, mask=["EMAIL"])
    lists = len(watched.of("lists"))
    panel.receive({"do": "look_again", "with": {}})  # as views send it: nothing waits for an answer
    wait_until(lambda: len(watched.of("lists")) > lists)
    assert name in {row["name"] for row in panel.tables.rows("guardrails")}
    assert panel.status.startswith("Done in")
    assert (panel.status, panel.code, panel.error) == kept


def test_the_static_page_lists_what_there_is(watched: Watched, gateway: str) -> None:
    names = [row["name"] for row in watched.panel.tables.rows("gateways") if row["arn"] == gateway]
    assert names[0] in watched.panel._repr_html_()
