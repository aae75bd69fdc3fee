"""The names of the previous release work for one more release, with a warning that gives the new name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import loomlib as loom

BENCH = {
    "add_alert": "alerts.add",
    "catch_up": "telemetry.catch_up",
    "check_alerts": "alerts.check",
    "create_memory": "memories.create",
    "eval_run": "evals.run",
    "eval_runs": "evals.runs",
    "find_traces": "telemetry.find_traces",
    "memory": "memories.get",
    "overview": "telemetry.overview",
    "prices": "telemetry.prices",
    "remove_alert": "alerts.remove",
    "rules": "telemetry.rules",
    "browser": "tools.browser",
    "code_interpreter": "tools.code_interpreter",
    "a2a": "tools.a2a",
    "check_snapshot": "tools.check_snapshot",
    "mcp": "tools.mcp",
    "triggers": "tools.triggers",
}
AGENT = {
    "approve": "approvals.approve",
    "capture": "evals.capture",
    "capture_into": "evals.capture_into",
    "conversation": "history.conversation",
    "sessions": "history.sessions",
    "invocation": "history.get",
    "invocations": "history.table",
    "overview": "telemetry.overview",
    "reject": "approvals.reject",
    "traces": "telemetry.traces",
    "logs": "telemetry.logs",
    "eval_target": "targets.eval_target",
    "study_target": "targets.study_target",
    "way_caller": "targets.way_caller",
    "a2a": "protocols.a2a",
    "agui": "protocols.agui",
    "mcp": "protocols.mcp",
    "websocket": "protocols.websocket",
    "removal_plan": "releases.removal_plan",
}
INVOCATION = {
    "layers": "telemetry.layers",
    "logs": "telemetry.logs",
    "memories_used": "telemetry.memories_used",
    "agui": "protocols.agui",
    "views": "protocols.views",
    "captured": "evals.conversation",
    "as_case": "evals.case",
}
"""The methods that the notebooks, the README and the panels of the previous release call, and that were renamed."""
KEPT = {
    "bench": "agent agents blueprints clients close deploy environment panel plugins register studies where",
    "agent": "approvals arn at end_session evaluate invoke name status stream",
    "inv": "duration_ms error failure latency ok pending raise_for_status record session_id text trace ttft_ms",
    "memory": "check_isolation diff events export forget health import_ iter_records provenance records search",
}
"""Those that kept their names."""


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home: Path = tmp_path_factory.mktemp("former")
    with loom.connect(home=home) as bench:
        agent = bench.deploy("calculator", progress=lambda _line: None)
        memory = bench.memories.create("former", progress=lambda _line: None)
        yield {"bench": bench, "agent": agent, "inv": agent.invoke("What is 2+2?"), "memory": memory}


@pytest.mark.parametrize(
    ("owner", "old", "new"),
    [
        (owner, *names)
        for owner, table in (("bench", BENCH), ("agent", AGENT), ("inv", INVOCATION))
        for names in table.items()
    ],
)
def test_an_old_name_is_the_new_one_and_warns(objects: Any, owner: str, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"\.{old} is deprecated; use \w+\.{new}"):
        method = getattr(objects[owner], old)
    group, _, name = new.partition(".")
    assert method.__func__ is getattr(type(getattr(objects[owner], group)), name)


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in KEPT.items() for name in names.split()])
def test_a_name_that_was_kept_does_not_warn(objects: Any, owner: str, name: str) -> None:
    assert hasattr(objects[owner], name)


def test_names_that_became_groups_can_still_be_called(objects: Any) -> None:
    bench, agent, inv, memory = (objects[name] for name in ("bench", "agent", "inv", "memory"))
    with pytest.warns(DeprecationWarning, match=r"use Workbench\.memories\.table\(\)"):
        assert list(bench.memories()["name"]) == ["former"]
    with pytest.warns(DeprecationWarning, match=r"use Workbench\.alerts\.table\(\)"):
        assert len(bench.alerts()) == 0
    with pytest.warns(DeprecationWarning, match=r"use Agent\.approvals\.list\(\)"):
        assert len(agent.approvals()) == 0
    with pytest.warns(DeprecationWarning, match=r"memories_used\(memory\)"):
        assert len(memory.used_in(inv)) == 0


def test_what_panels_reached_through_an_agent_still_works(objects: Any) -> None:
    agent, inv = objects["agent"], objects["inv"]
    with pytest.warns(DeprecationWarning, match=r"Workbench\(agent\.context\)"):
        assert agent.bench.agent("calculator").arn == agent.arn
    with pytest.warns(DeprecationWarning, match=r"Invocation\.entry"):
        assert inv.agent.arn == agent.arn


def test_what_the_workbench_has_is_read_from_it(objects: Any) -> None:
    agent = objects["agent"]
    with pytest.warns(DeprecationWarning, match=r"use Agent\.context\.where"):
        assert agent.scope == "local"
    with pytest.warns(DeprecationWarning, match=r"use Agent\.context\.store"):
        assert agent.store is agent.context.store
    with pytest.warns(DeprecationWarning, match=r"use Agent\.releases\.tags"):
        assert agent.tags.read() == agent.releases.tags.read()
    with pytest.warns(DeprecationWarning, match=r"use Agent\.protocols\.messages"):
        assert agent.messages.form == agent.protocols.messages.form
    bench = objects["bench"]
    with pytest.warns(DeprecationWarning, match=r"use Agent\.targets\.sample_prompt"):
        assert agent.sample_prompt == agent.targets.sample_prompt
    for name in ("catalog", "labels", "settings", "store"):
        with pytest.warns(DeprecationWarning, match=rf"use Workbench\.context\.{name}"):
            assert getattr(bench, name) is getattr(bench.context, name)
    with pytest.warns(DeprecationWarning, match=r"use Workbench\.clients\.region"):
        assert bench.region == bench.clients.region
    with pytest.warns(DeprecationWarning, match=r"use Workbench\.telemetry"):
        assert bench.metrics.session_count() == bench.telemetry.session_count()


def test_functions_that_left_the_objects_are_bound_to_them(objects: Any) -> None:
    bench, agent = objects["bench"], objects["agent"]
    with pytest.warns(DeprecationWarning, match=r"use loomlib\.workbench\.find_or_deploy"):
        assert bench.find_or_deploy("calculator")[1] is False
    with pytest.warns(DeprecationWarning, match=r"use bench\.agent\(…, deploy=True\)"):
        assert bench.ensure_agent("calculator").arn == agent.arn
    with pytest.warns(DeprecationWarning, match=r"use agent\.at\(bearer=…\)"):
        assert agent.with_bearer("token").qualifier == agent.qualifier


def test_renamed_parameters_still_work(objects: Any) -> None:
    bench, agent, inv = objects["bench"], objects["agent"], objects["inv"]
    with pytest.warns(DeprecationWarning, match=r"Workbench\.deploy\(what=\) is deprecated; use source="):
        assert bench.deploy(what="calculator", progress=lambda _line: None).arn == agent.arn
    with pytest.warns(DeprecationWarning, match=r"AgentEvals\.capture\(what=\) is deprecated; use invocations="):
        assert len(agent.evals.capture(loom.EvalSet(name="captured", cases=()), what=inv)) == 1
    with pytest.raises(TypeError, match="both 'source' and its old name 'what'"):
        bench.deploy(source="calculator", what="calculator")


def test_an_unknown_name_is_an_attribute_error(objects: Any) -> None:
    with pytest.raises(AttributeError, match="no attribute 'traecs'"):
        objects["agent"].traecs  # noqa: B018


@pytest.mark.parametrize(("kind", "most"), [(loom.Workbench, 23), (loom.Agent, 23), (loom.Invocation, 20)])
def test_the_public_objects_stay_small(kind: type, most: int) -> None:
    public = [name for name in dir(kind) if not name.startswith("_")]
    assert len(public) <= most, sorted(public)
