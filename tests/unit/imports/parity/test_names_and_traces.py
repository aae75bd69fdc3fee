"""The old agent's tool calls under the names of the new one, and results for calls that it returns."""

from __future__ import annotations

from typing import Any

import pytest

from loomlib.aws.bedrock_agent_traces import trace_steps, typed_arguments
from loomlib.aws.bedrock_agents import ControlRequest
from loomlib.errors import EvalError
from loomlib.evals.values.tool_use import ExpectedTool
from loomlib.imports.bedrock_agents.parity.names import ToolNames
from loomlib.imports.bedrock_agents.parity.returned_calls import GivenResults
from tests.imported_agents import orders_agent, support_supervisor


def request(name: str, needs: Any = "result", group: str = "travel", **values: str) -> ControlRequest:
    parameters = [{"name": key, "type": "string", "value": value} for key, value in values.items()]
    body = {"actionGroup": group, "function": name, "parameters": parameters}
    return ControlRequest(name=name, arguments=values, needs=needs, action_group=group, agent="", sent=body)


def events(*pairs: tuple[str, dict[str, Any]], collaborator: str = "") -> list[dict[str, Any]]:
    origin = {"collaboratorName": collaborator} if collaborator else {}
    return [{**origin, "trace": {"orchestrationTrace": {kind: content}}} for kind, content in pairs]


def called(group: str, function: str, *parameters: dict[str, str], **more: str) -> list[dict[str, Any]]:
    action = {"actionGroupName": group, "function": function, "parameters": list(parameters), **more}
    return events(
        ("invocationInput", {"actionGroupInvocationInput": action}),
        ("observation", {"type": "ACTION_GROUP", "actionGroupInvocationOutput": {"text": "done"}}),
    )


def test_arguments_have_the_types_that_the_call_declares() -> None:
    parameters = [
        {"name": "order", "type": "integer", "value": "4711"},
        {"name": "price", "type": "number", "value": "1.5"},
        {"name": "urgent", "type": "boolean", "value": "true"},
        {"name": "tags", "type": "array", "value": '["a", "b"]'},
        {"name": "loose", "type": "array", "value": "[a, b]"},
        {"name": "code", "type": "string", "value": "007"},
        {"name": "odd", "type": "integer", "value": "many"},
    ]
    assert typed_arguments({"parameters": parameters}) == {
        "order": 4711, "price": 1.5, "urgent": True, "tags": ["a", "b"], "loose": "[a, b]", "code": "007",
        "odd": "many",
    }  # fmt: skip
    body = {"content": {"application/json": [{"name": "note", "type": "string", "value": "x"}]}}
    assert typed_arguments({"requestBody": body}) == {"note": "x"}


def test_calls_of_a_trace_have_the_names_of_the_import() -> None:
    agent = orders_agent()
    names = ToolNames.of(agent)
    group = next(group for group in agent.action_groups if group.tools)
    tool = group.tools[0]
    operation = tool.function or f"{tool.method} {tool.path}"
    assert names.of_action(group.name, operation) == tool.name
    assert names.of_action("other", "GET /orders/{id}") == "GET_orders_id"


def test_only_calls_of_the_agent_itself_are_its_trajectory() -> None:
    search = {"knowledgeBaseLookupInput": {"knowledgeBaseId": "KB1", "text": "refunds"}}
    delegation = {
        "agentCollaboratorInvocationInput": {"agentCollaboratorName": "billing desk", "input": {"text": "Refund"}}
    }
    trace = [
        *called("orders", "find", {"name": "order", "type": "integer", "value": "1"}),
        *called("orders", "returned", executionType="RETURN_CONTROL"),
        *[{**event, "collaboratorName": "billing desk"} for event in called("payments", "refund")],
        *events(("invocationInput", search), ("observation", {"type": "KNOWLEDGE_BASE"})),
        *events(("invocationInput", delegation), ("observation", {"type": "AGENT_COLLABORATOR"})),
        *events(("observation", {"type": "ASK_USER", "finalResponse": {"text": "Which order?"}})),
    ]
    tools = ToolNames().tools_of(list(trace_steps(trace)))
    assert [use.name for use in tools] == ["find", "x_amz_knowledgebase_KB1__Search", "billing_desk", "user__askuser"]
    assert tools[0].arguments == {"order": 1}
    assert tools[0].result == "done"


def test_calls_of_collaborators_own_tools_are_left_out() -> None:
    supervisor = support_supervisor()
    names = ToolNames.of(supervisor)
    inner = next(iter(names.inner))
    assert set(names.collaborators) == {item.name for item in supervisor.collaborators}
    assert [use.name for use in names.of_successor(map(_use, (inner, "own")))] == ["own"]


def test_a_tool_with_the_old_agents_own_name_counts_as_the_imported_one() -> None:
    names = ToolNames(
        actions={("travel", "find"): "travel__find", ("shop", "buy"): "shop__buy", ("x", "buy"): "x__buy"}
    )
    used = names.of_successor(map(_use, ("find", "travel__find", "buy", "other")))
    assert [use.name for use in used] == ["travel__find", "travel__find", "buy", "other"], "buy could be one of two"


def test_a_case_gives_results_refusals_and_confirmations() -> None:
    results = GivenResults.of_state(
        {"returnControl": {"get_weather": "21 degrees", "book": False, "pay": {"confirm": True, "result": {"paid": 3}}}}
    )
    assert results.knows(request("get_weather"))
    reply = results.answer(request("get_weather", city="Paris"))
    assert reply["functionResult"]["responseBody"] == {"TEXT": {"body": "21 degrees"}}
    assert results.answer(request("book", "both"))["functionResult"]["confirmationState"] == "DENY"
    assert results.text_of(request("pay", "both")) == '{"paid": 3}'
    assert not results.knows(request("other"))
    assert GivenResults.of_state({"returnControl": {"book": True}}).knows(request("book", "confirmation"))
    assert not GivenResults.of_state({"returnControl": {"book": True}}).knows(request("book", "both")), "no result"
    with pytest.raises(EvalError, match="must be given by name"):
        GivenResults.of_state({"returnControl": "21 degrees"})


def test_expected_results_and_group_names_count_too() -> None:
    names = ToolNames(actions={("travel", "get_weather"): "travel__get_weather"})
    expected = [ExpectedTool(name="travel__get_weather", result="sunny")]
    results = GivenResults().with_expected(expected, names)
    assert results.text_of(request("get_weather")) == "sunny"
    result = results.for_tool("travel__get_weather")
    assert result is not None
    assert result.text == "sunny"
    by_group = GivenResults.of_state({"returnControl": {"travel/get_weather": "rain"}}).with_expected((), names)
    assert by_group.text_of(request("get_weather")) == "rain"
    assert by_group.text_of(request("get_weather", group="other")) is None
    assert GivenResults().with_expected((), names).for_tool("travel__get_weather") is None


def _use(name: str) -> Any:
    from loomlib.evals.values.tool_use import ToolUse

    return ToolUse(name=name)
