"""The numbers of real agents: of one, of all, and of several places side by side."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest
from whole_traces import traced

import loomlib as loom
from loomlib import local


@pytest.fixture(scope="module")
def echo(bench: loom.Workbench) -> loom.Agent:
    agent = bench.deploy("echo", name="overview_echo")
    session = agent.invoke("one").session_id
    agent.invoke("two", session_id=session)
    agent.invoke("three")
    return agent


def test_an_overview_is_of_what_was_asked_and_catching_up_finds_the_starts(
    bench: loom.Workbench, echo: loom.Agent
) -> None:
    overview = bench.telemetry.overview(timedelta(hours=1), agents=[echo.name])
    assert (overview.total.invocations, overview.total.sessions, overview.total.failed) == (3, 2, 0)
    caught = bench.telemetry.catch_up(agents=[echo.name])
    assert (caught.starts_looked, caught.failures) == (2, ())
    again = bench.telemetry.overview(agents=[echo.name])
    assert again.total.cold_start_mean.n == caught.starts_found
    assert again.agent("overview_echo") == again.total
    table = again.table()
    assert list(table["agent"]) == ["overview_echo"]
    assert table["invocations"][0] == 3
    json.dumps(again.to_dict())
    assert "3 invocations in 2 sessions" in repr(again)
    assert "overview_echo" in again._repr_html_()


def test_calls_are_priced_by_their_traces(bench: loom.Workbench, calculator: loom.Agent) -> None:
    traced(calculator.invoke("What is 2+2?").raise_for_status())
    bench.telemetry.catch_up(agents=[calculator.name])
    total = bench.telemetry.overview(agents=[calculator.name]).total
    assert total.priced >= 1
    assert total.cost.known > 0
    assert total.cost.is_estimate


def test_an_agents_details_are_its_metadata_sessions_latency_and_log(echo: loom.Agent) -> None:
    overview = echo.telemetry.overview(timedelta(hours=1), bins=6)
    assert overview.metadata["runtime id"] == echo.entry.runtime_id
    assert len(overview.sessions) == 2
    assert overview.latency()["n"].sum() == 3
    assert len(overview.logs) > 0
    assert overview.logs_problem == ""
    json.dumps(overview.to_dict())
    assert echo.entry.runtime_id in overview._repr_html_()
    assert len(echo.telemetry.overview(logs=0).logs) == 0


def test_a_place_that_does_not_answer_is_a_row_with_its_sentence(
    bench: loom.Workbench, echo: loom.Agent, tmp_path: Path
) -> None:
    with loom.connect(home=tmp_path / "other") as other:
        assert other.clients.account_id()  # known from before, and still no answer to how the place is doing
        assert local.stop(tmp_path / "other")
        overview = loom.overview([bench, other], timedelta(hours=1))
        good, bad = overview.places
        assert (good.state, bad.state) == ("ok", "failed")
        assert good.figures is not None
        assert good.figures.invocations >= 3
        assert bad.figures is None
        assert bad.why
        assert list(overview.table()["state"]) == ["ok", "failed"]
        assert "1 of 2 regions answered" in overview.sentence()
        json.dumps(overview.to_dict())
        assert "failed" in overview._repr_html_()
        assert "log could not be read" not in repr(overview)


def test_missing_credentials_and_a_missing_region_are_rows_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    with loom.connect("aws", region="us-east-1", home=tmp_path) as one, loom.connect("aws", home=tmp_path) as other:
        overview = loom.overview([one, other])
    assert [place.state for place in overview.places] == ["failed", "failed"]
    assert "credentials" in overview.places[0].why
    assert "No AWS region" in overview.places[1].why
    assert "0 of 2 regions answered" in repr(overview)


def test_an_agents_overview_survives_a_service_that_is_gone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with loom.connect(home=home) as bench:
        agent = bench.deploy("echo")
        agent.invoke("one")
        assert local.stop(home)
        overview = agent.telemetry.overview()
        assert overview.figures.invocations == 1
        assert "The log could not be read" in overview.logs_problem


def test_hostile_names_and_messages_are_text_in_the_page(bench: loom.Workbench) -> None:
    agent = bench.deploy("echo", name="overview_hostile")
    assert agent.invoke("<img src=x onerror=alert(1)>").session_id
    for page in (
        agent.telemetry.overview()._repr_html_(),
        bench.telemetry.overview()._repr_html_(),
        loom.overview([bench])._repr_html_(),
    ):
        assert "<img" not in page


def test_the_page_of_an_agent_shows_its_newest_sessions_and_states_how_many_more(echo: loom.Agent) -> None:
    view = echo.telemetry.overview(logs=0)
    row = view.sessions.iloc[0].to_dict()
    many = pd.DataFrame([{**row, "session_id": f"number-{place}."} for place in range(30)])
    page = replace(view, sessions=many)._repr_html_()
    assert [place for place in range(30) if f"number-{place}." in page] == list(range(20))
    assert "10 more rows" in page
