"""`inv.trace()` against the local AgentCore: real agents, real spans, the client's own clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from waiting import wait_until
from whole_traces import traced

import loomlib as loom


def total_ns(inv: loom.Invocation) -> int:
    assert inv.duration_ms is not None
    return round(inv.duration_ms * 1e6)


def test_an_invocations_parts_add_up_to_the_clients_duration_exactly(calculator: loom.Agent) -> None:
    inv = calculator.invoke("What is 2+2?").raise_for_status()
    view = traced(inv).trace()
    breakdown = view.breakdown()
    assert sum(part.duration_ns for part in breakdown.parts) == breakdown.total_ns == total_ns(inv)
    assert all(breakdown[name].duration_ns > 0 for name in ("cold_start", "agent", "model", "tools"))
    assert view.trace.trace_id == inv.record.trace_id
    assert view.trajectory().tool_names == ("calculator",)
    assert view.trajectory().final_answer == inv.text


def test_a_second_call_of_a_session_has_its_own_spans_and_no_cold_start(calculator: loom.Agent) -> None:
    first = calculator.invoke("What is 2+2?")
    second = calculator.invoke("What is 3*7?", session_id=first.session_id).raise_for_status()
    view = traced(second).trace()
    breakdown = view.breakdown()
    assert view.trace.trace_id == second.record.trace_id != first.record.trace_id
    assert breakdown["cold_start"].duration_ns == 0
    assert breakdown["model"].duration_ns > 0
    assert sum(part.duration_ns for part in breakdown.parts) == total_ns(second)


def test_a_whole_trace_is_not_fetched_twice(calculator: loom.Agent) -> None:
    inv = calculator.invoke("What is 1+1?")
    first, lines = traced(inv).trace(), []
    again = inv.trace(progress=lines.append)
    assert lines == []
    assert again.breakdown() == first.breakdown()
    assert again.to_dict() == first.to_dict()
    stored_trace = calculator.context.store.traces.get(inv.record.id)
    assert stored_trace is not None
    assert (stored_trace.state, stored_trace.is_complete, stored_trace.span_count) == (
        "found",
        True,
        len(first.trace.spans),
    )


def test_an_agent_that_exports_nothing_reports_it_and_how_to_switch_it_on(echo: loom.Agent) -> None:
    inv = echo.invoke("hello").raise_for_status()
    # On a busy machine, the notice that the process creates no spans can arrive after a lookup has ended.
    view = wait_until(lambda: view if (view := inv.trace()).state not in ("undelivered", "not_found_yet") else None)
    assert view.state == "exports_nothing"
    assert any("OpenTelemetry" in line for line in view.sentences())
    breakdown = view.breakdown()
    assert sum(part.duration_ns for part in breakdown.parts) == total_ns(inv)
    assert breakdown["model"].certainty == "missing"


def test_delayed_logs_are_waited_for_and_the_wait_is_shown(open_bench: Callable[..., loom.Workbench]) -> None:
    agent = open_bench(log_delay_s=1.5).deploy("calculator")

    def awaited() -> list[str]:
        """The progress of a lookup that began before the spans were visible and found all of them."""
        lines: list[str] = []
        view = agent.invoke("What is 2+2?").trace(progress=lines.append)
        return lines if view.state == "found" and lines[0].startswith("0 spans so far") else []

    lines = wait_until(awaited, what="a lookup that has to wait and finds the spans")
    assert "of at most 6 s" in lines[0]


def test_many_traces_come_together_and_each_adds_up(calculator: loom.Agent) -> None:
    calls = [calculator.invoke(f"What is {number}+1?") for number in range(3)]
    calls.append(calculator.invoke("What is 9*9?", session_id=calls[0].session_id))
    traces = wait_until(
        lambda: found if (found := calculator.telemetry.traces(last=4)).states() == {"found": 4} else None,
        what="four whole traces",
    )
    assert [view.invocation_id for view in traces] == [inv.record.id for inv in reversed(calls)]
    for view, inv in zip(traces, reversed(calls), strict=True):
        assert view.trace.trace_id == inv.record.trace_id
        assert sum(part.duration_ns for part in view.breakdown().parts) == total_ns(inv)
    assert list(traces.parts()["cold"]) == [False, True, True, True]
    assert set(traces.tool_calls()["tool"]) == {"calculator"}
    lines: list[str] = []
    assert calculator.telemetry.traces(last=4, progress=lines.append).states() == {"found": 4}
    assert lines == []


def test_the_ready_queries_run_locally(calculator: loom.Agent, echo: loom.Agent) -> None:
    traced(calculator.invoke("What is 2+2?"))
    echo.invoke("hello")
    queries = calculator.telemetry.queries()
    for name in queries.table()["name"]:
        queries.run(name)
    tools = queries.run("tool_frequency")
    assert list(tools["tool"]) == ["calculator"]
    assert tools["calls"][0] >= 1
    spans = queries.run("span_percentiles").set_index("name")
    assert spans.loc["POST /invocations", "p50_ms"] > 0
    assert "runtime_id" not in queries.text("tool_frequency")
    assert echo.telemetry.queries().run("tool_frequency").empty


def test_a_refused_call_has_no_trace_and_gives_the_reason(calculator: loom.Agent) -> None:
    inv = calculator.invoke("hello", qualifier="nowhere")
    assert inv.failure == "rejected"
    view = inv.trace()
    assert view.state == "not_reached"
    assert "refused before it reached the agent" in str(view)


def test_six_layers_stand_side_by_side_each_with_what_it_cannot_see(calculator: loom.Agent) -> None:
    inv = calculator.invoke("What is 6*7?")
    traced(inv)
    layers = inv.telemetry.layers()
    assert [layer.name for layer in layers.layers] == [
        "client",
        "runtime logs",
        "spans and messages",
        "embedded metrics",
        "service metrics",
        "Logs Insights",
    ]
    states = {layer.name: layer.state for layer in layers.layers}
    assert (
        states["client"] == states["runtime logs"] == states["spans and messages"] == states["Logs Insights"] == "found"
    )
    assert (states["service metrics"], layers["service metrics"].says.startswith("None yet")) == ("empty", True)
    assert dict(layers["client"].facts)["duration_ms"] == inv.duration_ms
    assert all(layer.cannot_see for layer in layers.layers)
    assert len(layers.table()) == 6


def test_processes_live_from_their_first_line_to_their_last(echo: loom.Agent) -> None:
    first = echo.invoke("hello")
    echo.invoke("again", session_id=first.session_id)
    other = echo.invoke("hello")
    wait_until(lambda: other.session_id in set(echo.telemetry.processes().table()["session_id"]))
    lives = echo.telemetry.processes().table().set_index("session_id")
    assert lives.loc[first.session_id, "invocations"] == 2
    assert lives.loc[other.session_id, "invocations"] == 1
    assert "were served by a warm process" in echo.telemetry.processes().sentence()


def test_spans_and_durations_are_found_when_the_clock_is_set_by_days_during_a_call(bench: loom.Workbench) -> None:
    agent = bench.deploy(Path(__file__).parent / "set_clock", name="set_clock")
    session_id = None
    # Forwards during the first call, so a day ahead when the second begins, and backwards during that one.
    for set_by_s in (86_400, -172_800):
        inv = agent.invoke(str(set_by_s), session_id=session_id).raise_for_status()
        session_id = inv.session_id
        view = traced(inv).trace()
        assert {span.name for span in view.trace.spans} >= {"POST /invocations", "execute_tool wait"}
        breakdown = view.breakdown()
        assert sum(part.duration_ns for part in breakdown.parts) == breakdown.total_ns == total_ns(inv)
        assert 100_000_000 <= breakdown["tools"].duration_ns < breakdown.total_ns
        tool = next(span for span in view.trace.spans if span.name == "execute_tool wait")
        assert tool.duration_ns == breakdown["tools"].duration_ns
