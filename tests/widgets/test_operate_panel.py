"""The Operate panel against a local AgentCore: numbers, one agent, places side by side, alerts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import loom_widgets
import loomlib as loom
from loomlib import local

from .conftest import Watched, wait_until

HOSTILE = "<img src=x onerror=alert(1)>\u202e'\"</script>"


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    """Two agents, one of which was asked a few times."""
    home = tmp_path_factory.mktemp("operate") / "home"
    with loom.connect(home=home) as bench:
        agent = bench.deploy("calculator")
        session = agent.invoke("What is 6 * 7?").session_id
        for n in range(3):
            agent.invoke(f"What is {n} * {n}?", session_id=session)
        # The panel reads the agent's log once to find its start.
        wait_until(lambda: any("Agent invoked" in str(line) for line in agent.telemetry.logs()["message"]))
        bench.deploy("echo")
        yield bench
    local.stop(home)


@pytest.fixture
def watched(busy: loom.Workbench) -> Iterator[Watched]:
    operate = opened(busy)
    yield operate
    operate.panel.close()


def opened(bench: loom.Workbench, **options: object) -> Watched:
    """A panel with its first numbers."""
    watched = Watched(loom_widgets.operate(bench, **options))
    wait_until(lambda: not watched.panel.busy and "alerts" in watched.panel.state)
    return watched


def rows(watched: Watched, table: str) -> list[dict[str, object]]:
    return list(watched.ask("page", table=table)["rows"])


def test_the_numbers_are_there_when_the_panel_opens(watched: Watched) -> None:
    state = watched.panel.state
    assert [headline["name"] for headline in state["headlines"]][:2] == ["agents", "invocations"]
    assert watched.panel.status.startswith("4 invocations in 1 session, none failed.")
    rows_by_agent = {row["agent"]: row for row in rows(watched, "agents")}
    assert rows_by_agent["calculator"]["invocations"] == 4
    assert rows_by_agent["echo"]["invocations"] == 0
    html = watched.panel._repr_html_()
    assert "calculator" in html
    assert "average cold start" in html


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ({"range": "1h"}, "since=timedelta(hours=1)"),
        ({"range": "all"}, "bench.telemetry.overview()"),
        ({"range": "between", "since": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z"}, "until=datetime"),
        ({"range": "between"}, "bench.telemetry.overview()"),
    ],
)
def test_a_time_window_is_chosen_and_written_as_code(watched: Watched, form: dict[str, str], part: str) -> None:
    assert watched.ask("load", **form) == {}
    assert part in watched.panel.code
    compile(watched.panel.code, "copied", "exec")
    if "2020" in str(form):
        assert watched.panel.status == "No invocations in this period."


@pytest.mark.parametrize(
    "form",
    [
        {"range": HOSTILE},
        {"range": "between", "since": HOSTILE},
        {"range": "between", "since": "2020-01-01T00:00:00"},
        {"range": "between", "since": "2020-01-02T00:00:00Z", "until": "2020-01-01T00:00:00Z"},
        {"place": 7},
    ],
)
def test_a_time_or_place_that_makes_no_sense_is_reported(watched: Watched, form: dict[str, object]) -> None:
    assert watched.ask("load", **form) == {"failed": True}
    assert watched.panel.error["try"]
    assert watched.ask("load") == {}
    assert watched.panel.error == {}


def test_what_nobody_has_inspected_is_looked_up(watched: Watched) -> None:
    watched.ask("catch_up", range="all")
    wait_until(lambda: not watched.panel.busy)
    assert watched.panel.state["missing"] == ""
    assert watched.panel.state["caught"] == "1 of 1 start found · 4 of 4 calls priced"
    assert "bench.telemetry.catch_up()" in watched.panel.code or "bench.telemetry.overview()" in watched.panel.code
    watched.ask("load", range="all", quiet=True)
    assert watched.panel.state["caught"] == ""
    rows_by_agent = {row["agent"]: row for row in rows(watched, "agents")}
    assert {name: row["priced"] for name, row in rows_by_agent.items()} == {"calculator": 4, "echo": 0}
    # One cold start is too few for an estimate; the row has its value all the same.
    assert rows_by_agent["calculator"]["said"]["cold_start_mean_ms"].startswith("n too small")
    assert re.fullmatch(r"[\d.]+ m?s", rows_by_agent["calculator"]["observed"]["cold_start_mean_ms"])
    assert rows_by_agent["echo"]["observed"] == {}


def test_an_agent_is_opened_refreshed_with_the_rest_and_closed(watched: Watched) -> None:
    assert watched.ask("drill", agent="calculator", range="1h") == {}
    detail = watched.ask("hello")
    assert detail["metadata"]["status"] == "READY"
    assert (len(detail["calls"]), detail["calls_title"]) == (4, "Each complete call")
    assert detail["endpoints"] == "DEFAULT"
    assert sum(bucket["n"] for bucket in detail["bins"]) == 4
    assert rows(watched, "sessions")[0]["invocations"] == 4
    wait_until(lambda: watched.ask("drill", agent="calculator") == {} and rows(watched, "logs"))
    compile(watched.panel.code, "copied", "exec")
    detail_count = len(watched.of("detail"))
    watched.ask("load", range="all")
    assert len(watched.of("detail")) == detail_count + 1
    watched.ask("leave")
    assert watched.ask("hello") == {}
    assert watched.ask("drill", agent=HOSTILE) == {"failed": True}
    assert watched.panel.error["what"] == "The catalog has no such agent"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    """An agent with two endpoints, one old call and more than 1,000 later ones, on an AWS that does not answer."""
    with loom.connect("aws", region="eu-west-1", home=tmp_path_factory.mktemp("shop")) as bench:
        store, old = bench.context.store, datetime(2026, 1, 1, tzinfo=UTC).timestamp()
        agent = store.agents.upsert(
            scope=bench.context.catalog.scope,
            arn="arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/shop-abcDEF1234",
            runtime_id="shop-abcDEF1234", name="shop", region="eu-west-1", account_id="123456789012",
            available_qualifiers=("DEFAULT", "prod"),
        )  # fmt: skip
        calls = store.invocations
        for number in range(1_002):
            sent = old if number == 0 else old + 86_400 + number
            id = calls.begin(agent_id=agent.id, session_id=f"session {number}", client_invoke_time=sent)
            if number == 0:
                calls.finish(id, status="complete", response="", client_done_time=sent + 1, client_duration_ms=1000.0)
        yield bench


def test_the_calls_and_sessions_of_an_earlier_window_are_shown_behind_1000_newer_ones(shop: loom.Workbench) -> None:
    watched = opened(shop)
    window = {"range": "between", "since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}
    assert watched.ask("drill", agent="shop", **window) == {}
    detail = watched.ask("hello")
    assert detail["sentence"].startswith("1 invocation in 1 session")
    assert detail["calls"] == [["2026-01-01T00:00:00+00:00", 1000.0]]
    assert [row["session_id"] for row in rows(watched, "sessions")] == ["session 0"]
    watched.panel.close()


def test_the_figures_of_an_endpoint_say_that_they_are_of_all_endpoints(shop: loom.Workbench) -> None:
    watched = opened(shop)
    assert watched.ask("drill", agent="shop", qualifier="prod") == {}
    assert watched.ask("hello")["endpoints"] == "all endpoints (log of prod)"
    view = shop.agent("shop").at("prod").telemetry.overview(logs=0)
    assert "shop · all endpoints (log of prod) · " in repr(view)
    assert "all endpoints (log of prod)" in view._repr_html_()
    watched.panel.close()


def test_an_opened_agent_that_was_removed_elsewhere_is_closed(watched: Watched, busy: loom.Workbench) -> None:
    agent = busy.deploy("writer")
    watched.ask("drill", agent=agent.name)
    agent.remove()
    assert watched.ask("load") == {"failed": True}
    assert watched.ask("hello") == {}
    assert watched.ask("load") == {}


def test_a_place_that_does_not_answer_is_a_row_with_its_sentence(busy: loom.Workbench, tmp_path: Path) -> None:
    home = tmp_path / "gone"
    with loom.connect(home=home) as first_bench, loom.connect(home=home) as unreachable_bench:
        first_bench.deploy("echo")
        local.stop(home)
        watched = opened(busy, beside=[unreachable_bench])
        assert watched.ask("compare", range="all") == {}
        assert f"loom.connect(home={str(home)!r})" in watched.panel.code
        place_rows = rows(watched, "places")
        assert [row["state"] for row in place_rows] == ["ok", "failed"]
        assert place_rows[1]["why"]
        assert watched.panel.state["compared"].startswith("1 of 2 regions answered.")
        # Its numbers are what is stored; its log's silence is a sentence of the opened agent.
        assert watched.ask("load", place=1) == {}
        assert [row["agent"] for row in rows(watched, "agents")] == ["echo"]
        assert watched.ask("drill", agent="echo") == {}
        assert "could not be read" in watched.ask("hello")["logs_problem"]
        watched.panel.close()


def test_an_alert_is_added_checked_kept_in_the_history_and_removed(watched: Watched) -> None:
    form = {"number": "error_rate", "side": "above", "limit": "5", "agent": "calculator", "min_n": "20", "hours": "24"}
    assert watched.ask("add_alert", **form) == {}
    assert "above=0.05" in watched.panel.code
    compile(watched.panel.code, "copied", "exec")
    name = rows(watched, "alerts")[0]["alert"]
    assert name == "error rate of calculator above 5 %"
    assert rows(watched, "alerts")[0]["sentence"] == "Not checked yet."
    assert watched.ask("add_alert", number="invocations", side="above", limit=3, name=HOSTILE, notify="team") == {}
    assert watched.ask("check_alerts", notify=False) == {"alarms": 1}
    rows_by_alert = {row["alert"]: row for row in rows(watched, "alerts")}
    assert rows_by_alert[HOSTILE]["state"] == "alarm"
    assert "not decided" in str(rows_by_alert[name]["sentence"])
    assert watched.panel.state["alerts"]["alarms"] == 1
    assert "<img" not in watched.panel._repr_html_()
    # Of the next panel too, from what is stored.
    again = opened(watched.panel.bench)
    assert "invocations" in str({row["alert"]: row for row in rows(again, "alerts")}[HOSTILE]["sentence"])
    again.panel.close()
    for alert_name in (HOSTILE, name):
        assert watched.ask("remove_alert", alert=alert_name) == {}
    assert rows(watched, "alerts") == []
    assert rows(watched, "history")
    assert watched.ask("remove_alert", alert=name) == {"failed": True}


def test_an_action_acts_on_the_workbench_of_its_view_after_another_one_was_chosen(
    busy: loom.Workbench, shop: loom.Workbench
) -> None:
    for bench in (busy, shop):
        bench.alerts.add("error_rate", above=0.05)
    watched = opened(busy, beside=[shop])
    name = rows(watched, "alerts")[0]["alert"]
    assert watched.ask("load", place=1) == {}
    wait_until(lambda: not watched.panel.busy)
    assert [(row["alert"], row["place"]) for row in rows(watched, "alerts")] == [(name, 1)]
    assert watched.ask("remove_alert", alert=name, place=0) == {}
    assert (len(busy.alerts.table()), len(shop.alerts.table())) == (0, 1)
    assert watched.ask("remove_alert", alert=name, place=2) == {"failed": True}
    shop.alerts.remove(str(name))
    # The result of a look-up is not shown under the figures of another workbench.
    period = {"range": "between", "since": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z"}
    assert watched.ask("catch_up", place=0, **period) == {}
    wait_until(lambda: not watched.panel.busy)
    assert (watched.panel.state["place"], watched.panel.state["caught"]) == ("1", "")
    assert watched.panel.status.startswith("1 · local AgentCore · ")
    watched.panel.close()


@pytest.mark.parametrize(
    "form",
    [
        {"number": HOSTILE, "limit": 5},
        {"number": "error_rate"},
        {"number": "error_rate", "limit": "five"},
        {"number": "error_rate", "limit": 500},
        {"number": "error_rate", "limit": -1},
        {"number": "cost", "limit": 5, "side": "beside"},
        {"number": "cost", "limit": 5, "hours": 0},
        {"number": "cost", "limit": 5, "notify": "mailto://user:hunter2@example.com"},
    ],
)
def test_a_rule_that_makes_no_sense_is_not_added(watched: Watched, form: dict[str, object]) -> None:
    assert watched.ask("add_alert", **form) == {"failed": True}
    assert watched.panel.error["what"]
    assert "hunter2" not in f"{watched.panel.error}{watched.panel.code}{watched.panel.state}"
    assert rows(watched, "alerts") == []
