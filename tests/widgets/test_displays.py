"""Loom's objects in a notebook: a view beside their own HTML and text, held only while somebody looks."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from IPython.core.events import EventManager, available_events
from IPython.core.formatters import DisplayFormatter
from ipywidgets import widget_serialization
from whole_traces import traced

import loom_widgets
import loomlib as loom
from loom_widgets.displays.display import Display
from loom_widgets.displays.frame import FEW_ROWS, FrameDisplay
from loom_widgets.displays.registering import VIEWS
from loom_widgets.kit.panel import WIDGET_VIEW, script_of
from loomlib.evals import EvalCase, EvalSet, Turn
from loomlib.latency import Measurement, Scenario, StudyResult
from loomlib.latency.design import StudyDesign
from loomlib.latency.floor import Floor
from loomlib.presentation.text_frame import TextFrame
from loomlib.store import InvocationRow
from loomlib.telemetry.diagnosis import client_side
from loomlib.telemetry.trace_lookup import TraceRequest, TraceResult
from loomlib.telemetry.traces import Span, Trace
from loomlib.telemetry.traces.span import SpanEvent
from loomlib.workbench.trace_finder import TracedInvocation
from loomlib.workbench.trace_view import TraceView

from .conftest import Watched, wait_until

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x00\ud7ff\ud800'\"`${x}</script>"
LARGEST_SCRIPT = 60_000


class Notebook:
    """What a kernel's shell is to a display: formatters and events; the cells of one notebook."""

    def __init__(self) -> None:
        self.display_formatter = DisplayFormatter()
        self.events = EventManager(cast("Any", self), available_events)
        self.shown: list[Display] = []

    def run(self, cell: str, value: Any) -> dict[str, Any]:
        """What a cell puts out that ends with this value."""
        self.events.trigger("pre_run_cell", SimpleNamespace(cell_id=cell))
        bundle = cast("dict[str, Any]", self.display_formatter.format(value)[0])
        if WIDGET_VIEW in bundle:
            self.shown.append(display_of(bundle))
        return bundle

    def view(self, cell: str, value: Any) -> Watched:
        """The view in it, opened by one page."""
        watched = Watched(display_of(self.run(cell, value)))
        watched.panel.receive({"do": "seen", "with": {"view": "a page"}})
        return watched


def display_of(bundle: dict[str, Any]) -> Display:
    return widget_serialization["from_json"](f"IPY_MODEL_{bundle[WIDGET_VIEW]['model_id']}", None)


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    opened = Notebook()
    loom_widgets.enable(cast("Any", opened))
    yield opened
    loom_widgets.disable()
    for display in opened.shown:
        display.close()


def trace_of(count: int, name: str = "step") -> TraceView:
    """A trace of so many spans, without a service."""
    sent_s = 1_795_302_200.0
    values: dict[str, Any] = dict.fromkeys(InvocationRow.__dataclass_fields__)
    values |= {
        "id": 7, "agent_id": 1, "agent_name": "looker", "session_id": "s" * 36, "qualifier": "DEFAULT",
        "agent_arn": "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/looker-AbC123dEf4",
        "client_invoke_time": sent_s, "client_done_time": sent_s + 1.0, "client_duration_ms": 1000.0, "ttft_ms": 400.0,
        "status": "complete", "created_at": datetime.fromtimestamp(sent_s, UTC), "chunk_offsets_ms": (),
        "bytes_received": 2, "trace_id": "t", "labels": ("local AgentCore",),
    }  # fmt: skip
    stored = InvocationRow(**values)
    start = int(sent_s * 1e9)
    spans = [
        Span(
            trace_id="t", span_id=f"{n:016x}", parent_id=f"{0:016x}" if n else None, name=f"{name} {n}",
            start_ns=start + n * 1_000, end_ns=start + 900_000_000 - n, attributes={"said": name, "n": n},
            events=(SpanEvent(name=name, time_ns=start + n * 2_000, attributes={"why": name}),),
            status="error" if n == 3 else "ok",
        )
        for n in range(count)
    ]  # fmt: skip
    collected = TraceResult(request=TraceRequest.of(stored), state="found", trace=Trace.one(spans), attempts=1)
    client = client_side(stored, is_cold=True, same_clock=True)
    invocation = TracedInvocation(row=stored, collected=collected, client=client)
    return TraceView(invocation, agent_name="looker", labels=stored.labels, remedy="")


def frame_of(count: int) -> TextFrame:
    return TextFrame(
        {
            "title": [f"row {n}" if n else HOSTILE for n in range(count)],
            "took_ms": [float(n) if n != 2 else None for n in range(count)],
            "mixed": [n if n % 2 else f"text {n}" for n in range(count)],
            "more": [{"a": n} for n in range(count)],
            "at": pd.to_datetime(range(count), unit="s", utc=True),
        }
    )


@pytest.mark.parametrize("named", VIEWS)
def test_every_class_that_has_a_view_is_there_under_its_name_and_its_script_is_small(named: tuple[str, str]) -> None:
    module, name = named
    assert getattr(import_module(module), name).__module__ == module
    view, display = VIEWS[named]
    whole = script_of(getattr(import_module(f"loom_widgets.displays.{view}"), display))
    assert len(whole.encode()) <= LARGEST_SCRIPT
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert forbidden not in whole


def test_enabling_imports_nothing_that_nobody_has_shown() -> None:
    code = (
        "import sys, loom_widgets\n"
        "loom_widgets.enable()\n"
        "assert 'IPython' not in sys.modules\n"
        "from types import SimpleNamespace\n"
        "from IPython.core.events import EventManager, available_events\n"
        "from IPython.core.formatters import DisplayFormatter\n"
        "shell = SimpleNamespace(display_formatter=DisplayFormatter())\n"
        "shell.events = EventManager(shell, available_events)\n"
        "loom_widgets.enable(shell)\n"
        "shell.display_formatter.format([1])\n"
        "print([name for name in ('anywidget', 'ipywidgets', 'loomlib.workbench', 'pandas') if name in sys.modules])"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert completed.stdout.strip() == "[]"


def test_an_object_goes_out_with_a_view_its_html_and_its_text_in_one_bundle(notebook: Notebook) -> None:
    for value in (trace_of(4), frame_of(FEW_ROWS + 1)):
        bundle = notebook.run("a", value)
        assert bundle["text/html"] == value._repr_html_()
        assert bundle["text/plain"] == repr(value)
        assert display_of(bundle).state
    few = notebook.run("b", frame_of(FEW_ROWS))
    assert WIDGET_VIEW not in few
    assert "text/html" in few


def test_a_terminal_gets_the_text_alone(notebook: Notebook) -> None:
    notebook.display_formatter.active_types = ["text/plain"]
    assert set(notebook.run("a", trace_of(4))) == {"text/plain"}


def test_disabling_brings_back_what_was_there_before() -> None:
    notebook = Notebook()
    formatter = notebook.display_formatter.mimebundle_formatter
    formatter.for_type_by_name("loomlib.workbench.trace_view", "TraceView", lambda _value: {"text/own": "mine"})
    before = notebook.run("a", trace_of(4))
    plain = notebook.run("a", frame_of(20))
    for _ in range(2):
        loom_widgets.enable(cast("Any", notebook))
        loom_widgets.enable(cast("Any", notebook))
        assert WIDGET_VIEW in notebook.run("a", trace_of(4))
        assert WIDGET_VIEW in notebook.run("b", frame_of(20))
        loom_widgets.disable()
        assert notebook.run("c", trace_of(4)) == before
        assert notebook.run("d", frame_of(20)) == plain
    loom_widgets.disable()
    assert before["text/own"] == "mine"


def test_a_view_that_cannot_be_made_costs_nobody_the_static_html(
    notebook: Notebook, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(TextFrame):
        @property
        def attrs(self) -> Any:  # type: ignore[override]
            raise OSError("password=hunter2")

    bundle = notebook.run("a", Broken({"n": range(20)}))
    assert WIDGET_VIEW not in bundle
    assert "text/html" in bundle
    assert "hunter2" not in caplog.text
    assert "OSError" in caplog.text


def test_a_strangers_text_reaches_the_page_as_text(notebook: Notebook) -> None:
    for value in (trace_of(4, HOSTILE), frame_of(20)):
        bundle = notebook.run("a", value)
        assert "<img" not in bundle["text/html"]
        display = display_of(bundle)
        json.dumps(display.state, allow_nan=False).encode()
        str(display.state).encode()
    watched = notebook.view("b", trace_of(4, HOSTILE))
    span = watched.ask("span", id=f"{3:016x}")
    assert span["failed"]
    assert span["name"].startswith("<img src=x")
    assert [name for name, _ in span["attributes"]] == ["said", "n"]
    json.dumps(span, allow_nan=False).encode()
    assert watched.ask("span", id=HOSTILE) == {"failed": True}
    assert watched.panel.error["what"] == "There is no such span"


def test_a_cell_that_runs_again_closes_the_views_of_its_last_run_only(notebook: Notebook) -> None:
    first, other = display_of(notebook.run("a", trace_of(4))), display_of(notebook.run("b", trace_of(4)))
    second = display_of(notebook.run("a", trace_of(5)))
    assert first.comm is None
    assert None not in (other.comm, second.comm)


def test_an_unwatched_display_is_released_and_comes_back_while_its_object_exists(notebook: Notebook) -> None:
    trace = trace_of(300)
    watched = notebook.view("a", trace)
    watched.panel.receive({"do": "seen", "with": {"view": "second page"}})
    watched.panel.receive({"do": "unseen", "with": {"view": "a page"}})
    assert watched.ask("page", table="bars", **{"from": 200})["total"] == 300
    watched.panel.receive({"do": "unseen", "with": {"view": "second page"}})
    assert watched.ask("page", table="bars")["total"] == 0
    watched.panel.receive({"do": "seen", "with": {"view": "third page"}})
    assert watched.ask("page", table="bars")["total"] == 300
    watched.panel.receive({"do": "unseen", "with": {"view": "third page"}})
    trace_ref = weakref.ref(trace)
    del trace
    wait_until(lambda: (gc.collect(), trace_ref())[1] is None, "the release of the trace")
    watched.panel.receive({"do": "seen", "with": {"view": "fourth page"}})
    assert watched.ask("span", id=f"{3:016x}") == {"failed": True}
    assert "run the cell again" in watched.panel.error["try"]
    wait_until(lambda: not any(thread.name.startswith("loom-TraceDisplay") for thread in threading.enumerate()))


def test_a_long_trace_is_paged_and_its_spans_sort_where_they_are(notebook: Notebook) -> None:
    watched = notebook.view("a", trace_of(5_000))
    state = watched.panel.state["trace"]
    assert (len(state["bars"]["rows"]), state["bars"]["total"], state["spans"]["total"]) == (100, 5_000, 5_000)
    assert len(json.dumps(watched.panel.state)) < 200_000
    column = next(spec["key"] for spec in state["spans"]["columns"] if spec["name"] == "duration_ms")
    rows = watched.ask("page", table="spans", sort=column, down=False, count=3)["rows"]
    assert [row["c0"] for row in rows] == ["step 4999", "step 4998", "step 4997"]
    assert watched.ask("filter_rows", table="spans", text="STEP 12")["shown"] == 111
    assert "trace.spans()" in watched.panel.code


def test_a_table_is_sorted_filtered_and_opened_whatever_its_cells_are(notebook: Notebook) -> None:
    frame = frame_of(500)
    watched = notebook.view("a", frame)
    state = watched.panel.state["frame"]
    assert [column["name"] for column in state["columns"]] == ["title", "took_ms", "mixed", "more", "at"]
    assert [column["kind"] for column in state["columns"]] == ["text", "ms", "text", "text", "time"]
    assert (state["total"], len(state["rows"])) == (500, 100)
    for down in (False, True):
        rows = watched.ask("page", table="rows", sort="c1", down=down, count=500)["rows"]
        assert rows[0]["c1"] == (499 if down else 0)
        assert rows[-1]["c1"] is None
    assert len(watched.ask("page", table="rows", sort="c2", count=500)["rows"]) == 500
    assert watched.ask("page", table="rows", sort="no column", count=1)["rows"][0]["at"] == 0
    assert watched.ask("filter_rows", table="rows", text="ROW 49") == {"shown": 11, "of": 500}
    row = watched.ask("page", table="rows", count=1)["rows"][0]
    assert (row["c0"], row["at"]) == ("row 49", 49)
    cells = dict(watched.ask("row", table="rows", at=row["at"])["cells"])
    assert (cells["title"], cells["more"]) == ("row 49", "{'a': 49}")
    assert watched.ask("filter_rows", table="rows", text="")["shown"] == 500
    frame.loc[:, "title"] = "changed"
    assert watched.ask("row", table="rows", at=499)["cells"][0] == ["title", "row 499"]
    assert watched.ask("row", table="rows", at=500) == {"failed": True}


def test_unusual_frames_have_a_view_too(notebook: Notebook) -> None:
    doubled = TextFrame([[n, n * 2] for n in range(20)], columns=["n", "n"])
    keyed = TextFrame({"n": range(20)}, index=pd.MultiIndex.from_product([range(4), list("abcde")], names=["k", None]))
    kinds = TextFrame({"kind": pd.Categorical(["b", "a"] * 10), "big": [2**60] * 20, "none": [None] * 20})
    for frame, names in ((doubled, ["n", "n"]), (keyed, ["k", "", "n"]), (kinds, ["kind", "big", "none"])):
        watched = notebook.view("a", frame)
        assert [column["name"] for column in watched.panel.state["frame"]["columns"]] == names
        first = watched.ask("page", table="rows", sort="c0", count=1)["rows"][0]
        assert len(first) == len(names) + 1
    assert first["c0"] == "a"
    assert first["c1"] == str(2**60)
    wide = TextFrame([[]] * 20)
    assert WIDGET_VIEW not in notebook.run("a", wide)
    assert not FrameDisplay.helps(pd.DataFrame())


def test_an_answer_shows_what_is_known_and_reads_the_rest_on_demand(notebook: Notebook, bench: loom.Workbench) -> None:
    agent = bench.agent("calculator", deploy=True)
    invocation = agent.invoke("What is 6 * 7?")
    watched = notebook.view("a", invocation)
    state = watched.panel.state
    assert "42" in state["answer"]
    assert (state["status"], state["session"], state["prompt"]) == ("complete", invocation.session_id, "What is 6 * 7?")
    assert {"duration", "time to first byte"} <= {row["name"] for row in state["figures"]}
    watched.ask("start")
    assert "cold start" in {row["name"] for row in watched.panel.state["asked"]["figures"]}
    traced(invocation)
    watched.ask("trace")
    trace = watched.panel.state["asked"]["trace"]
    assert trace["bars"]["total"] > 0
    assert trace["where"]["rows"][-1][0] == "the whole"
    start, *spans = trace["bars"]["rows"]
    assert (start["label"], start["part"], start["start_ms"]) == ("cold start", "cold_start", 0.0)
    assert watched.ask("span", id=start["id"])["facts"][0][0] == "took"
    opened = watched.ask("span", id=spans[0]["id"])
    assert opened["facts"][0][0] == "operation"
    assert "not billed" in watched.ask("cost")["sentence"]
    wait_until(lambda: len(invocation.telemetry.logs()))
    watched.ask("logs")
    assert "inv.telemetry.logs()" in watched.panel.code
    assert watched.panel.state["asked"]["logs"]["total"] > 0
    watched.ask("events")
    assert watched.panel.state["asked"]["pieces"]["total"] == len(invocation.record.chunk_offsets_ms)
    assert watched.panel.error == {}


def test_a_study_shows_intervals_and_every_call(notebook: Notebook) -> None:
    calls = tuple(
        Measurement(
            position=n, block=n // 3, scenario=tuple(Scenario)[n % 3], state="failed" if n == 4 else "done",
            duration_ms=None if n == 4 else 100.0 + n % 7, failure=HOSTILE if n == 4 else None, invocation_id=n + 1,
        )
        for n in range(60)
    )  # fmt: skip
    study = StudyResult(
        study_id="made", agent_name=HOSTILE, agent_arn="arn", qualifier="DEFAULT", scope="local", labels=("simulated",),
        design=StudyDesign(cold=20, warm=20, sticky=20, prompt="x", seed=0), state="complete", floor=Floor.read(None),
        created_at=datetime.now(UTC), finished_at=None, calls=calls, client={}, store=cast("Any", None),
    )  # fmt: skip
    watched = notebook.view("a", study)
    state = watched.panel.state
    assert state["sentences"] == study.sentences()
    assert sum(len(series["points"]) for series in state["dots"]) == study.answered == 59
    assert {entry["scenario"] for entry in state["intervals"]} == {entry.value for entry in Scenario}
    assert all(interval["low"] <= interval["value"] <= interval["high"] for interval in state["intervals"])
    assert (state["calls"]["total"], state["calls"]["columns"][0]["name"]) == (60, "position")
    assert watched.ask("filter_rows", table="calls", text="warm")["shown"] == 20
    assert "result.measurements()" in watched.panel.code
    json.dumps(state, allow_nan=False).encode()


def test_an_evaluation_shows_failed_cases_first_and_opens_them(notebook: Notebook, bench: loom.Workbench) -> None:
    cases = tuple(
        EvalCase(id=id, turns=(Turn(prompt=prompt, expected_answer=expected),))
        for id, prompt, expected in (("good", "2", "2"), ("<img src=x>", "3", "3"), ("bad", "4", "5"))
    )
    evalset = EvalSet(name="echoes", cases=cases)
    run = loom.evaluate(lambda prompt: f"{prompt} <img>", evalset, ["contains"], store=bench.context.store)
    watched = notebook.view("a", run)
    wait_until(lambda: watched.panel.state["asked"])
    run_state = watched.panel.state["asked"]
    assert [row["state"] for row in run_state["cases"]["rows"]] == ["low score", "passed", "passed"]
    assert "3 of 3 answered" in watched.panel.status
    first = run_state["cases"]["rows"][0]
    opened = watched.ask("case", place=first["place"], repeat=first["repeat"])
    assert (opened["case"], opened["turns"][0]["expected"]) == ("bad", "5")
    assert opened["verdicts"][0]["evaluator"] == "contains"
    assert watched.ask("filter", state="passed") == {"shown": 2, "of": 3}
    assert watched.ask("filter", text="BAD") == {"shown": 1, "of": 3}
    assert watched.ask("case", place=99) == {"failed": True}
    json.dumps(watched.panel.state, allow_nan=False).encode()


def test_a_memory_shows_actors_sessions_events_and_records(notebook: Notebook, bench: loom.Workbench) -> None:
    memory = bench.memories.create("shown", strategies=["semantic"], progress=lambda _sentence: None)
    memory.reader.clients.data().create_event(
        memoryId=memory.id, actorId="anna", sessionId="monday", eventTimestamp=datetime.now(UTC),
        payload=[{"conversational": {"role": "USER", "content": {"text": "I live in Lisbon."}}}],
    )  # fmt: skip
    wait_until(lambda: list(memory.reader.records()))
    watched = notebook.view("a", memory)
    wait_until(lambda: watched.panel.state.get("actors") == ["anna"])
    watched.ask("choose", actor="anna", session="")
    assert watched.panel.state["sessions"] == ["monday"]
    assert watched.ask("events")["count"] == 1
    row = watched.ask("page", table="events")["rows"][0]
    assert watched.ask("event", id=row["id"])["event"]["messages"] == [["USER", "I live in Lisbon."]]
    assert watched.ask("records")["count"] == 1
    (record,) = watched.ask("search", query="Where does anna live?")["rows"]
    assert watched.ask("provenance", id=record["id"])["rows"]
    assert watched.panel.code.splitlines() == [
        "memory = bench.memories.get('shown')",
        f"memory.provenance({record['id']!r})",
    ]
