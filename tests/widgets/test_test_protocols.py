"""The Test panel with an MCP server and an A2A agent: forms from schemas, progress, questions, tasks and artifacts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import loom_widgets
import loomlib as loom
from loom_widgets.kit.schema_forms import fields_of, template_fields, template_uri, values_of
from loomlib.errors import InvalidArgumentsError

from .conftest import Watched, wait_until


@pytest.fixture(scope="module")
def tools(bench: loom.Workbench) -> loom.Agent:
    return bench.agent("mcp_server", deploy=True)


@pytest.fixture(scope="module")
def helper(bench: loom.Workbench) -> loom.Agent:
    return bench.agent("a2a_agent", deploy=True)


@pytest.fixture
def watched(tools: loom.Agent) -> Iterator[Watched]:
    panel = loom_widgets.test(tools)
    yield Watched(panel)
    panel.close()


@pytest.fixture(scope="module")
def warehouse(bench: loom.Workbench) -> loom.Agent:
    """An MCP server with resource templates, log lines, sampling and a call that only a cancellation ends."""
    code = Path(__file__).parents[1] / "service" / "workbench" / "mcp_test_server.py"
    return bench.deploy(code, name="warehouse", environment={"MCP_PORT": "8000"}, protocol="MCP")


@pytest.fixture
def stocked(warehouse: loom.Agent) -> Iterator[Watched]:
    panel = loom_widgets.test(warehouse)
    yield Watched(panel)
    panel.close()


def call(watched: Watched, name: str, *, action: str = "call_tool", **values: object) -> int:
    form = {"agent": watched.panel.state["agent"], "qualifier": "DEFAULT", "session": ""}
    return watched.begin(action, **form, name=name, values=values)


def question(watched: Watched) -> dict[str, object]:
    """The question that is shown now."""
    wait_until(lambda: bool(watched.ask("hello")["question"]))
    return dict(watched.ask("hello")["question"])


def last_turn(watched: Watched) -> dict[str, object]:
    return dict(watched.ask("hello")["turns"][-1])


def test_tools_are_listed_with_the_fields_of_their_forms_and_called(watched: Watched, tools: loom.Agent) -> None:
    assert watched.panel.state["protocol"] == "MCP"
    listed = watched.ask("tools", agent="mcp_server", qualifier="DEFAULT", session="")
    by_name = {tool["name"]: tool for tool in listed["items"]}
    (field,) = by_name["calculator"]["fields"]
    assert (field["name"], field["kind"], field["required"]) == ("expression", "text", True)
    assert "turn" in watched.answer(call(watched, "calculator", expression="6 * 7"))
    turn = last_turn(watched)
    assert (turn["status"], turn["prompt"], turn["session"]) == (
        "complete", "calculator(expression='6 * 7')", listed["session"],
    )  # fmt: skip
    assert "42" in str(turn["text"])
    assert tools.history.last().record.id == turn["invocation"]
    assert "agent.protocols.mcp()" in watched.panel.code


def test_progress_reaches_the_status_line_and_the_turn(watched: Watched) -> None:
    watched.answer(call(watched, "add_up", numbers="[1, 2, 3]"))
    events = [item["data"] for message in watched.of("pieces") for item in message["items"]]
    assert any(event.startswith("progress 3") for event in events), events
    assert last_turn(watched)["status"] == "complete"


def test_a_question_of_the_server_is_answered_in_the_panel(watched: Watched) -> None:
    number = call(watched, "split_bill", bill="90")
    wait_until(lambda: any(message.get("message") for message in watched.of("question")))
    (elicitation,) = [message for message in watched.of("question") if message.get("message")]
    assert [(field["name"], field["kind"]) for field in elicitation["fields"]] == [("people", "number")]
    watched.ask("answer_server", action="accept", values={"people": "3"})
    assert "turn" in watched.answer(number)
    turn = last_turn(watched)
    assert turn["status"] == "complete"
    assert "30" in str(turn["text"])
    assert watched.ask("answer_server", action="decline") == {"failed": True}


def test_an_answer_is_refused_by_a_question_that_its_view_has_not_shown(watched: Watched) -> None:
    number = call(watched, "split_bill", bill="90")
    shown = question(watched)["question"]
    watched.ask("stop", lane="invoke")
    watched.answer(number)
    number = call(watched, "split_bill", bill="120")
    later = question(watched)["question"]
    assert watched.ask("answer_server", question=shown, action="accept", values={"people": "3"}) == {"failed": True}
    assert "can no longer be answered" in watched.panel.error["what"]
    watched.ask("answer_server", question=later, action="accept", values={"people": "3"})
    watched.answer(number)
    assert "40" in str(last_turn(watched)["text"])


def test_resources_and_templates_are_read_from_their_forms(stocked: Watched, warehouse: loom.Agent) -> None:
    listed = stocked.ask("resources", agent="warehouse", qualifier="DEFAULT", session="")
    assert [(item["name"], [field["name"] for field in item["fields"]]) for item in listed["items"]] == [
        ("stock://lamps", []), ("stock://{item}/price", ["item"]),
    ]  # fmt: skip
    assert "text/plain" in listed["items"][0]["description"]
    assert "turn" in stocked.answer(call(stocked, "stock://lamps", action="read_resource")), stocked.panel.error
    turn = last_turn(stocked)
    assert (turn["status"], turn["prompt"], turn["text"]) == ("complete", "stock://lamps", "12 lamps")
    stocked.answer(call(stocked, "stock://{item}/price", action="read_resource", item="desk"))
    assert last_turn(stocked)["text"] == "desk: 5"
    assert "mcp.read('stock://desk/price')" in stocked.panel.code
    assert warehouse.history.last().record.id == last_turn(stocked)["invocation"]
    stocked.answer(call(stocked, "stock://nothing/at/all", action="read_resource"))
    assert last_turn(stocked)["status"] == "error"


def test_prompts_are_filled_in_from_their_forms(stocked: Watched) -> None:
    (item,) = stocked.ask("prompts", agent="warehouse", qualifier="DEFAULT", session="")["items"]
    assert (item["name"], [(field["name"], field["required"]) for field in item["fields"]]) == (
        "order", [("item", True)],
    )  # fmt: skip
    stocked.answer(call(stocked, "order", action="get_prompt", item="lamp"))
    turn = last_turn(stocked)
    assert (turn["status"], turn["prompt"], turn["text"]) == (
        "complete", "order(item='lamp')", "user: Please order one lamp.",
    )  # fmt: skip


def test_the_server_says_what_it_is_and_learns_the_roots(stocked: Watched) -> None:
    facts = dict(stocked.ask("server", agent="warehouse", qualifier="DEFAULT", roots="file:///srv/stock\n\n")["facts"])
    assert facts["server"] == "warehouse 1.2"
    assert facts["instructions"] == "Ask for stock before you order."
    assert "agent.protocols.mcp(roots=['file:///srv/stock'])" in stocked.panel.code
    other = dict(stocked.ask("server", agent="warehouse", qualifier="DEFAULT", roots="")["facts"])
    assert other["session"] != facts["session"]


def test_log_lines_arrive_in_the_turn_of_their_call(stocked: Watched) -> None:
    stocked.answer(call(stocked, "count", steps="2"))
    turn = last_turn(stocked)
    notes = [(note["kind"], note["data"]) for note in turn["notes"]]  # type: ignore[attr-defined]
    assert notes == [
        ("progress", "progress 1 of 2 step 1"),
        ("progress", "progress 2 of 2 step 2"),
        ("log", "info: counted"),
    ]
    assert stocked.ask("log_level", agent="warehouse", qualifier="DEFAULT", level="loud") == {"failed": True}
    assert "level must be one of" in str(stocked.panel.error)


def test_a_call_with_many_reports_keeps_a_limited_number_of_them(stocked: Watched) -> None:
    stocked.answer(call(stocked, "count", steps="600"))
    turn = last_turn(stocked)
    assert (turn["status"], len(turn["notes"])) == ("complete", 500)  # type: ignore[arg-type]


def test_a_sampling_request_is_answered_by_the_model_or_declined(stocked: Watched) -> None:
    number = call(stocked, "summarize", text="long text")
    request = question(stocked)
    assert (request["asks"], request["messages"], request["most"]) == ("model", [["user", "Summarize: long text"]], 50)
    sample = stocked.ask("sample", model="")
    assert sample["text"]
    assert sample["labels"] == ["simulated"]
    assert stocked.ask("answer_server", action="accept", text=" ") == {"failed": True}
    stocked.ask("answer_server", action="accept", text="short")
    assert "turn" in stocked.answer(number)
    assert last_turn(stocked)["text"] == "The client's model answered: short"
    assert "on_sample=lambda request: 'short'" in stocked.panel.code
    compile(stocked.panel.code, "copied", "exec")
    assert stocked.ask("hello")["question"] == {}

    number = call(stocked, "summarize", text="more")
    question(stocked)
    stocked.ask("answer_server", action="decline")
    stocked.answer(number)
    turn = last_turn(stocked)
    assert turn["status"] == "error"
    assert "declined" in str(turn["sentence"]), turn


def test_a_call_that_waits_is_stopped_with_its_question(stocked: Watched) -> None:
    for tool, values in (("wait_for_cancellation", {}), ("deliver", {"item": "lamp"})):
        number = call(stocked, tool, **values)
        if tool == "deliver":
            question(stocked)
        else:
            wait_until(lambda: any(item["kind"] == "progress" for m in stocked.of("pieces") for item in m["items"]))
        assert stocked.ask("stop", lane="invoke") == {"stopped": True}
        stocked.answer(number)
        assert last_turn(stocked)["status"] == "stopped", last_turn(stocked)["sentence"]
        assert stocked.ask("hello")["question"] == {}
    stocked.answer(call(stocked, "add", a="1", b="2"))
    assert last_turn(stocked)["text"] == "3"


def test_a_server_that_has_ended_is_opened_again_by_the_next_call(stocked: Watched) -> None:
    stocked.answer(call(stocked, "die", code="3"))
    assert last_turn(stocked)["status"] == "error"
    stocked.answer(call(stocked, "add", a="1", b="2"))
    assert last_turn(stocked)["text"] == "3", stocked.panel.error


def test_arguments_that_do_not_fit_name_their_field_and_begin_no_turn(watched: Watched) -> None:
    assert watched.answer(call(watched, "calculator")) == {"failed": True}
    assert "expression" in watched.panel.error["what"]
    assert watched.answer(call(watched, "add_up", numbers="one, two")) == {"failed": True}
    assert "numbers is not JSON" in watched.panel.error["what"]
    assert watched.ask("hello")["turns"] == []


def test_a_websocket_is_a_turn_with_its_messages(bench: loom.Workbench) -> None:
    code = Path(__file__).parents[1] / "service" / "workbench" / "socket_test_agent.py"
    talker = bench.deploy(code, name="talker")
    panel = Watched(loom_widgets.test(talker))

    def messages() -> list[tuple[bool, str]]:
        return [(note["sent"], note["text"]) for note in last_turn(panel)["notes"]]  # type: ignore[attr-defined]

    try:
        form = {"agent": "talker", "qualifier": "DEFAULT", "session": ""}
        assert panel.ask("send_socket", text="too early") == {"failed": True}
        number = panel.begin("open_socket", **form)
        wait_until(lambda: panel.ask("hello")["socket"] is True)
        panel.ask("send_socket", text="one")
        wait_until(lambda: len(messages()) == 3)
        assert messages() == [(True, "one"), (False, "heard one"), (False, "heard one")]
        assert "ws.send('one')" in panel.panel.code
        assert panel.ask("stop", lane="socket") == {"stopped": True}
        panel.answer(number)
        turn = last_turn(panel)
        assert (turn["status"], turn["text"], turn["socket"]) == ("complete", "", True)
        assert talker.history.last().record.id == turn["invocation"]
        assert panel.ask("hello")["socket"] is False

        number = panel.begin("open_socket", **form)
        wait_until(lambda: panel.ask("hello")["socket"] is True)
        panel.ask("send_socket", text="fail")
        panel.answer(number)
        assert (last_turn(panel)["status"], "1011" in str(last_turn(panel)["sentence"])) == ("error", True)
    finally:
        panel.panel.close()


def test_an_a2a_agent_shows_its_card_task_and_artifacts(helper: loom.Agent) -> None:
    panel = Watched(loom_widgets.test(helper))
    try:
        assert panel.panel.state["protocol"] == "A2A"
        form = {"agent": helper.name, "qualifier": "DEFAULT", "session": ""}
        facts = dict(panel.ask("agent_card", **form)["facts"])
        assert facts["name"]
        prompt = helper.targets.sample_prompt
        assert "turn" in panel.ask("invoke", **form, prompt=prompt), panel.panel.error
        turn = last_turn(panel)
        assert turn["status"] == "complete"
        names = [tool["name"] for tool in turn["tools"]]  # type: ignore[attr-defined]
        assert names[0].startswith("task ")
        assert any(name.startswith("artifact ") for name in names)
        assert turn["text"]
    finally:
        panel.panel.close()


def test_a_schema_becomes_fields_and_their_texts_become_values() -> None:
    schema = {
        "properties": {
            "name": {"type": "string", "description": "who"},
            "count": {"type": "integer", "default": 2},
            "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "loud": {"type": "boolean"},
            "size": {"enum": ["s", 1]},
            "tags": {"type": "array"},
        },
        "required": ["name"],
    }
    kinds = {field["name"]: field["kind"] for field in fields_of(schema)}
    assert kinds == {
        "name": "text", "count": "number", "ratio": "number", "loud": "flag", "size": "choice", "tags": "json",
    }  # fmt: skip
    filled = {"name": "Ada", "count": "3", "ratio": "", "loud": False, "size": "1", "tags": '["a"]'}
    assert values_of(schema, filled) == {"name": "Ada", "count": 3, "size": 1, "tags": ["a"]}
    with pytest.raises(InvalidArgumentsError, match="count is not a number"):
        values_of(schema, {"name": "Ada", "count": "three"})
    assert fields_of({"properties": "no mapping"}) == []


def test_a_template_becomes_fields_and_its_values_a_uri() -> None:
    assert [field["name"] for field in template_fields("repo://{owner}/{+path}?v={owner}")] == ["owner", "path"]
    values = {"owner": "a b/c", "path": "x/y z"}
    assert template_uri("repo://{owner}/{+path}", values) == "repo://a%20b%2Fc/x/y%20z"
    assert template_uri("repo://{owner}", {"owner": 7}) == "repo://"
    assert template_uri("plain://{not a variable}", {}) == "plain://{not a variable}"
    (whole,) = template_fields("find://{?words*}")
    assert (whole["name"], whole["value"]) == ("URI", "find://{?words*}")
    assert template_uri("find://{?words*}", {"URI": "find://?words=a"}) == "find://?words=a"
    assert template_uri("a://{URI}", {"URI": "b"}) == "a://b"
