"""An evaluation's page in a real browser: from disk, without any network, with an agent that attacks the reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from loomlib import connect, local
from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn
from loomlib.reports import ReportOutcome, run_report
from loomlib.settings import Settings

from .conftest import REPOSITORY, Watched, show, turned

pytestmark = pytest.mark.browser
HOSTILE = "<script>document.title='taken'</script><img src=https://evil.example/x onerror=\"document.title='taken'\">"
AGENT = f"""
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload):
    if "fail" in payload["prompt"]:
        raise ValueError({HOSTILE!r})
    return {HOSTILE!r} + " \\x1b[31m 4 </details></div></table>"

app.run()
"""


@pytest.fixture(scope="package")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportOutcome]:
    place = tmp_path_factory.mktemp("attacked")
    settings = Settings(home=place / "home")
    (place / "agent").mkdir()
    (place / "agent" / "agent.py").write_text(AGENT)
    cases = [
        EvalCase(
            id=f"{HOSTILE} {n}",
            tags=(HOSTILE,),
            turns=(
                Turn(
                    prompt=f"{'fail' if n == 1 else 'say'} {HOSTILE} {n}",
                    expected_answer="4" if n < 6 else HOSTILE,
                    expected_tools=(ExpectedTool(name=HOSTILE),) if n == 2 else None,
                ),
            ),
        )
        for n in range(8)
    ]
    EvalSet(name=HOSTILE, description=HOSTILE, cases=tuple(cases)).write(place / "set.json")
    local.start(place / "home", persistent=True)
    with connect(settings=settings) as bench:
        bench.deploy(str(place / "agent"), name="attacker")
    yield run_report(
        "eval_set",
        {"agent": "attacker", "evalset": str(place / "set.json"), "evaluators": "exact, trajectory"},
        str(place / "out"),
        settings=settings,
        environment={"PYTHONPATH": str(REPOSITORY)},
    )
    local.stop(place / "home")


def test_hostile_answers_names_and_tags_are_seen_as_text_and_run_nowhere(
    attacked: ReportOutcome, watched: Watched
) -> None:
    assert attacked.exit_code == 0, attacked.message
    page = watched.page
    show(page, attacked.html, charts=2)
    for fold in page.locator("details").all():
        fold.evaluate("fold => fold.open = true")
    turned(page)
    assert page.title().startswith("Is this agent good enough?")
    assert page.locator("main img").count() == 0
    assert page.locator(".loom-talk").get_by_text("<script>document.title='taken'").count() >= 8
    assert watched.outside == []
    assert watched.errors == []


def test_a_case_opens_by_keyboard_to_what_was_said(attacked: ReportOutcome, watched: Watched) -> None:
    page = watched.page
    show(page, attacked.html, charts=2)
    case = page.locator("details.loom-case").first
    expect(case.locator("dl")).not_to_be_visible()
    case.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(case.locator("dl")).to_be_visible()
    assert case.locator("dt").all_inner_texts()[0] == "prompt"


def test_the_answer_is_on_the_first_screen_and_nothing_is_cut_off(attacked: ReportOutcome, watched: Watched) -> None:
    page = watched.page
    show(page, attacked.html, charts=2)
    box = page.locator(".answer").bounding_box()
    assert box
    assert box["y"] + box["height"] < 700
    assert page.evaluate("document.documentElement.scrollWidth") == 1200
    assert Path(attacked.html).stat().st_size < 6_000_000
