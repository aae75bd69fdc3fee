"""What goes wrong between an agent and `inv.trace()` ends in a state that says so, and in parts that still add up."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from waiting import wait_until as until

import loomlib as loom
from loomlib import local
from loomlib.workbench.trace_view import TraceView

HERE = Path(__file__).parent


THERE = "/"  # a path that exists for the agent: it does not wait
ATTEMPTS = 20
"""A lookup waits for three seconds, and an agent gives up after five: on a busy machine it can end after that."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that agents can read."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Iterator[loom.Workbench]:
    """A workbench whose service has taken spans: its collecting process starts with the first ones."""
    home = tmp_path_factory.mktemp("faults") / "home"
    with loom.connect(home=home, options=local.ServiceOptions(sandbox_read=(str(shared),))) as opened:
        first = opened.deploy(HERE / "halting", name="first").invoke(payload={"until": THERE}).raise_for_status()
        until(lambda: first.trace().state == "found")
        yield opened
    local.stop(home)


@pytest.fixture(scope="module")
def halting(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy(HERE / "halting", name="halting")


def command_of(process: psutil.Process) -> list[str]:
    """The arguments of a process; none of one that has ended since it was listed."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


@contextlib.contextmanager
def collector_stopped(bench: loom.Workbench) -> Iterator[None]:
    """The process that takes spans hangs; the service goes on."""
    state = local.find(bench.context.settings.home)
    assert state is not None
    children = psutil.Process(state.pid).children(recursive=True)
    (process,) = [process for process in children if "loomlib.local.otlp" in " ".join(command_of(process))]
    process.suspend()
    try:
        yield
    finally:
        process.resume()


def new_session() -> str:
    return f"faults-{uuid.uuid4()}"


def adds_up(inv: loom.Invocation, view: TraceView) -> bool:
    breakdown = view.breakdown()
    assert inv.duration_ms is not None
    return sum(part.duration_ns for part in breakdown.parts) == breakdown.total_ns == round(inv.duration_ms * 1e6)


def has_exported(bench: loom.Workbench, session_id: str) -> bool:
    """Whether a span of the session is stored."""
    logs = bench.clients.logs()
    with contextlib.suppress(logs.exceptions.ResourceNotFoundException):
        return bool(logs.filter_log_events(logGroupName="aws/spans", filterPattern=f'"{session_id}"')["events"])
    return False


def test_an_agent_answers_while_the_collector_hangs_and_its_trace_is_whole_afterwards(
    bench: loom.Workbench, halting: loom.Agent
) -> None:
    payload = {"until": THERE}
    for _ in range(ATTEMPTS):
        opened = halting.invoke(payload=payload).raise_for_status()
        until(lambda opened=opened: opened.trace().state == "found")
        with collector_stopped(bench):
            inv = halting.invoke(payload=payload, session_id=opened.session_id).raise_for_status()
            early = inv.trace()
            if early.state == "lost":
                continue
            assert early.state == "undelivered"
            assert "has not delivered its spans yet" in str(early)
            assert early.breakdown()["model"].certainty == "missing"
            assert adds_up(inv, early)
            until(lambda inv=inv: inv.trace().state == "lost")
            assert "could not export its spans" in str(inv.trace())
            assert any("spans were not exported" in line for line in halting.telemetry.logs()["message"])
            break
    else:
        pytest.fail("the spans were lost at each first lookup")
    until(lambda: inv.trace().state == "found")
    assert adds_up(inv, inv.trace())
    assert len(inv.trace().trace.of_operation("chat")) == 2


def test_the_first_spans_of_an_agent_are_overdue_while_the_collector_hangs(
    bench: loom.Workbench,
) -> None:
    for attempt in range(ATTEMPTS):
        fresh = bench.deploy(HERE / "halting", name=f"fresh_{attempt}")
        with collector_stopped(bench):
            inv = fresh.invoke(payload={"until": THERE}).raise_for_status()
            early = inv.trace()
            if early.state == "lost":
                continue
            assert early.state == "undelivered"
            assert "OTEL_SDK_DISABLED" not in str(early)
            assert adds_up(inv, early)
            break
    else:
        pytest.fail("the spans were lost at each first lookup")
    until(lambda: inv.trace().state == "found")


def test_a_process_that_is_killed_before_its_spans_left_is_reported_as_died(
    bench: loom.Workbench, halting: loom.Agent
) -> None:
    session = new_session()
    with collector_stopped(bench):
        inv = halting.invoke(payload={"until": THERE}, session_id=session).raise_for_status()
        (entry,) = (
            entry for entry in local.status(bench.context.settings.home).sessions if entry.session_id == session
        )
        psutil.Process(entry.pid).kill()
        until(lambda: inv.trace().state == "died")
        view = inv.trace()
        assert "ended before it had exported its spans" in str(view)
        assert "OTEL_SDK_DISABLED" not in str(view)
        assert adds_up(inv, view)
        lines = [line for line in halting.telemetry.logs(session_id=session)["message"] if line.startswith("Loom:")]
        assert ["killed by SIGKILL" in line for line in lines] == [True]


def test_half_a_trace_is_partial_and_whole_on_the_next_ask(
    bench: loom.Workbench, halting: loom.Agent, shared: Path
) -> None:
    go_on, session = shared / new_session(), new_session()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(halting.invoke, payload={"until": str(go_on)}, session_id=session)
        until(lambda: has_exported(bench, session))
        with collector_stopped(bench):
            go_on.touch()
            inv = future.result(timeout=120).raise_for_status()
            half = inv.trace()
            assert half.state == "partial"
            assert len(half.trace.of_operation("chat")) == 1
            assert "partial" in half.breakdown().marks
            assert half.breakdown()["model"].certainty != "measured"
            assert adds_up(inv, half)
    until(lambda: inv.trace().state == "found")
    whole = inv.trace()
    assert len(whole.trace.of_operation("chat")) == 2
    assert whole.breakdown()["model"].certainty == "measured"
    assert adds_up(inv, whole)


def test_an_agent_that_is_killed_leaves_what_it_had_done(
    bench: loom.Workbench, halting: loom.Agent, shared: Path
) -> None:
    go_on, session = shared / new_session(), new_session()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(halting.invoke, payload={"until": str(go_on), "dies": True}, session_id=session)
        until(lambda: has_exported(bench, session))
        go_on.touch()
        inv = future.result(timeout=120)
    assert not inv.ok
    view = inv.trace()
    assert view.state == "partial"
    assert len(view.trace.of_operation("chat")) == 1
    assert adds_up(inv, view)


def test_ten_megabytes_bytes_and_markup_on_a_span_stay_data(bench: loom.Workbench) -> None:
    inv = bench.deploy(HERE / "hostile", name="hostile").invoke("Go.").raise_for_status()
    until(lambda: inv.trace().state == "found")
    view = inv.trace()
    assert view.unreadable == ()
    assert adds_up(inv, view)
    (tool,) = view.trace.of_operation("execute_tool")
    (chat,) = view.trace.of_operation("chat")
    assert "<script>" in tool.attributes["gen_ai.tool.name"]
    assert 1_000 <= len(str(chat.attributes["large"])) <= 1_048_576
    assert "<img" not in view._repr_html_()
    assert "<script" not in view._repr_html_()
    assert "\x1b" not in str(view)
    assert "<script" not in view.figure().to_json()
