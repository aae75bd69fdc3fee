"""The Test panel with an MCP server and an A2A agent: forms from schemas, progress, questions, tasks and artifacts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import loom_widgets
import loomlib as loom
from loom_widgets.panels.test.tool_forms import fields_of, values_of
from loomlib.errors import InvalidArgumentsError

from .conftest import Watched, wait_until


@pytest.fixture(scope="module")
def tools(bench: loom.Workbench) -> loom.Agent:
    return bench.ensure_agent("mcp_server")


@pytest.fixture(scope="module")
def helper(bench: loom.Workbench) -> loom.Agent:
    return bench.ensure_agent("a2a_agent")


@pytest.fixture
def watched(tools: loom.Agent) -> Iterator[Watched]:
    panel = loom_widgets.test(tools)
    yield Watched(panel)
    panel.close()


def call(watched: Watched, tool: str, **arguments: object) -> int:
    return watched.begin(
        "call_tool", agent="mcp_server", qualifier="DEFAULT", session="", tool=tool, arguments=arguments
    )


def last_turn(watched: Watched) -> dict[str, object]:
    return dict(watched.ask("hello")["turns"][-1])


def test_tools_are_listed_with_the_fields_of_their_forms_and_called(watched: Watched, tools: loom.Agent) -> None:
    assert watched.panel.state["protocol"] == "MCP"
    listed = watched.ask("tools", agent="mcp_server", qualifier="DEFAULT", session="")
    by_name = {tool["name"]: tool for tool in listed["tools"]}
    (field,) = by_name["calculator"]["fields"]
    assert (field["name"], field["kind"], field["required"]) == ("expression", "text", True)
    assert "turn" in watched.answer(call(watched, "calculator", expression="6 * 7"))
    turn = last_turn(watched)
    assert (turn["status"], turn["prompt"], turn["session"]) == (
        "complete", "calculator(expression='6 * 7')", listed["session"],
    )  # fmt: skip
    assert "42" in str(turn["text"])
    assert tools.history.last().record.id == turn["invocation"]
    assert "agent.mcp()" in watched.panel.code


def test_progress_reaches_the_status_line_and_the_turn(watched: Watched) -> None:
    watched.answer(call(watched, "add_up", numbers="[1, 2, 3]"))
    events = [item["data"] for message in watched.of("pieces") for item in message["items"]]
    assert any(event.startswith("progress 3") for event in events), events
    assert last_turn(watched)["status"] == "complete"


def test_a_question_of_the_server_is_answered_in_the_panel(watched: Watched) -> None:
    number = call(watched, "split_bill", bill="90")
    wait_until(lambda: any(message.get("message") for message in watched.of("question")))
    (asked,) = [message for message in watched.of("question") if message.get("message")]
    assert [(field["name"], field["kind"]) for field in asked["fields"]] == [("people", "number")]
    watched.ask("answer_server", action="accept", values={"people": "3"})
    assert "turn" in watched.answer(number)
    turn = last_turn(watched)
    assert turn["status"] == "complete"
    assert "30" in str(turn["text"])
    assert watched.ask("answer_server", action="decline") == {"failed": True}


def test_arguments_that_do_not_fit_name_their_field_and_begin_no_turn(watched: Watched) -> None:
    assert watched.answer(call(watched, "calculator")) == {"failed": True}
    assert "expression" in watched.panel.error["what"]
    assert watched.answer(call(watched, "add_up", numbers="one, two")) == {"failed": True}
    assert "numbers is not JSON" in watched.panel.error["what"]
    assert watched.ask("hello")["turns"] == []


def test_an_a2a_agent_shows_its_card_task_and_artifacts(helper: loom.Agent) -> None:
    panel = Watched(loom_widgets.test(helper))
    try:
        assert panel.panel.state["protocol"] == "A2A"
        form = {"agent": helper.name, "qualifier": "DEFAULT", "session": ""}
        facts = dict(panel.ask("agent_card", **form)["facts"])
        assert facts["name"]
        prompt = helper.sample_prompt
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
