"""The views on a result: table, calls, charts, page, JSON, and the bar in a notebook."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from html.parser import HTMLParser

import plotly.graph_objects as go
import pytest
from latency_agent import Reply, ScriptedAgent, Start
from new_store import new_store

from loomlib.experiments import StudySnapshot, bar_html
from loomlib.jobs import is_interactive_notebook
from loomlib.latency import LatencyStudy, Scenario, Silent, StudyResult
from loomlib.latency.theme import SCENARIO_STYLES
from loomlib.store import Store

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with new_store(tmp_path_factory.mktemp("views")) as opened:
        yield opened


@pytest.fixture(scope="module")
def result(store: Store) -> StudyResult:
    agent = ScriptedAgent(
        store,
        script=lambda n, _: Reply(failure="throttle") if n == 0 else Reply(duration_ms=10 + n % 7),
        starts=lambda _: Start("found", 2.0),
        name=f"calc{HOSTILE}",
    )
    return LatencyStudy(agent, cold=8, warm=8, sticky=8, study_id="views").run(Silent())


class Words(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data.replace("\u00a0", " ")  # between a number and its unit


def test_the_table_has_a_row_for_each_scenario_with_intervals_failures_and_the_floor(result: StudyResult) -> None:
    table = result.table()
    assert list(table.index) == ["cold", "warm", "sticky"]
    assert " [" in table.loc["warm", "p50 [95 %] ms"]
    assert table.loc["warm", "p99 [95 %] ms"] == "n too small (8 of 100)"
    assert sum(int(text.split()[0]) for text in table["failed"]) == 1
    assert (table["harness floor ms"].astype(float) > 0).all()


def test_the_calls_are_numbers_and_a_failed_one_has_no_duration(result: StudyResult) -> None:
    calls = result.measurements()
    assert len(calls) == 24
    assert math.isnan(calls.loc[0, "duration_ms"])
    assert calls.loc[0, "failure"] == "throttle"
    assert calls["duration_ms"].count() == 23
    assert not (calls["duration_ms"] == 0).any()


def test_the_page_is_static_and_what_others_wrote_is_text(result: StudyResult) -> None:
    page = Words(result._repr_html_())
    assert "script" not in page.tags
    assert HOSTILE in page.text
    assert "model: scripted (simulated)" in page.text
    assert result.sentences()[0] in page.text
    assert "http" not in result._repr_html_()


def test_the_same_result_has_the_same_text_every_time(store: Store, result: StudyResult) -> None:
    again = StudyResult.load(store, "views")
    assert repr(again) == repr(result)
    assert again._repr_html_() == result._repr_html_()
    assert "0x" not in repr(result)


def test_every_call_is_a_dot_in_its_scenarios_colour_and_symbol(result: StudyResult) -> None:
    figure = result.figures()["calls"]
    assert isinstance(figure, go.Figure)
    drawn = {trace.name: trace for trace in figure.data}
    for scenario in Scenario:
        assert drawn[scenario.value].marker.color == SCENARIO_STYLES[scenario].colour
        assert drawn[scenario.value].marker.symbol == SCENARIO_STYLES[scenario].symbol
    assert sum(len(trace.x) for trace in figure.data) == 24
    assert len(drawn["failed (no duration)"].x) == 1


def test_no_two_scenarios_share_a_colour_or_a_symbol() -> None:
    assert (
        len({style.colour for style in SCENARIO_STYLES.values()})
        == len({style.symbol for style in SCENARIO_STYLES.values()})
        == 3
    )


def test_the_labels_stay_on_every_chart_and_in_the_json(result: StudyResult) -> None:
    for figure in result.figures().values():
        subtitle = figure.layout.title.subtitle.text
        assert "simulated" in subtitle
        assert "<" not in subtitle
    summary = result.summary()
    assert "model: scripted (simulated)" in summary["labels"]
    assert all("model: scripted (simulated)" in scenario["labels"] for scenario in summary["scenarios"])
    assert any("simulated" in limit for limit in summary["method"]["cannot_tell"])


def test_the_summary_is_json_with_all_that_repeats_the_study(result: StudyResult) -> None:
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert summary["format"] == "loom.latency-study/1"
    assert summary["design"]["seed"] == 0
    assert summary["client"]["versions"]["aiohttp"]
    assert summary["scenarios"][0]["p99_ms"] == summary["scenarios"][0]["p99_ms"] | {"value": None, "needed_n": 100}
    assert summary["run_again"].startswith("loom.LatencyStudy(agent, cold=8, warm=8, sticky=8, prompt=")


def test_an_unfinished_study_has_every_view_and_reports_it(store: Store) -> None:
    agent = ScriptedAgent(store, script=lambda n, _: Reply(raises=RuntimeError("stop")) if n == 0 else Reply())
    planned = LatencyStudy(agent, cold=3, warm=3, sticky=3)
    with pytest.raises(RuntimeError):
        planned.run(Silent())
    result = planned.result()
    assert "interrupted" in result.title()
    assert "9 calls pending" in repr(result)
    assert result.sentences()[-1] == "This study is not finished: 9 calls pending."
    assert "No answered call yet." in result.figures()["calls"].layout.annotations[0].text
    assert result.findings() == []
    assert "not measured" in result._repr_html_()
    json.dumps(result.summary(), allow_nan=False)


def test_the_bar_of_a_notebook_is_plain_html_with_the_counts_as_text() -> None:
    snapshot = StudySnapshot(
        title="latency study", done={"cold": 3}, planned={"cold": 10, "warm": 0}, failed=1, elapsed_s=14
    )
    page = Words(bar_html(snapshot, HOSTILE))
    assert "script" not in page.tags
    assert "latency study · cold 3/10 · 1 failed · 14 s" in page.text
    assert "warm" not in page.text


def test_outside_of_a_kernel_nobody_watches() -> None:
    assert not is_interactive_notebook()
