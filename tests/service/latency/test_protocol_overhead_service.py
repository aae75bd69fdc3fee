"""The ways to ask one agent, on the local service: bytes on the wire, events, and what a refused way is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import loomlib as loom
from loomlib import local
from loomlib.errors import ProtocolError
from loomlib.experiments import Silent


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    home = tmp_path_factory.mktemp("overhead") / ".loom"
    try:
        with loom.connect(home=home) as opened:
            yield opened
    finally:
        local.stop(home)


@pytest.fixture(scope="module")
def http(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy("calculator_protocols", name="ways_http")


def test_sizes_are_counted_at_the_socket_and_a_failing_way_has_none(bench: loom.Workbench, http: loom.Agent) -> None:
    mcp = bench.deploy("mcp_server", name="ways_mcp")  # it has no tool `ask`
    result = loom.ProtocolStudy({"HTTP": http, "MCP": mcp}, repeats=2, warm_ups=1).run(Silent())
    calls = {way: [call for call in result.calls if call.way == way] for way in result.design.ways}
    for call in calls["HTTP JSON"] + calls["HTTP SSE"] + calls["WebSocket"]:
        assert (call.state, call.error_message) == ("done", None)
        assert call.sent is not None
        assert call.received is not None
        assert call.text_bytes == len("2 + 2 = 4.")
        assert 0 < call.first_byte_ms <= call.first_text_ms <= call.duration_ms
    for json, stream, socket in zip(calls["HTTP JSON"], calls["HTTP SSE"], calls["WebSocket"], strict=True):
        # A head alone is larger than a whole exchange of frames; a payload of 38 bytes has a frame head of 6.
        assert json.events == 1
        assert stream.events > 1
        assert socket.events == stream.events + 1
        assert socket.sent < 50
        assert socket.sent + socket.received < json.received < stream.received
        assert json.sent > 600
    assert {call.state for call in calls["MCP stateless"]} == {"failed"}
    assert all(call.duration_ms is None and call.received is None for call in calls["MCP stateless"])
    assert [finding.kind for finding in result.findings()] == ["no answer"]


def test_the_bytes_of_a_call_are_those_of_its_request_alone(http: loom.Agent) -> None:
    first = http.invoke(payload={"prompt": "What is 2 + 2?", "stream": False}).raise_for_status()
    again = http.invoke(payload={"prompt": "What is 2 + 2?", "stream": False}, session_id=first.session_id)
    assert again.record.wire is not None
    assert again.record.wire == first.record.wire
    assert again.record.wire.received > again.record.bytes_received > 0


def test_an_agent_is_asked_only_in_the_ways_of_its_protocol(http: loom.Agent) -> None:
    with pytest.raises(ProtocolError, match="HTTP, not A2A"):
        http.targets.way_caller("A2A message/send", "s" * 33)
    with pytest.raises(ValueError, match="way must be one of HTTP JSON"):
        http.targets.way_caller("gRPC", "s" * 33)
