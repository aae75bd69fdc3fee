"""The Test panel's depth without a browser: approvals, AG-UI runs, frames' messages, answers no page can bear."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import loom_widgets
import loomlib as loom
from loom_widgets.kit import Form
from loom_widgets.panels.test.turns import PanelTurn
from loom_widgets.panels.test.words import describe_prompt, tree_json, well_formed
from loomlib.agents import Chunk
from loomlib.agents.mcp_apps import FrameChannel

from .conftest import PATIENCE_S, Watched


@pytest.fixture
def watched(bench: loom.Workbench) -> Iterator[Watched]:
    panel = loom_widgets.test(bench)
    yield Watched(panel)
    panel.close()


def chosen(watched: Watched, agent: str, prompt: str) -> dict[str, Any]:
    watched.ask("choose", agent=agent, qualifier="DEFAULT", session="")
    return asked(watched, agent, prompt)


def asked(watched: Watched, agent: str, prompt: str) -> dict[str, Any]:
    session = watched.panel.state["session"]
    watched.ask("invoke", agent=agent, qualifier="DEFAULT", prompt=prompt, session=session)
    return last(watched)


def last(watched: Watched) -> dict[str, Any]:
    return dict(watched.ask("hello")["turns"][-1])


def test_what_waits_from_an_earlier_session_is_shown_and_decided(bench: loom.Workbench, watched: Watched) -> None:
    agent = bench.deploy("approvals", memory=bench.memories.create("pauses"))
    session = agent.invoke("Refund 40 euros for order A-1042.").session_id
    watched.ask("choose", agent="approvals", qualifier="DEFAULT", session="")
    watched.ask("approvals")
    (waiting,) = watched.of("approvals")[-1]["pending"]
    assert (waiting["tool"], waiting["session"]) == ("refund_order", session)
    assert waiting["input"] == [["order_id", "A-1042"], ["euros", "40"]]
    assert 86_000 < waiting["left_s"] < 86_400
    (still_waiting,) = watched.ask("hello")["approvals"]["pending"]
    assert still_waiting["left_s"] < waiting["left_s"]
    watched.ask("decide", approval=waiting["id"], approve=False, note="too much")
    assert watched.panel.state["session"] == session
    turn = last(watched)
    assert turn["prompt"] == "Rejected refund_order: too much"
    assert f"agent.approvals.reject({waiting['id']!r}, note='too much')" in watched.panel.code
    assert "too much" in turn["text"]
    watched.ask("approvals")
    approvals = watched.of("approvals")[-1]
    assert (approvals["pending"], approvals["decided"][0]["state"]) == ([], "rejected")
    assert watched.ask("decide", approval=waiting["id"], approve=True) == {"failed": True}
    assert "already decided" in watched.panel.error["what"]
    watched.ask("choose", agent="approvals", qualifier="DEFAULT", session=session)
    assert last(watched)["prompt"] == "Rejected: too much"


def test_a_token_is_sent_only_to_the_agent_that_it_was_entered_for(bench: loom.Workbench, watched: Watched) -> None:
    memory = bench.memories.create("guarded_pauses")
    agent = bench.deploy("approvals", name="guarded_approvals", memory=memory, authorizer="local")
    other = bench.deploy("calculator", name="guarded_calculator", authorizer="local")
    token = bench.identity.token("alice")
    agent.at(bearer=token).invoke("Refund 40 euros for order A-1042.")
    watched.ask("choose", agent=other.name, qualifier="DEFAULT", session="")
    watched.ask("invoke", agent=other.name, qualifier="DEFAULT", session="", prompt="What is 2+2?", bearer=token)
    assert last(watched)["status"] == "complete"
    watched.ask("choose", agent=agent.name, qualifier="DEFAULT", session="")
    watched.ask("approvals")
    (waiting,) = watched.of("approvals")[-1]["pending"]
    watched.ask("decide", approval=waiting["id"], approve=True)
    assert last(watched)["status"] == "error"
    watched.ask("decide", agent=agent.name, approval=waiting["id"], approve=True, bearer=token)
    assert "Refunded 40 euros" in last(watched)["text"]


def test_a_run_has_its_state_and_a_question_is_answered(bench: loom.Workbench, watched: Watched) -> None:
    bench.deploy("agui_assistant")
    turn = chosen(watched, "agui_assistant", "Add 2 lamps to the cart.")
    assert json.loads(turn["run"]["state"]) == {"cart": [{"item": "lamp", "quantity": 2}]}
    assert "STATE_DELTA" in [note["type"] for note in turn["notes"]]
    assert turn["run"]["tools"][0]["state"] == "done"
    assert watched.panel.state["agui"] is True
    turn = asked(watched, "agui_assistant", "Place the order.")
    assert "messages=agui_conversation(" in watched.panel.code
    compile(watched.panel.code, "copied", "exec")
    (question,) = turn["run"]["confirmations"]
    assert question["yes_or_no"] is True
    assert watched.ask("answer", turn=turn["turn"], question=question["id"], payload="{torn") == {"failed": True}
    watched.ask("answer", turn=turn["turn"], question=question["id"], approved=True)
    assert "confirm(" in watched.panel.code
    compile(watched.panel.code, "copied", "exec")
    assert "Ordered: 2 × lamp" in str(last(watched)["run"]["tools"])
    assert watched.ask("answer", turn=turn["turn"], question=question["id"], approved=True) == {"failed": True}
    session = watched.panel.state["session"]
    watched.ask("choose", agent="agui_assistant", qualifier="DEFAULT", session=session)
    assert [chat_turn["prompt"] for chat_turn in watched.ask("hello")["turns"]][1:] == ["Place the order.", "Approved"]
    assert watched.ask("page", table="sessions")["rows"][0]["agent"] == "agui_assistant"


def test_a_question_for_another_agent_or_session_continues_no_run(bench: loom.Workbench, watched: Watched) -> None:
    bench.deploy("agui_assistant")
    other = bench.deploy("agui_assistant", name="other_assistant")
    turn = chosen(watched, "agui_assistant", "Add 2 lamps to the cart.")
    for name, session in ((other.name, ""), ("agui_assistant", uuid4().hex * 2)):
        form = {"agent": name, "qualifier": "DEFAULT", "session": session, "agui": True}
        watched.ask("choose", agent="agui_assistant", qualifier="DEFAULT", session=turn["session"])
        watched.ask("invoke", **form, prompt="Add 1 desk to the cart.")
        assert json.loads(last(watched)["run"]["state"]) == {"cart": [{"item": "desk", "quantity": 1}]}


def test_the_code_of_an_answer_has_a_token_where_the_agent_requires_one(
    bench: loom.Workbench, watched: Watched
) -> None:
    agent = bench.deploy("agui_assistant", name="protected_assistant", authorizer="local")
    form = {"agent": agent.name, "qualifier": "DEFAULT", "bearer": bench.identity.token("alice")}
    watched.ask("choose", agent=agent.name, qualifier="DEFAULT", session="")
    watched.ask("invoke", **form, prompt="Add 2 lamps to the cart.", session="")
    watched.ask("invoke", **form, prompt="Place the order.", session=watched.panel.state["session"])
    (question,) = last(watched)["run"]["confirmations"]
    watched.ask("answer", turn=last(watched)["turn"], question=question["id"], approved=True)
    assert 'approved=True, bearer=os.environ["LOOM_BEARER"])' in watched.panel.code
    compile(watched.panel.code, "copied", "exec")
    assert "Ordered: 2 × lamp" in str(last(watched)["run"]["tools"])


def test_a_views_frame_has_its_channel_and_no_other(bench: loom.Workbench, watched: Watched) -> None:
    bench.deploy("mcp_app")
    turn = chosen(watched, "mcp_app", "Roll 3 dice.")
    (view,) = [note for note in turn["notes"] if note["kind"] == "view"]
    frame_reply = watched.ask("frame", turn=turn["turn"], view=view["view"], frame="f1", theme="dark")
    assert frame_reply["sandbox"] == "allow-scripts"
    assert "Content-Security-Policy" in frame_reply["document"]

    def post(frame: str = "f1", **message: Any) -> dict[str, Any]:
        return dict(watched.ask("frame_message", frame=frame, message=json.dumps({"jsonrpc": "2.0", **message})))

    call = {"id": 1, "method": "tools/call", "params": {"name": "roll_dice", "arguments": {"count": 2}}}
    assert len(json.loads(post(**call)["answers"][0])["result"]["content"]) == 1
    refusal = post(id=2, method="tools/call", params={"name": "delete_everything"})
    assert json.loads(refusal["answers"][0])["error"]["code"] == -32000
    assert refusal["refused"] == ["tools/call delete_everything"]
    assert post(method="ui/notifications/size-changed", params={"height": 300})["height"] == 300
    assert post("f2", **call) == {"answers": [], "closed": True}

    # Another view whose tool takes its time keeps nobody waiting.
    is_called, may_finish = threading.Event(), threading.Event()

    def slow(_name: str, _arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        is_called.set()
        return {"result": {"content": []}} if may_finish.wait(PATIENCE_S) else {}

    frames = watched.panel.frames  # type: ignore[attr-defined]
    channels = frames.channels
    channels["slow"] = FrameChannel(channels["f1"].view, slow)
    waits = watched.begin("frame_message", frame="slow", message=json.dumps({"jsonrpc": "2.0", **call}))
    assert is_called.wait(PATIENCE_S)
    assert "error" not in json.loads(post(**call)["answers"][0])
    may_finish.set()
    assert json.loads(watched.answer(waits)["answers"][0])["result"] == {"content": []}

    watched.ask("frame_gone", frame="f1")
    assert post(**call)["closed"] is True
    lanes = {frames.lane(Form(frame=f"n{at}")) for at in range(100)}
    assert len(lanes) == 8
    assert watched.ask("frame_message", frame=7) == {"failed": True}
    assert watched.ask("frame", turn=turn["turn"], view=7, frame="f3") == {"failed": True}


def test_another_agents_session_is_opened_from_its_row(bench: loom.Workbench, watched: Watched) -> None:
    bench.deploy("echo")
    bench.deploy("calculator")
    first = chosen(watched, "echo", "hello")
    row = watched.ask("page", table="sessions")["rows"][0]
    watched.ask("choose", agent="calculator", qualifier="DEFAULT", session="")
    watched.ask("choose", agent=row["agent"], qualifier="DEFAULT", session=row["session_id"])
    assert (watched.panel.state["agent"], last(watched)["prompt"]) == ("echo", first["prompt"])


def test_what_no_message_can_carry_is_replaced(bench: loom.Workbench, watched: Watched, tmp_path: Path) -> None:
    agent = Path(__file__).parents[1] / "browser" / "odd_agent.py"
    (tmp_path / "agent.py").write_text(agent.read_text())
    bench.deploy(tmp_path, name="odd")
    turn = chosen(watched, "odd", "odd")
    assert "null \x00 bell" in turn["text"]
    view = PanelTurn(id=1, prompt="x")
    for text, data in (("torn \ud83d end", b""), ("", b'{"tool": "torn \\ud800", "arguments": {"\\udc00": 1}}')):
        view.take(Chunk(text=text, offset_ms=0, index=0, data=data))
    assert view.text == "torn \ufffd end"
    json.dumps(view.message(), ensure_ascii=False).encode()
    turn = asked(watched, "odd", json.dumps(""))
    assert turn["notes"][0]["problem"] == "The view ui://odd/view.html has no HTML."
    assert watched.ask("frame", turn=turn["turn"], view=0, frame="f") == {"failed": True}


def test_large_states_and_floods_of_events_are_cut() -> None:
    assert json.loads(tree_json({"a": float("nan"), "b": ["\ud800"]})) == {"a": "nan", "b": ["\ud800"]}
    # A page would round an integer above 2^53.
    assert json.loads(tree_json([2**53, -(2**53), 2**53 + 1, True])) == [2**53, -(2**53), str(2**53 + 1), True]
    assert len(tree_json([{"x": "y" * 9_000}] * 100_000)) < 10_000_000
    deep: Any = "end"
    for _ in range(200):
        deep = [deep]
    assert "nested too deeply" in tree_json(deep)
    turn = PanelTurn(id=1, prompt="x")
    for n in range(3_000):
        data = json.dumps({"type": "CUSTOM", "name": f"n{n}", "value": n}).encode()
        turn.take(Chunk(text="", offset_ms=0, index=n, data=data))
    assert (len(turn.notes), turn.run_message()["events"]) == (500, 3_000)
    assert well_formed("\ud83d\ude00 \ud800") == "😀 \ufffd"


def test_payloads_are_reported_in_words() -> None:
    call = {"mcp": {"params": {"name": "roll", "arguments": {"count": 2}}}}
    assert describe_prompt(json.dumps(call)) == ("View", 'calls roll with {"count": 2}')
    assert describe_prompt('{"approval": {"decision": "approve", "note": ""}}') == ("You", "Approved")
    assert describe_prompt('{"resume": [{"status": "cancelled"}]}') == ("You", "Left unanswered")
    for other in ("plain", "{torn", "[1]", '{"other": 1}'):
        assert describe_prompt(other) == ("You", other)
