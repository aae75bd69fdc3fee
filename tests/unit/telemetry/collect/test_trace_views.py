"""What a notebook shows of a trace: adds up, states its caveats, and keeps a stranger's text a text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from log_groups import span_record

from loomlib.reports.session_story import SessionStory
from loomlib.store import InvocationRow
from loomlib.telemetry.diagnosis import client_side
from loomlib.telemetry.layers import CANNOT_SEE, Layer
from loomlib.telemetry.trace_lookup import TraceRequest, TraceResult, trace_from
from loomlib.telemetry.traces import ClientTiming
from loomlib.workbench.telemetry_views import LayersView
from loomlib.workbench.trace_finder import TracedInvocation
from loomlib.workbench.trace_page import SHOWN_BARS
from loomlib.workbench.trace_view import TraceView
from loomlib.workbench.traces import Traces

TRACE = "0af7651916cd43dd8448eb211c80319c"
SENT_S = 1_795_302_200.0
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'><a href='javascript:alert(3)'>\x1b[2J\n\x00"


def row(**more: Any) -> InvocationRow:
    values: dict[str, Any] = dict.fromkeys(InvocationRow.__dataclass_fields__)
    values |= {
        "id": 7,
        "agent_id": 1,
        "agent_arn": "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/looker-AbC123dEf4",
        "agent_name": "looker",
        "session_id": "loom-0123456789abcdef0123456789abcdef",
        "qualifier": "DEFAULT",
        "client_invoke_time": SENT_S,
        "client_done_time": SENT_S + 1.0,
        "client_duration_ms": 1000.0,
        "ttft_ms": 400.0,
        "status": "complete",
        "created_at": datetime.fromtimestamp(SENT_S, UTC),
        "chunk_offsets_ms": (400.0, 1000.0),
        "bytes_received": 12,
        "trace_id": TRACE,
        "labels": ("local AgentCore",),
    }
    return InvocationRow(**values | more)


def view(*records: dict[str, Any], state: str = "found", remedy: str = "", **more: Any) -> TraceView:
    stored_row = row(**more)
    texts = tuple(json.dumps(record) for record in records)
    trace, unreadable = trace_from(texts, trace_id=TRACE)
    result = TraceResult(
        request=TraceRequest.of(stored_row), state=state, trace=trace, records=texts, unreadable=unreadable, attempts=1
    )
    invocation = TracedInvocation(
        row=stored_row, collected=result, client=client_side(stored_row, is_cold=True, same_clock=True)
    )
    return TraceView(invocation, agent_name="looker", labels=stored_row.labels, remedy=remedy)


def request(tool: str = "calculator") -> list[dict[str, Any]]:
    at = SENT_S
    return [
        span_record(TRACE, "00000000000000a1", None, "server", at + 0.3, at + 0.99),
        span_record(TRACE, "00000000000000a2", "00000000000000a1", "invoke_agent", at + 0.3, at + 0.98),
        span_record(TRACE, "00000000000000a3", "00000000000000a2", "chat", at + 0.31, at + 0.71),
        {
            **span_record(TRACE, "00000000000000a4", "00000000000000a2", "execute_tool", at + 0.72, at + 0.92),
            "name": f"execute_tool {tool}",
        },
    ]


class Tags(HTMLParser):
    """Every element of a page, and every attribute."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}


def assert_inert(page: str) -> None:
    tags = Tags(page)
    assert not tags.elements & {"script", "img", "a", "iframe", "link", "object", "form", "input"}
    assert not {name for name in tags.attributes if name.startswith("on") or name in ("href", "src")}
    assert "\x1b" not in page
    assert "\x00" not in page


def test_the_page_of_a_trace_adds_up_and_needs_no_network() -> None:
    trace_view = view(*request())
    page = trace_view._repr_html_().replace("\u00a0", " ")
    assert_inert(page)
    assert "http" not in page
    assert "Of 1 s: model 40 %, cold start 30 %, tools 20 %" in page
    assert sum(part.duration_ns for part in trace_view.breakdown().parts) == 1_000_000_000


def test_hostile_names_stay_text_in_every_display() -> None:
    trace_view = view(*request(HOSTILE))
    assert_inert(trace_view._repr_html_())
    assert "&lt;img src=x onerror=alert(1)&gt;" in trace_view._repr_html_()
    figure = trace_view.figure().to_json()
    assert "<img" not in figure
    assert "<script" not in figure
    assert "<a href" not in figure
    assert "\x1b" not in str(trace_view)
    assert_inert(Traces([trace_view], agent_name="<img src=x onerror=alert(1)>")._repr_html_())
    assert trace_view.tool_calls()["tool"][0] == HOSTILE


def test_the_layers_of_a_hostile_agent_are_text_too() -> None:
    layers = [Layer(name=name, source=HOSTILE, state="refused", says=HOSTILE) for name in CANNOT_SEE]
    page = LayersView(layers, title=HOSTILE)._repr_html_()
    tags = Tags(page)
    assert not tags.elements & {"script", "img", "a"}


def test_plain_text_is_stable() -> None:
    trace_view = view(*request())
    assert repr(trace_view) == (
        "<Trace of looker: found, 4 spans. Of 1 s: model 40 %, cold start 30 %, tools 20 %, "
        "agent overhead 9 %, service and network 1 %.>"
    )
    assert str(trace_view).splitlines()[0] == (
        "looker · DEFAULT · session loom-0123456789abcdef0123456789abcdef · local AgentCore"
    )
    assert len(str(trace_view).splitlines()) == 10


@pytest.mark.parametrize("state", ["not_found_yet", "exports_nothing", "no_group", "not_reached"])
def test_without_spans_the_whole_is_unknown_and_the_state_is_reported(state: str) -> None:
    trace_view = view(state=state, remedy="Switch it on.")
    assert trace_view.breakdown()["unknown"].duration_ns == 1_000_000_000
    assert len(trace_view.sentences()) == (3 if state in ("exports_nothing", "no_group") else 2)
    assert ("Switch it on." in str(trace_view)) == (state in ("exports_nothing", "no_group"))
    assert_inert(trace_view._repr_html_())
    assert trace_view.figure().data
    assert trace_view.spans().empty
    assert trace_view.model_calls().empty


def test_a_call_whose_end_nobody_saw_is_not_waited_for_for_ever() -> None:
    lost = TraceRequest.of(row(client_done_time=None, client_duration_ms=None, status="error", failure="interrupted"))
    assert lost.done_s == SENT_S
    running = TraceRequest.of(row(client_done_time=None, client_duration_ms=None, status="streaming"))
    assert running.done_s is None


def test_a_value_that_was_cut_is_reported() -> None:
    records = request()
    records[3]["attributes"]["loom.cut_from_bytes"] = 10_000_000
    trace_view = view(*records)
    assert "1 record with truncated values" in str(trace_view)
    assert "values_cut" in trace_view.breakdown().marks
    assert list(trace_view.spans()["marks"]).count("values_cut") == 1
    assert "truncated values" in trace_view._repr_html_()
    assert "partial" not in trace_view.breakdown().marks


def test_an_invocation_that_never_ended_has_the_time_of_its_spans() -> None:
    trace_view = view(*request(), client_duration_ms=None, client_done_time=None, status="pending")
    assert trace_view.client is None
    assert trace_view.breakdown().total_ns == pytest.approx(690_000_000, abs=1_000)


def test_a_long_waterfall_is_folded_and_the_table_has_it_all() -> None:
    records = request()
    for number in range(SHOWN_BARS + 50):
        records.append(
            span_record(TRACE, f"{number + 4096:016x}", "00000000000000a2", "other", SENT_S + 0.4, SENT_S + 0.5)
        )
    trace_view = view(*records)
    assert "54 more spans; all of them are in .spans()" in trace_view._repr_html_()
    assert len(trace_view.spans()) == SHOWN_BARS + 54


def test_an_invocation_that_was_never_sent_has_no_time_after_the_first_of_its_session() -> None:
    rows = [
        row(id=place, client_invoke_time=sent, failure=None if sent else "transport")
        for place, sent in enumerate((None, SENT_S, SENT_S + 5, None), 1)
    ]
    views = [view(*(request() if stored.client_invoke_time else ()), id=stored.id) for stored in rows]
    story = SessionStory(session_id=rows[0].session_id, rows=rows, views=views)
    assert story.invocations().index.tolist() == ["–", "0 ms", "5 s", "–"]


def test_json_of_a_trace_is_json() -> None:
    described = json.loads(json.dumps(view(*request(HOSTILE)).to_dict()))
    assert described["state"] == "found"
    assert sum(part["ms"] for part in described["parts"]) == pytest.approx(1000.0)


def test_many_traces_show_their_shares_together() -> None:
    traces = Traces([view(*request()), view(state="exports_nothing")], agent_name="looker")
    assert traces.sentence().startswith("1 of 2 invocations have spans. Of 1 s in total: model 40 %")
    assert sum(traces.shares().values()) == pytest.approx(1.0)
    frame = traces.parts()
    parts = [name for name in frame.columns if name.endswith("_ms") and name != "total_ms"]
    assert frame[parts].sum(axis=1).tolist() == pytest.approx(frame["total_ms"].tolist())
    assert "agent.invoke" in Traces([], agent_name="looker").sentence()
    assert_inert(Traces([], agent_name="looker")._repr_html_())


def test_many_traces_are_drawn_as_one_bar_each_that_adds_up() -> None:
    many = Traces([view(*request(HOSTILE)), view(*request())], agent_name="<b>looker</b>")
    figure = many.figure()
    assert [sum(lengths) for lengths in zip(*(bar.x for bar in figure.data), strict=True)] == [1000.0, 1000.0]
    assert "<b>looker" not in figure.layout.title.text


def test_the_clients_timing_is_the_records() -> None:
    trace_view = view(*request(), agent_start_time=SENT_S + 0.25)
    assert trace_view.client == ClientTiming(
        sent_ns=1_795_302_200_000_000_000,
        done_ns=1_795_302_201_000_000_000,
        first_byte_ns=1_795_302_200_400_000_000,
        agent_start_ns=1_795_302_200_250_000_000,
        is_cold=True,
        same_clock=True,
    )


def slow_tool(name: str) -> list[dict[str, Any]]:
    records = request(name)
    records[0]["endTimeUnixNano"] = records[1]["endTimeUnixNano"] = int((SENT_S + 5.9) * 1e9)
    records[3]["endTimeUnixNano"] = int((SENT_S + 5.8) * 1e9)
    records[3]["attributes"]["gen_ai.tool.name"] = name
    return records


def test_a_finding_names_a_hostile_tool_as_text() -> None:
    trace_view = view(*slow_tool(HOSTILE), client_duration_ms=6000.0)
    first = trace_view.findings().first
    assert first is not None
    assert first.rule == "slow_tool"
    assert_inert(trace_view._repr_html_())
    assert "findings (" in trace_view._repr_html_().lower()
    assert trace_view.causes()["rule"][0] == "slow_tool"


def test_cost_is_unknown_where_a_price_or_a_quantity_is() -> None:
    records = request()
    usage = {"gen_ai.usage.input_tokens": 1_000_000, "gen_ai.usage.output_tokens": 0}
    records[2]["attributes"] |= {"gen_ai.request.model": "of-nobody.model-v1:0", **usage}
    trace_view = view(*records)
    assert trace_view.cost().model.state == "unknown"
    assert trace_view.cost().runtime.state == "unknown"
    assert "cost: model unknown" in trace_view._repr_html_()
    total = Traces([trace_view, trace_view], agent_name="looker").cost()
    assert (total.invocations, total.amount.value) == (2, None)


def test_a_scripted_models_tokens_cost_nothing_and_the_page_states_it() -> None:
    trace_view = view(*request(), labels=("local AgentCore", "model: scripted (simulated, profile instant)"))
    assert trace_view.cost().is_simulated
    assert "simulated tokens, no charge" in trace_view._repr_html_()


TABLES = ("spans", "parts", "steps", "causes", "costs", "model_calls", "tool_calls", "cycles")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_rows_has_the_columns_of_one_with_rows(name: str) -> None:
    records = slow_tool("calculator")
    records.append(span_record(TRACE, "00000000000000a5", "00000000000000a2", "execute_event_loop_cycle", 1.0, 2.0))
    full, empty = view(*records, client_duration_ms=6000.0), view(state="exports_nothing")
    columns = list(getattr(full, name)().columns)
    assert len(getattr(full, name)()) > 0
    assert list(getattr(empty, name)().columns) == columns
    combined_table = getattr(Traces([empty], agent_name="looker"), name, None)
    if combined_table is not None and name not in ("parts", "costs", "causes"):
        assert set(combined_table().columns) == {"invocation_id", "session_id", *columns}
