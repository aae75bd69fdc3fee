"""The MCP client with real servers of the MCP SDK: over stdio, and over streamable HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import wait_until

import loomlib as loom
from loomlib import local
from loomlib.agents.protocols import CallbackOptions, Elicitation, LogMessage, ProgressNotification, Sampling
from loomlib.errors import InvalidArgumentsError, PeerClosedError, ProtocolError, ToolNotFoundError
from loomlib.evals.values.cases import Turn
from loomlib.workbench import sampling_model
from loomlib.workbench.mcp_client import McpClient

SERVER = Path(__file__).with_name("mcp_test_server.py")
COMMAND = [sys.executable, str(SERVER)]
SEEN: list[object] = []
REFUSING = """
import json
import uvicorn

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    request = json.loads((await receive())["body"] or "{}")
    error = {"code": -32603, "message": "no sessions today"}
    body = json.dumps({"jsonrpc": "2.0", "id": request.get("id"), "error": error}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})

uvicorn.run(app, host="127.0.0.1", port=8000, lifespan="off")
"""
"""An MCP server that answers every request with an error."""


def deliver_to(question: Elicitation) -> dict[str, object]:
    SEEN.append(question)
    return {"street": "Main", "floor": 2}


def answer(request: Sampling) -> str:
    return request.text.upper()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # inherited: no other process can take its port
        environment = {**os.environ, "MCP_SOCKET": str(listener.fileno())}
        process = subprocess.Popen(COMMAND, stderr=subprocess.DEVNULL, env=environment, pass_fds=[listener.fileno()])
        port = listener.getsockname()[1]
    with process:
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()


@pytest.fixture(scope="module")
def warehouse(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy(SERVER, name="warehouse", environment={"MCP_PORT": "8000"}, protocol="MCP")


@pytest.fixture(scope="module", params=["stdio", "http", "agent"])
def mcp(request: pytest.FixtureRequest, bench: loom.Workbench) -> Iterator[McpClient]:
    callbacks: CallbackOptions = {
        "on_progress": SEEN.append,
        "on_log": SEEN.append,
        "on_elicit": deliver_to,
        "on_sample": answer,
        "roots": ["/tmp"],
    }
    if request.param == "agent":
        agent: loom.Agent = request.getfixturevalue("warehouse")
        assert agent.protocol == "MCP"
        opened = agent.protocols.mcp(**callbacks)
    else:
        server = COMMAND if request.param == "stdio" else request.getfixturevalue("address")
        opened = bench.tools.mcp(server, **callbacks)
    with opened as client:
        yield client


def test_tools_resources_and_prompts_are_listed_with_their_schemas(mcp: McpClient) -> None:
    tools = mcp.tools().set_index("name")
    assert tools.loc["add", "arguments"] == "a: integer, b?: integer"
    assert tools.loc["add", "input_schema"]["required"] == ["a"]
    assert list(mcp.resources()["uri"]) == ["stock://lamps", "stock://{item}/price"]
    assert list(mcp.prompts()["arguments"]) == ["item"]
    assert (mcp.server["name"], mcp.instructions) == ("warehouse", "Ask for stock before you order.")
    assert mcp.read("stock://lamps").text == "12 lamps"
    assert mcp.prompt("order", item="lamp").text == "user: Please order one lamp."
    mcp.ping()


def test_a_call_is_stored_with_its_transcript_and_its_times(bench: loom.Workbench, mcp: McpClient) -> None:
    call = mcp.call("add", a=1, b=2)
    assert (call.ok, call.value, call.text) == (True, 3, "3")
    transcript = call.transcript()
    assert list(transcript["direction"]) == ["sent", "received"]
    assert list(transcript["kind"]) == ["request", "response"]
    assert transcript["at_ms"][0] == 0
    assert call.duration_ms == pytest.approx(transcript["at_ms"][1])
    assert bench.context.store.invocations.events(call.record.id) == tuple(entry.to_event() for entry in call.entries)
    row = bench.context.store.invocations.get(call.record.id)
    assert row is not None
    assert (row.prompt, row.response, row.status) == ('{"tool": "add", "arguments": {"a": 1, "b": 2}}', "3", "complete")
    assert mcp.history(limit=1)["id"][0] == call.record.id
    assert list(bench.agents()["name"]).count(mcp.name) == (mcp.name == "warehouse")


def test_a_failing_tool_is_a_failed_call(mcp: McpClient) -> None:
    call = mcp.call("fail", reason="no stock")
    assert (call.ok, call.failure) == (False, "agent_error")
    assert "tool fail" in (call.error or "")


def test_progress_and_log_lines_arrive_before_the_result_in_order(mcp: McpClient) -> None:
    SEEN.clear()
    assert mcp.call("count", steps=3).text == "counted to 3"
    progress = [event for event in SEEN if isinstance(event, ProgressNotification)]
    assert [(event.progress, event.total, event.message) for event in progress] == [
        (1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3"),
    ]  # fmt: skip
    assert [one.data for one in SEEN if isinstance(one, LogMessage)] == ["counted"]


def test_the_server_asks_the_user_the_model_and_for_roots(mcp: McpClient) -> None:
    SEEN.clear()
    call = mcp.call("deliver", item="lamp")
    assert call.text == "lamp to Main, floor 2"
    (question,) = SEEN
    assert isinstance(question, Elicitation)
    assert (question.message, question.schema["required"]) == ("Where to with the lamp?", ["street", "floor"])
    assert [entry.method for entry in call.entries][1] == "elicitation/create"
    assert len(call.entries) == 4
    assert mcp.call("summarize", text="hi").text == "The client's model answered: SUMMARIZE: HI"


def test_a_declined_sampling_request_fails_the_tool_and_a_model_can_answer_one(bench: loom.Workbench) -> None:
    with bench.tools.mcp(COMMAND, on_sample=lambda _request: None) as mcp:
        call = mcp.call("summarize", text="hi")
        assert (call.ok, call.failure) == (False, "agent_error")
        assert "declined" in (call.error or "")
        assert [entry.message.get("error", {}).get("code") for entry in call.entries if entry.direction == "sent"][
            -1
        ] == -1
    with bench.tools.mcp(COMMAND, on_sample=sampling_model(bench)) as mcp:
        call = mcp.call("summarize", text="hi")
        result = next(entry.message["result"] for entry in call.entries if "result" in entry.message)
        assert call.text == f"The client's model answered: {result['content']['text']}"
        assert result["_meta"] == {"loom/simulated": True}


def test_reading_and_prompts_begin_without_waiting(mcp: McpClient) -> None:
    schema = mcp.prompts()["input_schema"][0]
    assert (list(schema["properties"]), schema["required"]) == (["item"], ["item"])
    reading, asking = mcp.start_read("stock://lamps"), mcp.start_prompt("order", {"item": "desk"})
    assert (reading.result().text, asking.result().text) == ("12 lamps", "user: Please order one desk.")
    reading.cancel()
    assert reading.result().text == "12 lamps"


def test_the_server_reads_the_roots(bench: loom.Workbench, address: str) -> None:
    for server in (
        COMMAND,
        address,
    ):  # the SDK's request belongs to no call, and InvokeAgentRuntime has no stream for it
        with bench.tools.mcp(server, roots=["/tmp"]) as mcp:
            assert mcp.call("folders").value == ["file:///tmp"]


def test_roots_are_asked_for_in_the_response_to_a_call_and_can_be_changed(mcp: McpClient, tmp_path: Path) -> None:
    try:
        assert mcp.call("folders_of_the_caller").value == ["file:///tmp"]
        mcp.set_roots([tmp_path, "file:///srv/repository"])
        assert mcp.call("folders_of_the_caller").value == [tmp_path.as_uri(), "file:///srv/repository"]
        wait_until(lambda: "roots" in mcp.call("seen").value, "the notification of the changed roots")
    finally:
        mcp.set_roots(["/tmp"])


def test_roots_that_were_not_offered_cannot_be_changed(bench: loom.Workbench) -> None:
    with bench.tools.mcp(COMMAND) as mcp:
        with pytest.raises(ProtocolError, match=r"offers no roots.*Try: mcp\(roots="):
            mcp.set_roots(["/tmp"])
        assert "does not offer roots/list" in (mcp.call("folders_of_the_caller").error or "")


def test_the_level_of_log_lines_reaches_the_server(mcp: McpClient) -> None:
    assert "logging" in mcp.capabilities
    mcp.set_log_level("warning")
    assert "warning" in mcp.call("seen").value
    with pytest.raises(ValueError, match="level must be one of debug"):
        mcp.set_log_level("loud")


def test_tools_that_a_server_adds_are_known_after_its_notification(mcp: McpClient) -> None:
    assert "greet" not in list(mcp.tools()["name"])
    assert mcp.call("learn", name="greet").text == "learned"
    assert mcp.call("greet").text == "greet"


def test_a_call_of_an_agent_is_an_invocation_with_a_trace_id(warehouse: loom.Agent) -> None:
    with warehouse.protocols.mcp() as mcp:
        call = mcp.call("add", a=1, b=2)
        assert warehouse.history.last().text == "3"
        assert list(warehouse.history.last().protocols.transcript()["kind"]) == ["request", "response"]
        assert len(call.record.trace_id or "") == 32
        assert call.record.session_id == mcp.session_id
        assert mcp.call("die", code=3).failure == "transport"  # the stream of events had begun


def test_a_cancelled_call_ends_on_both_sides(mcp: McpClient) -> None:
    before = mcp.call("cancellations").value
    running = mcp.start("wait_for_cancellation", on_progress=lambda _progress: running.cancel())
    call = running.result()
    assert (call.failure, running.is_done) == ("cancelled", True)
    assert [entry.method for entry in call.entries][-1] == "notifications/cancelled"
    wait_until(lambda: mcp.call("cancellations").value == before + 1, "the cancellation")


def test_a_call_that_is_cancelled_before_it_is_sent_is_stored(mcp: McpClient) -> None:
    running = mcp.start("wait_for_cancellation")
    running.cancel()
    assert running.result().failure == "cancelled"
    assert mcp.start("wait_for_cancellation", timeout_s=0.3).result().failure == "timeout"
    assert list(mcp.history(limit=2)["failure"]) == ["timeout", "cancelled"]


def test_wrong_names_and_arguments_are_refused_before_anything_is_sent(mcp: McpClient) -> None:
    stored = mcp.history(limit=1)["id"][0]
    with pytest.raises(ToolNotFoundError, match=r"no such tool.*'ad' of.*Try: add, fail"):
        mcp.call("ad", a=1)
    with pytest.raises(InvalidArgumentsError, match=r"a: it is required.*Try: a .integer.") as missing:
        mcp.call("add", b=1)
    assert missing.value.field == "a"
    with pytest.raises(InvalidArgumentsError, match="b: 'x' is not of type 'integer'"):
        mcp.call("add", a=1, b="x")
    assert mcp.history(limit=1)["id"][0] == stored


def test_a_question_without_a_callback_says_which_one_is_missing(bench: loom.Workbench) -> None:
    with bench.tools.mcp(COMMAND) as mcp:
        call = mcp.call("deliver", item="lamp")
        assert not call.ok
        assert "on_elicit" in (call.error or "")
    with bench.tools.mcp(COMMAND, on_elicit=lambda _question: {"street": "Main"}) as mcp:
        call = mcp.call("deliver", item="lamp")
        assert "floor: it is required" in (call.error or "")
    with bench.tools.mcp(COMMAND, on_elicit=lambda _question: None) as mcp:
        assert mcp.call("deliver", item="lamp").text == "decline: not delivered"


def test_a_server_that_dies_fails_the_call_with_its_last_words(bench: loom.Workbench) -> None:
    with bench.tools.mcp(COMMAND) as mcp:
        call = mcp.call("die", code=3)
        assert (call.failure, "exit code 3: out of memory" in (call.error or "")) == ("transport", True)
        assert mcp.log[-1] == "out of memory"
        assert mcp.call("add", a=1).failure == "transport"
        with pytest.raises(PeerClosedError):
            mcp.ping()


def test_what_is_no_mcp_server_is_refused_in_three_parts(
    bench: loom.Workbench, calculator: loom.Agent, address: str
) -> None:
    assert calculator.protocol == "HTTP"
    with pytest.raises(ProtocolError, match=r"protocol is HTTP, not MCP .calculator.. Try: agent.invoke"):
        calculator.protocols.mcp()
    with pytest.raises(PeerClosedError, match="cannot be started"):
        bench.tools.mcp(["no-such-program-anywhere"])
    with pytest.raises(ProtocolError, match="Try: "):
        bench.tools.mcp([sys.executable, "-c", "print('hello')"])
    with pytest.raises(ProtocolError, match=r"did not open an MCP session.*Try: "):
        bench.tools.mcp(address.replace("/mcp", "/nothing"))
    with socket.socket() as bound_socket:  # bound, and nobody listens
        bound_socket.bind(("127.0.0.1", 0))
        with pytest.raises(ProtocolError, match="nothing answers") as nobody:
            bench.tools.mcp(f"http://127.0.0.1:{bound_socket.getsockname()[1]}/mcp")
    assert "whether the server runs" in str(nobody.value)
    assert "loom up" not in str(nobody.value)
    with pytest.raises(ValueError, match="a command list"):
        bench.tools.mcp("python server.py")


def test_a_handshake_that_fails_leaves_no_runtime_session(bench: loom.Workbench, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(REFUSING)
    agent = bench.deploy(tmp_path / "agent.py", name="refusing", protocol="MCP")
    with pytest.raises(ProtocolError, match=r"did not open an MCP session.*no sessions today"):
        agent.protocols.mcp()
    assert agent.history.last().failure
    sessions = local.status(bench.context.settings.home).sessions
    assert agent.history.last().session_id not in {session.session_id for session in sessions}


def test_secrets_in_a_command_or_an_address_are_not_stored(bench: loom.Workbench, address: str) -> None:
    secret = "s3cr3t-token"
    with bench.tools.mcp([*COMMAND], environment={"TOKEN": secret}) as mcp:
        mcp.call("add", a=1)
    with bench.tools.mcp(f"{address}?key={secret}", headers={"Authorization": f"Bearer {secret}"}) as mcp:
        call = mcp.call("add", a=1)
    assert secret not in repr(call.record)
    assert secret not in repr(bench.context.store.agents.list())


def test_tools_are_evaluated_like_an_agent(bench: loom.Workbench, mcp: McpClient) -> None:
    evalset = loom.EvalSet(
        name="sums",
        cases=(
            loom.EvalCase(id="one", turns=(Turn(prompt="", payload={"a": 1, "b": 2}, expected_answer="3"),)),
            loom.EvalCase(id="two", turns=(Turn(prompt="", payload={"a": 2, "b": 2}, expected_answer="5"),)),
        ),
    )
    run = loom.evaluate(mcp.eval_target("add"), evalset, ["exact"])
    assert sorted(run.rows()["exact"]) == [0, 1]
