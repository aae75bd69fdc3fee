"""What a panel shows as Python can be copied into an empty notebook as it stands: it runs there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import loom_widgets
import loomlib as loom
from loom_widgets.kit.source import connect_code
from loomlib.evals import EvalCase, EvalSet, Turn

from .conftest import Watched
from .test_memory_panel import say

_MEMORY = "code_runs"


def run(code: str) -> dict[str, Any]:
    """A new kernel's names after the code."""
    names: dict[str, Any] = {}
    try:
        exec(code, names)
    finally:
        if "bench" in names:
            names["bench"].close()
    return names


def copied(panel: Watched, name: str, /, **form: Any) -> dict[str, Any]:
    """Does what is asked for in the panel, then runs what the panel shows for it."""
    answer = panel.ask(name, **form)
    assert not answer.get("failed"), panel.panel.error
    assert panel.panel.code
    return run(panel.panel.code)


def test_the_code_connects_with_the_profile_of_the_workbench(tmp_path: Path) -> None:
    with loom.connect("aws", region="eu-central-1", profile="team", home=tmp_path) as bench:
        shown = connect_code(bench)
    settings = run(shown)["bench"].context.settings
    assert (settings.profile, settings.home) == ("team", tmp_path)


def test_what_build_shows_runs(bench: loom.Workbench) -> None:
    panel = Watched(loom_widgets.build(bench))
    variables = copied(panel, "deploy", what="calculator", name="code_runs")
    assert variables["agent"].arn == bench.agent("code_runs").arn
    arn = str(variables["agent"].arn)
    assert copied(panel, "register", arn=arn)["agent"].name == "code_runs"
    assert copied(panel, "describe", arn=arn)["agent"].status == "READY"
    copied(panel, "refresh", arn=arn)
    copied(panel, "refresh")
    panel.panel.close()


def test_what_test_shows_runs(bench: loom.Workbench) -> None:
    agent = bench.agent("calculator", deploy=True)
    panel = Watched(loom_widgets.test(agent))
    session = "s" * 40
    copied(panel, "invoke", agent=agent.name, qualifier="DEFAULT", prompt="What is 6 times 7?", session=session)
    assert len(agent.history.conversation(session)) == 2
    copied(panel, "choose", agent=agent.name, qualifier="DEFAULT", session=session)
    copied(panel, "open_turn")
    panel.panel.close()


def test_what_operate_shows_runs(bench: loom.Workbench) -> None:
    agent = bench.agent("calculator", deploy=True)
    agent.invoke("What is 1 plus 1?")
    panel = Watched(loom_widgets.operate(bench))
    for chosen in (
        {},
        {"range": "24h"},
        {"range": "between", "since": "2026-01-01T00:00:00Z", "until": "2036-01-01T00:00:00Z"},
    ):
        copied(panel, "load", **chosen)
        assert copied(panel, "drill", agent=agent.name, **chosen)["view"].window
    panel.ask("compare")  # opens workbenches that nobody could close here
    compile(panel.panel.code, "copied", "exec")
    copied(panel, "catch_up")
    panel.ask("add_alert", number="error_rate", side="above", limit=5, hours=1, name="from_code")
    added = panel.panel.code
    panel.ask("remove_alert", alert="from_code")
    removed = panel.panel.code
    run(added)
    run(removed)
    copied(panel, "check_alerts")
    panel.panel.close()


def test_what_evaluate_shows_runs(bench: loom.Workbench, tmp_path: Path) -> None:
    agent = bench.agent("calculator", deploy=True)
    cases = [EvalCase(id="product", turns=(Turn(prompt="What is 6 times 7?", expected_answer="42"),))]
    EvalSet(name="sums", cases=cases).write(tmp_path / "sums.json")
    panel = Watched(loom_widgets.evaluate(bench))
    form = {"set": "file:", "path": str(tmp_path / "sums.json"), "agents": [agent.name], "evaluators": "contains"}
    variables = copied(panel, "run", **form)
    assert variables["run"].evalset.name == "sums"
    id = panel.panel.state["run"]
    copied(panel, "open_run", run=id)
    copied(panel, "case", run=id, place=0, repeat=0)
    panel.panel.close()


def test_what_memory_shows_runs(bench: loom.Workbench) -> None:
    panel = Watched(loom_widgets.memory(bench))
    reply = panel.ask("create", name=_MEMORY, strategies=["semantic"])
    assert not reply.get("failed"), panel.panel.error
    say(bench.memories.get(_MEMORY), "Please remember that I am allergic to mustard.", session="session_1")
    copied(panel, "choose_memory", memory=_MEMORY)
    copied(panel, "choose", actor="anna", session="session_1")
    for name, form in (
        ("events", {}), ("records", {}), ("search", {"query": "mustard"}), ("timeline", {}), ("health", {}),
        ("snapshot", {}), ("forget", {}),
    ):  # fmt: skip
        copied(panel, name, **form)
    panel.panel.close()


def test_what_tools_shows_runs(bench: loom.Workbench) -> None:
    panel = Watched(loom_widgets.tools(bench))
    for name, form in (("refresh", {}), ("run_code", {"code": "print(6 * 7)"})):
        copied(panel, name, **form)
    panel.panel.close()
