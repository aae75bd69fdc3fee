"""The Evaluate panel against a local AgentCore: run, stop, go on, look, compare, capture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import loom_widgets
import loomlib as loom
from loom_widgets.panels.evaluate.cases import case_details
from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn, UserScenario
from loomlib.evals.sources import PlannedUser, with_simulated_user

from .conftest import Watched, wait_until

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x07'\"</script>"


def case(id: str, prompt: str, expected: str | None, *tags: str) -> EvalCase:
    tools = None if expected is None else (ExpectedTool(name="calculator", arguments=None),)
    return EvalCase(id=id, turns=(Turn(prompt=prompt, expected_answer=expected, expected_tools=tools),), tags=tags)


CASES = (
    case("product", "What is 6 * 7?", "42", "sums"),
    case("wrong", "What is 2 + 2?", "5", "sums", HOSTILE),
    case(HOSTILE, f"What is 3 * 3? {HOSTILE}", "9"),
)


@pytest.fixture(scope="module")
def agents(bench: loom.Workbench) -> tuple[loom.Agent, loom.Agent]:
    return bench.deploy("calculator"), bench.deploy("calculator_guessing")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sets") / "sums.json"
    EvalSet(name="sums", cases=CASES).write(path)
    return path


@pytest.fixture
def watched(bench: loom.Workbench, agents: object) -> Iterator[Watched]:
    panel = loom_widgets.evaluate(bench)
    yield Watched(panel)
    panel.close()


def form(file: Path, *agents: str, **more: object) -> dict[str, object]:
    return {"set": "file:", "path": str(file), "agents": list(agents), "reuse": True, **more}


def test_a_set_is_asked_with_progress_and_its_cases_are_inspected(watched: Watched, file: Path) -> None:
    summary = watched.ask("show_set", **form(file))
    assert "3 cases" in summary["sentence"]
    assert "contains" in summary["sentence"]
    result = watched.ask("run", **form(file, "calculator", gate="contains>=10%", repeats="1", money="1"))
    head = watched.of("results")[-1]
    assert head["run"] == result["runs"][0] == watched.panel.state["run"]
    assert head["answered"] == 3
    assert head["gates"][0]["outcome"] in ("passed", "unclear")
    assert any(progress.get("total") == 3 for progress in watched.of("progress"))
    rows = watched.ask("page", table="cases")["rows"]
    assert [row["state"] for row in rows] == ["low score", "passed", "passed"]  # what needs a look comes first
    by_id = {row["case"]: row for row in rows}
    assert by_id["product"]["state"] == "passed"
    assert by_id["wrong"]["state"] == "low score"
    assert by_id["product"]["duration_ms"] > 0
    assert by_id["product"]["tokens"] > 0
    case = watched.ask("case", run=head["run"], place=1, repeat=0)
    assert case["turns"][0]["expected"] == "5"
    assert {row["evaluator"] for row in case["verdicts"]} >= {"contains", "trajectory"}
    trace = watched.ask("trace", run=head["run"], invocation=case["invocation"])
    assert trace["count"] > 0
    assert watched.ask("page", table=trace["table"])["total"] == trace["count"]
    assert watched.ask("filter", state="low score")["shown"] == 1
    assert watched.ask("filter", tag="sums") == {"shown": 2, "of": 3}
    again = [value for value, _ in watched.panel.state["sets"] if value.startswith("run:")]
    assert "3 cases" in watched.ask("show_set", set=again[0])["sentence"]
    assert "<img" not in watched.panel._repr_html_()
    compile(watched.panel.code, "copied", "exec")


def test_two_agents_are_compared_and_what_differs_opens_to_both_answers(watched: Watched, file: Path) -> None:
    result = watched.ask("run", **form(file, "calculator", "calculator_guessing", evaluators="trajectory"))
    comparison = watched.of("compared")[-1]
    assert [comparison["baseline"], comparison["new"]] == result["runs"]
    assert comparison["headline"] == watched.panel.status
    assert comparison["flips"] >= 1
    flip = watched.ask("page", table="flips")["rows"][0]
    assert flip["verdict"] == "lost"
    both = watched.ask(
        "flip", new=comparison["new"], baseline=comparison["baseline"], place=flip["place"], case=flip["case"]
    )
    assert both["new"]["target"] == "calculator_guessing"
    assert both["new"]["paths"][0]["rows"][0]["kind"] == "missing"
    assert both["baseline"]["paths"] == []
    assert both["new"]["invocation"] != both["baseline"]["invocation"]
    # Both are stored: another panel opens and compares them.
    runs = watched.ask("page", table="runs")["rows"]
    assert {row["id"] for row in runs} >= set(result["runs"])
    watched.ask("open_run", run=result["runs"][0])
    assert watched.panel.state["run"] == result["runs"][0]
    assert watched.ask("compare", new=result["runs"][0], baseline=result["runs"][1], margin="2") != {"failed": True}
    assert watched.ask("compare", new=result["runs"][0], baseline=result["runs"][0]) == {"failed": True}
    compile(watched.panel.code, "copied", "exec")


def test_a_case_lost_in_one_repeat_opens_to_that_repeat(watched: Watched, bench: loom.Workbench) -> None:
    evalset = EvalSet(name="repeated", cases=(EvalCase(id="a", turns=(Turn(prompt="q", expected_answer="ok"),)),))
    answers = iter(("ok", "wrong", "ok"))
    runs = [
        loom.evaluate(function, evalset, ["exact"], 3, store=bench.context.store, concurrency=1, reuse=False)
        for function in (lambda _: next(answers), lambda _: "ok")
    ]
    forms = [{"new": new.id, "baseline": baseline.id} for new, baseline in (runs, reversed(runs))]
    for form, verdict in zip(forms, ("lost", "won"), strict=True):
        watched.ask("compare", margin="2", **form)
        (flip,) = watched.ask("page", table="flips")["rows"]
        shown = {name: flip[name] for name in ("place", "case", "evaluator", "verdict")}
        both = watched.ask("flip", **form, **shown)
        states = {(side["state"], side["repeat"], side["repeats"]) for side in both.values()}
        assert (flip["verdict"], states) == (verdict, {("low score", 1, 3), ("passed", 0, 3)})


def test_a_case_in_full_has_the_prompts_of_a_simulated_user(tmp_path: Path) -> None:
    scenario = UserScenario(starting_prompt="Hello", plan="ask for the price\naccept it", max_turns=3)
    evalset = EvalSet(name="talk", cases=(EvalCase(id="buy", scenario=scenario),))
    agent = with_simulated_user(lambda prompt: prompt, PlannedUser())
    run = loom.evaluate(agent, evalset, [lambda text, case: True], store=str(tmp_path / "loom.db"))
    turns = case_details(run, next(iter(run.judgements())))["turns"]
    assert [turn["asked"] for turn in turns] == ["Hello", "ask for the price", "accept it"]


def test_a_stopped_run_keeps_its_answers_and_continues(watched: Watched, bench: loom.Workbench) -> None:
    number = watched.begin("run", set="shipped:calculator", agents=["calculator"], reuse=False)
    wait_until(lambda: any(progress.get("answered", 0) >= 1 for progress in watched.of("progress")))
    watched.ask("stop", lane="run")
    assert watched.answer(number) == {"stopped": True}
    head = watched.of("results")[-1]
    assert head["state"] == "interrupted"
    assert 0 < head["answered"] < 60
    assert "Stopped" in watched.panel.status
    assert watched.panel.error == {}
    number = watched.begin("resume", run=head["run"])
    wait_until(lambda: any(progress.get("answered", 0) > head["answered"] for progress in watched.of("progress")))
    watched.ask("stop", lane="run")
    watched.answer(number)
    assert bench.evals.run(head["run"]).state == "interrupted"
    assert watched.of("results")[-1]["run"] == head["run"]
    assert watched.of("results")[-1]["answered"] > head["answered"]


def test_what_was_asked_becomes_a_case_with_its_secrets_redacted(
    watched: Watched, agents: tuple[loom.Agent, loom.Agent], tmp_path: Path
) -> None:
    prompt = f"What is 6 * 7? {HOSTILE} Tell ada@example.com, key AKIAIOSFODNN7EXAMPLE"
    agents[0].invoke(prompt)
    assert watched.ask("asked", agent="calculator")["count"] >= 1
    row = watched.ask("page", table="asked")["rows"][0]
    assert "AKIAIOSFODNN7EXAMPLE" not in str(row)
    into = {"agent": "calculator", "path": str(tmp_path / "kept.json"), "invocation": row["id"], "expected": True}
    preview = watched.ask("capture", look=True, **into)
    assert not preview["written"]
    assert not (tmp_path / "kept.json").exists()
    capture = watched.ask("capture", tags="production, odd", **into)
    assert capture["written"]
    assert sum(count for _, count in capture["redactions"]) == 2
    evalset = EvalSet.read(tmp_path / "kept.json")
    assert len(evalset) == 1
    assert set(evalset.cases[0].tags) == {"captured", "production", "odd"}
    text = (tmp_path / "kept.json").read_text()
    assert "ada@example.com" not in text + str(capture)
    assert "AKIAIOSFODNN7EXAMPLE" not in text + str(capture)
    again = watched.ask("capture", **into)
    assert not again["is_new"]
    assert "has the same request" in again["sentence"]
    compile(watched.panel.code, "copied", "exec")


def test_the_list_of_invocations_shows_no_half_of_a_secret(
    watched: Watched, agents: tuple[loom.Agent, loom.Agent]
) -> None:
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{'MIIE' * 400}\n-----END RSA PRIVATE KEY-----"
    pair = "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    agents[0].invoke(key + pair.rjust(2_000 - len(key) + len(pair) // 3 + 1))  # the panel reads 2,000 characters
    watched.ask("asked", agent="calculator")
    assert watched.ask("page", table="asked")["rows"][0]["prompt"] == "[private key 1] [aws access key 1]"


def test_a_turn_of_a_chat_is_captured_with_one_click(
    agents: tuple[loom.Agent, loom.Agent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    watched = Watched(loom_widgets.test(agents[0]))
    turn = watched.ask("invoke", agent="calculator", prompt="What is 8 * 8?")["turn"]
    assert "redacted: nothing" in watched.ask("capture", turn=turn)["sentence"]
    assert EvalSet.read(tmp_path / "captured.json").cases[0].prompt == "What is 8 * 8?"
    watched.panel.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"set": "file:", "path": ""},
        {"set": "file:", "path": "/nowhere.json"},
        {"set": "shipped:calculator", "agents": []},
        {"set": "shipped:calculator", "agents": ["nobody"]},
        {"set": "shipped:calculator", "agents": ["calculator"], "tags": "no such tag"},
        {"set": "shipped:calculator", "agents": ["calculator"], "evaluators": "no_such_evaluator"},
        {"set": "shipped:calculator", "agents": ["calculator"], "gate": "nobody>=90%"},
        {"set": "shipped:calculator", "agents": ["calculator"], "money": "-1"},
        {"set": "shipped:calculator", "agents": ["calculator"], "money": "0"},
        {"set": "shipped:calculator", "agents": ["calculator"], "tokens": "-5"},
        {"set": "shipped:calculator", "agents": ["calculator"], "tokens": "0.5"},
        {"set": "shipped:calculator", "agents": ["calculator"], "time_s": "0"},
        {"set": "shipped:calculator", "agents": ["calculator"], "repeats": "many"},
        {"set": ["x"]},
    ],
)
def test_what_cannot_be_run_is_reported_before_anybody_is_asked(watched: Watched, wrong: dict[str, object]) -> None:
    before = watched.ask("page", table="runs")["total"]
    assert watched.ask("run", **wrong) == {"failed": True}
    assert watched.panel.error["what"]
    watched.ask("refresh")
    assert watched.ask("page", table="runs")["total"] == before


def test_without_agents_and_runs_it_tells_what_to_do(tmp_path: Path) -> None:
    with loom.connect("aws", region="eu-west-1", home=tmp_path) as bench:
        watched = Watched(loom_widgets.evaluate(bench))
        assert watched.panel.state["agents"] == []
        assert watched.ask("hello") == {"head": {}, "progress": {}, "compared": {}}
        assert watched.ask("show_set", set="shipped:calculator")["blueprint"] == "calculator"
        assert watched.ask("compare", new="", baseline="") == {"failed": True}
        assert "No run is open" in watched.panel._repr_html_()
        watched.panel.close()
