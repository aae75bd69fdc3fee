"""What traces are judged by, as a notebook reads it: rules, prices, counted tokens; and spans from a plugin."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from loom_command import LoomCommand
from whole_traces import traced

import loomlib as loom
from loomlib.errors import PluginError

PLUGIN = '''
import json

from loomlib.plugins import hookimpl


def unstated(call):
    """An agent whose model call names no tokens."""
    start = int(call.sent_s * 1e9) + 1_000
    asked = [{"role": "user", "parts": [{"type": "text", "content": "What is 2+2, my friend?"}]}]
    answered = [{"role": "assistant", "parts": [{"type": "text", "content": "It is 4."}]}]
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "global.anthropic.claude-sonnet-4-6",
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(answered),
    }
    span = {"traceId": call.trace_id, "startTimeUnixNano": start, "endTimeUnixNano": start + 1_000}
    agent = {"gen_ai.operation.name": "invoke_agent", "session.id": call.session_id}
    yield {**span, "spanId": "a1" * 8, "name": "invoke_agent it", "attributes": agent}
    yield {**span, "spanId": "a2" * 8, "parentSpanId": "a1" * 8, "name": "chat", "attributes": chat}


@hookimpl
def loom_span_sources():
    return {"archive": lambda: unstated}
'''


@pytest.fixture
def plugged(bench: loom.Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[loom.Workbench]:
    """Another workbench on the same service, opened with a plugin installed."""
    (tmp_path / "archived_spans.py").write_text(PLUGIN)
    info = tmp_path / "archived_spans-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: archived-spans\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[loom.plugins]\narchive = archived_spans\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with loom.connect(home=bench.context.settings.home) as opened:
        yield opened
    sys.modules.pop("archived_spans", None)


def test_every_rule_states_what_it_asks_from_where_on_and_what_to_try(bench: loom.Workbench) -> None:
    rules = bench.telemetry.rules().set_index("rule")
    assert {"slow_tool", "serial_tools", "cold_start", "throttling_retries", "growing_history"} <= set(rules.index)
    for column in ("asks", "try", "source"):
        assert all(rules[column])
    assert "cycles 3" in rules.loc["too_many_cycles", "thresholds"]


def test_every_price_has_a_source_and_a_date(bench: loom.Workbench) -> None:
    prices = bench.telemetry.prices().set_index("model")
    sonnet = prices.loc["claude-sonnet-4-6"]
    assert [sonnet[kind] for kind in ("input", "output", "cache_read", "cache_write")] == [3.0, 15.0, 0.3, 3.75]
    assert all(prices["source"])
    assert prices["as_of"].notna().all()


def test_tokens_that_no_span_states_are_counted_when_asked_for(plugged: loom.Workbench) -> None:
    agent = plugged.deploy("echo", name="unstated")
    agent.invoke("hello").raise_for_status()
    traces = agent.telemetry.traces(last=1, source="archive")
    assert traces.states() == {"found": 1}
    assert traces.cost().model.state == "unknown"
    counted = traces.cost(count_missing=True)
    assert counted.model.state == "known"
    assert counted.model.is_estimate
    (line,) = [line for line in traces[0].cost(count_missing=True).lines if line.item == "input tokens"]
    # Four characters a token, and four tokens for the message, as for the calls that the local model answers.
    assert line.quantity == 4 + -(-len("What is 2+2, my friend?") // 4)
    assert "counted" in line.why


def test_a_plugins_span_source_is_asked_by_name_in_python_and_on_the_command_line(
    plugged: loom.Workbench, loom_command: LoomCommand
) -> None:
    agent = plugged.deploy("echo", name="archived")
    inv = agent.invoke("hello").raise_for_status()
    view = inv.trace(source="archive")
    assert [span.name for span in view.trace.spans] == ["invoke_agent it", "chat"]
    assert view.breakdown().total_ms == inv.duration_ms
    arguments = ("--home", str(plugged.context.settings.home), "trace", "archived", "--source", "archive")
    result = loom_command.run(*arguments, environment=os.environ)
    assert (result.returncode, "union of 1 chat span" in result.stdout) == (0, True), result.stdout + result.stderr
    with pytest.raises(PluginError, match=r"There is no span source 'achive'.*Try: archive"):
        inv.trace(source="achive")


def test_the_slowest_sessions_of_agents_that_stream_are_found_by_their_spans(bench: loom.Workbench) -> None:
    agent = bench.deploy("calculator", name="streaming")
    first = agent.invoke("What is 2+2?").raise_for_status()
    second = agent.invoke("What is 3+3?", session_id=first.session_id).raise_for_status()
    other = agent.invoke("What is 4+4?").raise_for_status()
    for inv in (first, second, other):
        traced(inv)
    sessions = agent.telemetry.queries().run("slowest_sessions_by_spans").set_index("session_id")
    assert dict(sessions["invocations"]) == {first.session_id: 2.0, other.session_id: 1.0}
    assert list(sessions["together_ms"]) == sorted(sessions["together_ms"], reverse=True)
    assert (sessions["longest_ms"] <= sessions["together_ms"]).all()
