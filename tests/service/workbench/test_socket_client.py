"""The WebSocket client with a deployed agent."""

from __future__ import annotations

from pathlib import Path

import pytest

import loomlib as loom
from loomlib.errors import LoomError, PeerClosedError, ProtocolError


@pytest.fixture(scope="module")
def talker(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy(Path(__file__).with_name("socket_test_agent.py"), name="talker")


def test_messages_go_both_ways_and_are_stored_with_their_times(bench: loom.Workbench, talker: loom.Agent) -> None:
    with talker.protocols.websocket() as ws:
        ws.send("hello")
        first, second = ws.receive(timeout_s=60), ws.receive(timeout_s=60)
        assert (first.text, second.text) == ("heard hello", "heard hello")
        assert first.after_ms is not None
        assert 0 < first.after_ms <= first.at_ms <= second.at_ms
        ws.send({"n": 1})
        assert ws.receive(timeout_s=60).text == 'heard {"n": 1}'
        assert ws.receive(timeout_s=60).text
        ws.send(b"\x00\x01")
        assert ws.receive(timeout_s=60).data == b"\x01\x00"
        call = ws.close()
    assert (call.ok, call.text.splitlines()[0]) == (True, "heard hello")
    directions = "".join(entry.direction[0] for entry in call.entries)
    assert directions == "sr" + "srr" * 2 + "sr"  # sent, received; the first two are the handshake
    stored = talker.history.get(call.record.id)
    assert (stored.status, stored.session_id) == ("complete", ws.session_id)
    assert len(stored.protocols.transcript()) == len(call.entries)
    assert call.record.ttft_ms is not None


def test_iteration_ends_when_the_agent_closes(talker: loom.Agent) -> None:
    with talker.protocols.websocket() as ws:
        ws.send("one")
        ws.send("bye")
        assert [message.text for message in ws] == ["heard one", "heard one"]
        assert not ws.is_open
        with pytest.raises(PeerClosedError, match="is closed"):
            ws.receive()
        with pytest.raises(PeerClosedError, match="is closed"):
            ws.send("more")
    assert ws.close().ok


def test_an_agent_that_closes_with_an_error_is_a_failed_call(talker: loom.Agent) -> None:
    with talker.protocols.websocket() as ws:
        ws.send("fail")
        assert list(ws) == []
        call = ws.close()
    assert (call.failure, "1011" in (call.error or "")) == ("agent_error", True)


def test_no_message_in_time_and_an_unknown_endpoint_are_plain_errors(talker: loom.Agent) -> None:
    with talker.protocols.websocket() as ws, pytest.raises(ProtocolError, match=r"No message came within 0.05 s"):
        ws.receive(timeout_s=0.05)
    elsewhere = type(talker)(talker.entry, talker.context, qualifier="nowhere")
    with pytest.raises(LoomError, match="Opening a WebSocket"):
        elsewhere.protocols.websocket()
    assert talker.history.last().status == "error"
