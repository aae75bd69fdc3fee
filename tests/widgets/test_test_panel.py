"""The Test panel against a local AgentCore: streams, tools, Stop, failures, long answers, and what it remembers."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

import loom_widgets
import loomlib as loom
from loom_widgets.panels.test.turns import LONGEST_SHOWN, PanelTurn
from loomlib import local
from loomlib.agents import Chunk, note_of

from .conftest import PATIENCE_S, Watched, wait_until

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x07'\"</script>"
_AGENT = """
import asyncio
from datetime import UTC, datetime
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
async def answer(payload, context):
    print("Agent invoked - Start time:", datetime.now(UTC).isoformat(), "Session ID:", context.session_id, flush=True)
    what = payload["prompt"]
    if what == "long":
        for _ in range(50):
            yield "x" * 100_000
    elif what == "wait":
        yield {"tool": "nap"}
        await asyncio.sleep(600)
    elif what == "fail":
        yield "so far"
        raise ValueError("it broke " + payload.get("why", ""))
    else:
        yield {"tool": what, "arguments": {"q": what}, "id": "1"}
        yield {"mood": what, "list": [what] * 3}
        yield what

app.run()
"""


@pytest.fixture(scope="session")
def speaker(bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory) -> loom.Agent:
    folder = tmp_path_factory.mktemp("speaker")
    (folder / "agent.py").write_text(_AGENT)
    return bench.deploy(folder, name="speaker")


@pytest.fixture
def watched(speaker: loom.Agent) -> Iterator[Watched]:
    panel = loom_widgets.test(speaker)
    yield Watched(panel)
    panel.close()


def turns(watched: Watched) -> list[dict[str, object]]:
    return list(watched.ask("hello")["turns"])


def ask(watched: Watched, prompt: str, session: str = "") -> dict[str, object]:
    watched.ask("invoke", agent="speaker", qualifier="DEFAULT", prompt=prompt, session=session)
    return turns(watched)[-1]


def test_an_answer_streams_with_its_tools_and_events_and_is_inspected(watched: Watched) -> None:
    turn = ask(watched, HOSTILE)
    items = [item for message in watched.of("pieces") for item in message["items"]]
    assert [item["kind"] for item in items] == ["tool", "event", "text"]
    assert items[0]["name"] == items[2]["text"] == turn["text"] == HOSTILE
    assert HOSTILE.encode("unicode_escape").decode()[:4] in items[1]["data"]
    assert turn["status"] == "complete"
    wait_until(lambda: watched.of("trace"))
    wait_until(lambda: not watched.panel.busy)
    figures = {figure["name"]: figure for figure in turns(watched)[-1]["figures"]}
    assert figures["cold start"]["value"] > 0
    assert figures["duration"]["value"] > 0
    assert "tokens in" in figures
    lines = watched.ask("page", table="logs")["rows"]
    assert any("Agent invoked" in line["message"] for line in lines)
    assert watched.ask("page", table="sessions")["total"] >= 1
    assert "agent.invoke(" in watched.panel.code
    html = watched.panel._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html
    assert "first byte after" in html
    compile(watched.panel.code, "copied", "exec")


def test_a_chat_continues_in_its_session_and_reopens(speaker: loom.Agent, watched: Watched) -> None:
    first = ask(watched, "one")
    second = ask(watched, "two", session=str(first["session"]))
    assert first["session"] == second["session"] == watched.panel.state["session"]
    watched.ask("choose", agent="speaker", qualifier="DEFAULT", session="")
    assert turns(watched) == []
    assert watched.of("logs")[-1]["count"] == watched.ask("page", table="logs")["total"] == 0
    wait_until(lambda: len(speaker.telemetry.logs(session_id=str(first["session"]))))
    watched.ask("choose", agent="speaker", qualifier="DEFAULT", session=first["session"])
    assert watched.of("logs")[-1]["count"] > 0
    assert [(turn["prompt"], turn["text"]) for turn in turns(watched)] == [("one", "one"), ("two", "two")]


def test_details_that_arrive_late_are_not_shown_in_the_session_opened_meanwhile(
    speaker: loom.Agent, watched: Watched
) -> None:
    first, second = ask(watched, "one"), ask(watched, "two", session=uuid4().hex * 2)
    wait_until(lambda: not watched.panel.busy)
    wait_until(lambda: all(len(speaker.telemetry.logs(session_id=str(turn["session"]))) for turn in (first, second)))
    may_continue = threading.Event()
    watched.panel.listen(lambda message: message["is"] == "details" and may_continue.wait(PATIENCE_S))
    watched.messages.clear()
    watched.ask("choose", agent="speaker", qualifier="DEFAULT", session=first["session"])
    wait_until(lambda: watched.of("details"))
    number = watched.begin("choose", agent="speaker", qualifier="DEFAULT", session=second["session"])
    wait_until(lambda: f"conversation({second['session']!r})" in watched.panel.code)
    may_continue.set()
    watched.answer(number)
    wait_until(lambda: not watched.panel.busy)
    chat = watched.of("chat")[-1]
    since = watched.messages[watched.messages.index(chat) :]
    (shown,) = chat["turns"]
    assert shown["prompt"] == "two"
    assert {message["turn"] for message in since if message["is"] in ("details", "trace")} == {shown["turn"]}
    lines = watched.ask("page", table="logs")["rows"]
    assert any(str(second["session"]) in line["message"] for line in lines)
    assert not any(str(first["session"]) in line["message"] for line in lines)


def test_a_failure_to_read_details_is_not_shown_at_the_agent_chosen_meanwhile(tmp_path: Path) -> None:
    with loom.connect(home=tmp_path) as bench:
        bench.deploy("echo")
        bench.deploy("echo", name="other")
        address = urlsplit(local.find(tmp_path).url)
        local.stop(tmp_path)
        watched = Watched(loom_widgets.test(bench))
        watched.ask("invoke", agent="echo", qualifier="DEFAULT", prompt="one", session="")
        wait_until(lambda: not watched.panel.busy)
        # Until it closes, the socket in the place of the service accepts connections and answers nothing.
        with socket.create_server((address.hostname, address.port)) as service:
            number = watched.begin("open_turn", turn=turns(watched)[-1]["turn"])
            wait_until(lambda: select.select([service], [], [], 0)[0])
            watched.ask("choose", agent="other", qualifier="DEFAULT", session="")
            watched.messages.clear()
        watched.answer(number)
        assert [message["is"] for message in watched.messages if message["is"] in ("details", "trace")] == []
        assert watched.panel.error == {}
        watched.panel.close()


def test_stop_ends_the_stream_and_keeps_what_came(watched: Watched) -> None:
    number = watched.begin("invoke", agent="speaker", qualifier="DEFAULT", prompt="wait", session="")
    wait_until(lambda: watched.of("pieces"))
    assert watched.ask("stop", lane="invoke") == {"stopped": True}
    assert watched.answer(number)["stopped"] is True
    turn = turns(watched)[-1]
    assert (turn["status"], turn["sentence"]) == ("stopped", "Stopped. The part received so far is stored.")
    assert turn["notes"] == [{"kind": "tool", "name": "nap"}]
    assert ask(watched, "still here")["text"] == "still here"


def test_an_agents_failure_is_a_turn_not_an_error_of_the_panel(watched: Watched) -> None:
    turn = ask(watched, "fail")
    assert (turn["status"], turn["text"]) == ("error", "so far")
    assert str(turn["sentence"]).startswith("agent_error: ")
    assert watched.panel.error == {}


def test_an_answer_of_5_mb_is_cut_for_the_page_and_reports_it(watched: Watched) -> None:
    turn = ask(watched, "long")
    assert (len(str(turn["text"])), turn["left_out"]) == (LONGEST_SHOWN, 5_000_000 - LONGEST_SHOWN)
    sent_chars = sum(len(item["text"]) for message in watched.of("pieces") for item in message["items"])
    assert sent_chars == LONGEST_SHOWN
    assert len(watched.panel._repr_html_()) < 30_000


def test_what_cannot_be_asked_is_reported_in_three_parts(watched: Watched) -> None:
    for form in (
        {"prompt": "  "},
        {"prompt": "x", "agent": "nobody"},
        {"prompt": "x", "agent": "speaker", "qualifier": "PROD"},
    ):
        assert watched.ask("invoke", **form) == {"failed": True}
        assert watched.panel.error["what"]
        assert watched.panel.error["try"]
    for wrong in (
        {"prompt": 7},
        {"prompt": "x", "agent": ["speaker"]},
        {"prompt": "x", "agent": "speaker", "session": "short"},
    ):
        assert watched.ask("invoke", **wrong) == {"failed": True}
    assert ask(watched, "well")["text"] == "well"


def test_without_agents_it_opens_and_tells_what_to_do(tmp_path: Path) -> None:
    with loom.connect("aws", region="eu-west-1", home=tmp_path) as bench:
        watched = Watched(loom_widgets.test(bench))
        assert watched.panel.state["agents"] == []
        assert watched.ask("invoke", prompt="x") == {"failed": True}
        assert "bench.deploy" in watched.panel.error["try"]
        watched.panel.close()


def test_notes_are_read_in_the_forms_that_agents_use() -> None:
    def noted(data: bytes) -> tuple[str, str] | None:
        note = note_of(data)
        return None if note is None else (note.kind, str(note.values.get("name", "")))

    assert noted(b'{"tool": "find_order"}') == ("tool", "find_order")
    assert noted(b'{"current_tool_use": {"toolUseId": "t1", "name": "add", "input": {"a": 1}}}') == ("tool", "add")
    start = b'{"event": {"contentBlockStart": {"start": {"toolUse": {"name": "add", "toolUseId": "t1"}}}}}'
    assert noted(start) == ("tool", "add")
    assert noted(b'{"step": 1}') == ("event", "")
    for nothing in (b"", b'"text"', b"{torn", b"[1]", b"null", b"\xff\xfe", b'{"text": "hello"}', b'{"data": "hello"}'):
        assert noted(nothing) is None


def test_a_turn_holds_a_bounded_number_of_notes() -> None:
    turn = PanelTurn(id=1, prompt="x")
    notes = [
        turn.take(Chunk(text="", offset_ms=0, index=n, data=b'{"step": "%s"}' % (b"y" * 9_000))) for n in range(2_000)
    ]
    assert len(turn.notes) == 500
    assert notes[-1] == []
    assert len(str(turn.notes[0]["data"])) < 4_100


def test_a_view_opened_during_an_answer_can_tell_which_pieces_its_message_includes() -> None:
    turn = PanelTurn(id=1, prompt="x")
    pieces = [item for n in range(3) for item in turn.take(Chunk(text=f"w{n} ", offset_ms=0, index=n, data=b""))]
    message = turn.message()
    pieces += turn.take(Chunk(text="", offset_ms=0, index=3, data=b'{"tool": "later"}'))
    assert message["text"] == "w0 w1 w2 "
    assert [item["kind"] for item in pieces if item["number"] > message["taken"]] == ["tool"]
    assert turn.notes == [{"kind": "tool", "name": "later"}]


def test_what_a_message_cuts_of_an_answer_is_counted_beside_what_no_view_gets() -> None:
    turn = PanelTurn(id=1, prompt="x")
    turn.take(Chunk(text="y" * (LONGEST_SHOWN + 50), offset_ms=0, index=0, data=b""))
    short, whole = turn.message(longest=4_000), turn.message()
    assert (short["cut"], len(short["text"])) == (LONGEST_SHOWN - 4_000, 4_000)
    assert (whole["cut"], len(whole["text"])) == (0, LONGEST_SHOWN)
    assert short["left_out"] == whole["left_out"] == turn.message(text=False)["left_out"] == 50


def test_an_agent_that_takes_tokens_is_asked_with_one_that_the_panel_does_not_keep(
    bench: loom.Workbench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    agent = bench.deploy("calculator", name="protected", authorizer="local")
    token = bench.identity.token("alice")
    panel = loom_widgets.test(agent)
    watched = Watched(panel)
    try:
        form = {"agent": "protected", "qualifier": "DEFAULT", "prompt": "What is 2+2?", "session": ""}
        watched.ask("invoke", **form)
        assert "Authorization method mismatch" in str(turns(watched)[-1]["sentence"])
        watched.ask("invoke", **form, bearer=token + "\n")
        assert "4" in str(turns(watched)[-1]["text"])
        assert panel.state["authorizer"] is True
        assert 'at(bearer=os.environ["LOOM_BEARER"])' in panel.code
        compile(panel.code, "copied", "exec")
        wait_until(lambda: not panel.busy)
        refused_turn, answered_turn = turns(watched)[-2:]
        authorization = watched.ask("authorization", turn=answered_turn["turn"])
        assert "alice" in authorization["sentence"]
        assert dict(authorization["facts"])["decision"] == "allow"
        ((title, rules),) = authorization["tables"]
        assert (title, rules["rows"][0][0]) == ("Rules of the runtime's authorizer", "client_id")
        assert f"agent.history.get({answered_turn['invocation']}).authorization()" in panel.code
        compile(panel.code, "copied", "exec")
        authorization = watched.ask("authorization", turn=refused_turn["turn"])
        assert authorization["sentence"].startswith("Refused: Authorization method mismatch")
        assert watched.ask("authorization", turn=99) == {"failed": True}
        messages = repr(watched.messages) + repr(panel.get_state()) + panel._repr_html_() + caplog.text
        assert token.split(".")[2] not in messages
    finally:
        panel.close()
