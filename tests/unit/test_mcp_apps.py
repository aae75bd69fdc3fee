"""MCP Apps: a view is read, and its frame can call its own tools and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.agents import note_of
from loomlib.agents.mcp_apps import AppView, FrameChannel, frame_document, read_view, tool_call_payload, tool_result_of

EVENT: dict[str, Any] = {
    "mcp_app": {
        "resourceUri": "ui://dice/view.html",
        "mimeType": "text/html;profile=mcp-app",
        "html": "<p>dice</p>",
        "tool": "roll",
        "toolCallId": "1",
        "arguments": {"count": 2},
        "result": {"content": [{"type": "text", "text": "7"}]},
        "tools": ["roll", 5],
    }
}


def view() -> AppView:
    app_view = read_view(EVENT)
    assert app_view is not None
    return app_view


def ask(channel: FrameChannel, method: str, params: Any = None, id: Any = 1) -> Any:
    message = {"jsonrpc": "2.0", "id": id, "method": method} | ({} if params is None else {"params": params})
    (answer,) = channel.receive(message)
    return answer


def unreachable(name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    raise AssertionError(name)


def test_a_view_is_read_from_the_stream() -> None:
    app_view = read_view(json.dumps(EVENT).encode())
    assert app_view is not None
    assert (app_view.tool, app_view.tools, app_view.problem) == ("roll", ("roll",), "")
    note = note_of(json.dumps(EVENT).encode())
    assert note is not None
    assert (note.kind, note.values["view"]) == ("view", app_view)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"resourceUri": "https://evil.example/"}, "no ui://"),
        ({"html": ""}, "has no HTML"),
        ({"html": "x" * 2_000_001}, "is longer"),
        ({"mimeType": "text/html"}, "not text/html;profile=mcp-app"),
        ({"mimeType": None}, "(none)"),
    ],
)
def test_a_view_that_cannot_be_shown_gives_the_reason(change: dict[str, Any], problem: str) -> None:
    app_view = read_view({"mcp_app": {**EVENT["mcp_app"], **change}})
    assert app_view is not None
    assert problem in app_view.problem


@pytest.mark.parametrize("data", [b"", b"text", b"[]", b'{"mcp_app": 5}', b'{"mcp": {}}'])
def test_what_brings_no_view_is_none(data: bytes) -> None:
    assert read_view(data) is None


def test_a_frame_connects_and_receives_its_tools_result_once() -> None:
    channel = FrameChannel(view(), unreachable, theme="dark")
    greeting = ask(channel, "ui/initialize", {"appInfo": {}})["result"]
    assert (greeting["protocolVersion"], greeting["hostContext"]["theme"]) == ("2026-01-26", "dark")
    ready = {"jsonrpc": "2.0", "method": "ui/notifications/initialized"}
    answers = channel.receive(json.dumps(ready))
    assert [message["method"] for message in answers] == ["ui/notifications/tool-input", "ui/notifications/tool-result"]
    assert answers[0]["params"] == {"arguments": {"count": 2}}
    assert channel.receive(ready) == []
    size = {"jsonrpc": "2.0", "method": "ui/notifications/size-changed", "params": {"height": 120.5}}
    assert channel.receive(size) == []
    assert channel.height_px == 120
    assert ask(channel, "ping")["result"] == {}


def test_a_frame_calls_its_own_tools_only_and_not_for_ever() -> None:
    calls: list[tuple[str, dict[str, Any]]] = []

    def call_tool(name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        calls.append((name, dict(arguments)))
        return {"result": {"content": []}}

    channel = FrameChannel(view(), call_tool, max_calls=1)
    assert ask(channel, "tools/call", {"name": "delete_all", "arguments": {}})["error"]["code"] == -32000
    assert ask(channel, "tools/call", {"name": "roll", "arguments": {"count": 1}})["result"] == {"content": []}
    assert "limit of tool calls" in ask(channel, "tools/call", {"name": "roll"})["error"]["message"]
    assert calls == [("roll", {"count": 1})]
    assert channel.refused == ["tools/call delete_all", "tools/call roll"]


@pytest.mark.parametrize(
    "method",
    ["ui/open-link", "ui/message", "ui/request-display-mode", "resources/read", "sampling/createMessage", "tools/list",
     "initialize", "ui/update-model-context", "ui/download-file"],
)  # fmt: skip
def test_everything_else_is_refused(method: str) -> None:
    channel = FrameChannel(view(), unreachable)
    assert ask(channel, method, {"url": "https://evil.example/"})["error"]["code"] == -32601
    assert channel.refused == [method]


def test_a_call_that_fails_is_an_answer_without_what_it_said() -> None:
    def call_tool(name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        raise RuntimeError("a secret")

    error = ask(FrameChannel(view(), call_tool), "tools/call", {"name": "roll"})["error"]
    assert error == {"code": -32603, "message": "The call failed (RuntimeError)"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["jsonrpc", "id", "method", "params", "result", "name"]), inner, max_size=5
            )
        ),
        max_leaves=8,
    )
)
def test_whatever_a_frame_posts_is_answered_in_json_rpc_or_not_at_all(message: Any) -> None:
    for answer in FrameChannel(view(), unreachable).receive(message):
        assert answer["jsonrpc"] == "2.0"
        assert "error" in answer or "result" in answer
        json.dumps(answer)


def test_an_answer_that_is_none_is_an_error() -> None:
    assert tool_result_of(b'{"mcp": {"result": {"content": []}}}') == {"result": {"content": []}}
    assert tool_result_of(b'{"mcp": {"error": {"code": 5, "message": "no"}}}')["error"] == {"code": 5, "message": "no"}
    assert "not in the form" in tool_result_of(b"hello")["error"]["message"]
    assert tool_call_payload("roll", {})["mcp"]["method"] == "tools/call"


def test_a_page_cannot_leave_its_place_in_the_document() -> None:
    document = frame_document('"></iframe><script>alert(1)</script>', title='"><script>')
    assert document.count("<script>") == 1
    assert document.count("<iframe") == 1
    assert "allow-same-origin" not in document


def test_a_tools_answer_that_is_too_long_for_a_page_is_replaced_by_a_notice() -> None:
    long = {"content": [{"type": "text", "text": "x" * 2_000_001}]}
    channel = FrameChannel(
        replace(view(), result=long, arguments={"a": "x" * 2_000_001}), lambda _name, _with: {"result": long}
    )
    response = ask(channel, "tools/call", {"name": "roll", "arguments": {}})["result"]
    arguments, result = channel.receive({"jsonrpc": "2.0", "method": "ui/notifications/initialized"})
    for tool_result in (response, result["params"]):
        assert tool_result["isError"] is True
        assert "2\u202f000\u202f000 at most" in tool_result["content"][0]["text"]
    assert arguments["params"] == {"arguments": {}}
