"""AG-UI and MCP Apps with real agents: runs, questions, views, and what a frame may call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

import loomlib as loom
from loomlib.agents.agui import AguiFold, run_input
from loomlib.errors import ProtocolError
from loomlib.workbench import agui_conversation, ask_agui, confirm, view_channel


@pytest.fixture(scope="module")
def assistant(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy("agui_assistant")


@pytest.fixture(scope="module")
def dice(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy("mcp_app")


def test_a_run_streams_typed_events_and_is_kept(assistant: loom.Agent) -> None:
    fold = AguiFold()
    for event in assistant.stream(payload=run_input("Where is order A-1042?")):
        if isinstance(event, loom.Chunk):
            assert fold.feed(event.data) is not None
    run = fold.run()
    assert (run.status, run.problems, run.unknown) == ("finished", (), ())
    assert "in transit" in run.text
    assert [(tool.name, tool.state) for tool in run.tools] == [("find_order", "done")]
    inv = assistant.history.last()
    assert inv.text == run.text
    assert inv.protocols.agui().run == run
    assert len(inv.protocols.agui().table()) == run.events
    assert "find_order" in inv.protocols.agui()._repr_html_()


def test_a_tool_changes_the_state_and_an_order_waits_for_a_yes(assistant: loom.Agent) -> None:
    added = ask_agui(assistant, "Add 2 lamps to the cart.")
    assert added.protocols.agui().state == {"cart": [{"item": "lamp", "quantity": 2}]}
    order = ask_agui(assistant, "Place the order.", session_id=added.session_id)
    assert order.protocols.agui().status == "interrupted"
    (question,) = order.protocols.agui().confirmations
    assert "2 × lamp" in question.message
    assert question.response_schema is not None
    confirmation = confirm(order, question.id, approved=True)
    assert confirmation.protocols.agui().status == "finished"
    assert (confirmation.protocols.agui().tools[0].result, confirmation.protocols.agui().state) == (
        "Ordered: 2 × lamp.",
        {"cart": []},
    )
    messages = agui_conversation(assistant.history.conversation(added.session_id))
    prompts = [message["content"] for message in messages if message["role"] == "user"]
    assert prompts == ["Add 2 lamps to the cart.", "Place the order."]
    assert [message["role"] for message in messages][-1] == "assistant"
    later = ask_agui(assistant, "Where is order A-1042?", session_id=added.session_id, messages=messages)
    assert (later.protocols.agui().status, later.protocols.agui().run.problems) == ("finished", ())


def test_a_no_leaves_everything_as_it_was(assistant: loom.Agent) -> None:
    added = ask_agui(assistant, "Add 3 chairs to the cart.")
    order = ask_agui(assistant, "Place the order.", session_id=added.session_id)
    rejection = confirm(order, order.protocols.agui().confirmations[0].id, approved=False)
    assert rejection.protocols.agui().state == {"cart": [{"item": "chair", "quantity": 3}]}
    assert "said no" in (rejection.protocols.agui().tools[0].result or "")


def test_an_input_that_is_none_is_a_run_error_and_a_failed_invocation(assistant: loom.Agent) -> None:
    inv = assistant.invoke(payload={"messages": []})
    assert (inv.ok, inv.failure, inv.protocols.agui().status) == (False, "agent_error", "failed")
    assert "threadId" in (inv.error or "")


def test_runs_come_over_one_websocket_too(assistant: loom.Agent) -> None:
    runs = []
    with assistant.protocols.websocket() as ws:
        for prompt in ("Add 2 lamps to the cart.", "Where is order A-1042?"):
            ws.send(run_input(prompt))
            fold = AguiFold()
            for message in ws:
                event = fold.feed(message.text)
                assert event is not None
                if event.type == "RUN_FINISHED":
                    break
            runs.append(fold.run())
    assert [(run.status, run.problems) for run in runs] == [("finished", ()), ("finished", ())]
    assert runs[0].state == {"cart": [{"item": "lamp", "quantity": 2}]}
    assert runs[1].state == runs[0].state
    assert "in transit" in runs[1].text


def test_an_agent_that_speaks_no_ag_ui_has_an_empty_run(bench: loom.Workbench, calculator: loom.Agent) -> None:
    agui = calculator.invoke("What is 2+2?").protocols.agui()
    assert (agui.status, agui.events) == ("not started", ())
    assert "no AG-UI events" in agui._repr_html_()


def test_a_tools_view_comes_with_the_answer_and_its_frame_calls_its_tools(dice: loom.Agent) -> None:
    inv = dice.invoke("Roll 3 dice.").raise_for_status()
    (view,) = inv.protocols.views()
    assert (view.problem, view.tool, view.tools) == ("", "roll_dice", ("roll_dice", "roll_history"))
    assert "ui/initialize" in view.html
    assert len(json.loads(view.result["content"][0]["text"])["dice"]) == 3
    channel = view_channel(dice, view, session_id=inv.session_id)

    def call(name: str, **arguments: object) -> dict[str, object]:
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        return channel.receive(request)[0]

    assert "result" in call("roll_dice", count=2)
    history = call("roll_history")["result"]
    assert isinstance(history, dict)
    assert len(json.loads(history["content"][0]["text"])["throws"]) == 2
    assert "error" in call("forget_throws")
    assert channel.refused == ["tools/call forget_throws"]
    assert dice.invoke(payload={"mcp": {"method": "tools/call", "params": {"name": "forget_throws"}}},
                       session_id=inv.session_id).ok  # fmt: skip
    assert len(json.loads(call("roll_history")["result"]["content"][0]["text"])["throws"]) == 2  # type: ignore[index]


@pytest.mark.parametrize("transport", ["sse", "websocket"])
def test_a_conversation_keeps_its_state_and_asks_before_it_orders(
    assistant: loom.Agent, transport: Literal["sse", "websocket"]
) -> None:
    agui = assistant.protocols.agui(transport=transport)
    agui.run("Add 2 lamps to the cart.")
    assert agui.state == {"cart": [{"item": "lamp", "quantity": 2}]}
    events = list(agui.stream("Place the order."))
    assert (events[0].type, events[-1].type) == ("RUN_STARTED", "RUN_FINISHED")
    assert len(agui.runs) == 2
    assert "2 × lamp" in agui.questions[0].message
    confirmation = agui.confirm(approved=True)
    assert (agui.state, confirmation.session_id) == ({"cart": []}, agui.session_id)
    assert agui.messages[0]["role"] == "user"
    with pytest.raises(ProtocolError, match="did not ask a question"):
        agui.confirm(approved=True)


def test_a_run_over_a_websocket_is_stored_like_one_over_sse(assistant: loom.Agent) -> None:
    runs = [assistant.protocols.agui(transport=way).run("Where is order A-1042?") for way in ("sse", "websocket")]
    views = [assistant.history.get(inv.record.id).protocols.agui() for inv in runs]
    assert [event.type for event in views[0].events] == [event.type for event in views[1].events]
    assert [(view.status, view.text, view.run.problems) for view in views] == [("finished", runs[0].text, ())] * 2
    for inv in runs:
        record = inv.record
        assert (record.status, record.failure) == ("complete", None)
        assert len(record.chunk_offsets_ms) == len(views[0].events)
        assert 0 < (record.ttft_ms or 0) <= record.chunk_offsets_ms[0] <= (record.client_duration_ms or 0)
        assert record.wire is not None
        assert record.bytes_received > 0
    with pytest.raises(ValueError, match="transport must be"):
        assistant.protocols.agui(transport="polling")  # type: ignore[arg-type]


def test_a_run_over_a_websocket_that_does_not_end_is_a_failed_invocation(bench: loom.Workbench) -> None:
    talker = bench.deploy(Path(__file__).with_name("socket_test_agent.py"), name="agui_talker")
    failed = talker.protocols.agui(transport="websocket").run("hello", timeout_s=5)
    assert (failed.ok, failed.failure) == (False, "timeout")
    assert "within 5 s" in (failed.error or "")
