"""The Build panel against a local AgentCore: deploy, register, refresh, remove, and what it says when that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import loom_widgets
import loomlib as loom
from loomlib import local
from loomlib.aws.deploy import code_bucket
from loomlib.aws.runtimes import delete_runtime

from .conftest import Watched

HOSTILE = "<img src=x onerror=alert(1)>\u202e'\"</script>"
_AGENT = """
from bedrock_agentcore import BedrockAgentCoreApp
app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload):
    import os
    return os.environ.get("WORD", "none")

app.run()
"""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    """A workbench of its own: what is removed here is nobody else's."""
    home = tmp_path_factory.mktemp("build") / "home"
    with loom.connect(home=home) as bench:
        yield bench
    local.stop(home)


@pytest.fixture
def watched(empty: loom.Workbench) -> Iterator[Watched]:
    panel = loom_widgets.build(empty)
    yield Watched(panel)
    panel.close()


def names(watched: Watched) -> list[str]:
    return sorted(row["name"] for row in watched.ask("page", table="agents")["rows"])


def test_what_is_deployed_tells_its_steps_and_is_in_the_table(
    watched: Watched, empty: loom.Workbench, tmp_path: Path
) -> None:
    assert "calculator" in [blueprint["name"] for blueprint in watched.panel.state["blueprints"]]
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "agent.py").write_text(_AGENT)
    buckets = [bucket["Name"] for bucket in empty.clients.s3().list_buckets()["Buckets"]]
    making = [] if code_bucket(empty.clients) in buckets else ["creating the bucket for code"]
    about = watched.ask("deploy", what=str(folder), name="own", environment="# a comment\nWORD = s3cret-word\n")
    assert about["facts"]["status"] == "READY"
    deployment = watched.panel.state["deployment"]
    assert deployment["state"] == "done"
    words = [step["word"] for step in deployment["steps"]]
    expected = ["packing", *making, "uploading the package", "creating the runtime"]
    assert words[: len(expected)] == expected
    assert deployment["steps"][-1]["word"] == "READY"
    assert "own" in names(watched)
    assert empty.agent("own").invoke("x").text.strip('"') == "s3cret-word"
    # The value is nowhere but in the agent.
    for content in (watched.panel.state, watched.panel.code, watched.messages, watched.panel._repr_html_()):
        assert "s3cret-word" not in str(content)
    compile(watched.panel.code, "copied", "exec")
    assert "own is READY" in watched.panel.status


def test_a_plan_is_shown_before_anything_is_made(watched: Watched, empty: loom.Workbench) -> None:
    before = names(watched)
    plan = watched.ask("plan", what="calculator", name="planned", environment="WORD=s3cret-word", idle_timeout_s="120")
    assert "create runtime planned" in plan["text"]
    assert "platform.idle_timeout_s: 120" in plan["text"]
    assert "environment: WORD" in plan["text"]
    assert "a month costs" in plan["text"]
    assert "Nothing was created" in watched.panel.status
    assert names(watched) == before
    assert "bench.plan('calculator', name='planned', idle_timeout_s=120" in watched.panel.code
    compile(watched.panel.code, "copied", "exec")
    for content in (plan, watched.panel.state, watched.panel.code, watched.messages):
        assert "s3cret-word" not in str(content)


def test_runtime_settings_of_the_form_reach_the_runtime_and_the_shown_code(
    watched: Watched, empty: loom.Workbench
) -> None:
    watched.ask("deploy", what="calculator", name="set", platform_version="V2", idle_timeout_s="120")
    described = empty.agent("set").entry.raw_metadata
    assert described["platformVersion"] == "V2"
    assert described["lifecycleConfiguration"]["idleRuntimeSessionTimeout"] == 120
    assert "platform_version='V2', idle_timeout_s=120" in watched.panel.code


def test_an_authorizer_of_the_form_reaches_the_runtime_and_the_shown_code(
    watched: Watched, empty: loom.Workbench
) -> None:
    address = empty.identity.discovery_url
    about = watched.ask(
        "deploy", what="calculator", name="guarded", authorizer="jwt", discovery_url=address, clients="web, app"
    )
    jwt = empty.agent("guarded").entry.raw_metadata["authorizerConfiguration"]["customJWTAuthorizer"]
    assert (jwt["discoveryUrl"], jwt["allowedClients"]) == (address, ["web", "app"])
    assert about["facts"]["callers"] == f"tokens of {address} (client web, app)"
    assert f"authorizer=loom.JwtAuthorizer(discovery_url={address!r}, clients=['web', 'app'])" in watched.panel.code
    compile(watched.panel.code, "copied", "exec")
    about = watched.ask("deploy", what="calculator", name="guarded", authorizer="local")
    assert "authorizer='local'" in watched.panel.code
    assert empty.agent("guarded").invoke("What is 2+2?", bearer=empty.identity.token("alice")).ok
    about = watched.ask("deploy", what="calculator", name="guarded")
    assert about["facts"]["callers"] == "AWS identities (SigV4)"


def test_an_agent_goes_out_of_the_catalog_comes_back_by_its_arn_and_is_deleted(
    watched: Watched, empty: loom.Workbench
) -> None:
    arn = watched.ask("deploy", what="calculator")["arn"]
    assert watched.ask("refresh", arn=arn)["facts"]["status"] == "READY"
    assert watched.ask("remove", arn=arn, delete_runtime=False) == {}
    assert "calculator" not in names(watched)
    assert "stays deployed" in watched.panel.status
    assert watched.ask("register", arn=f"  {arn}\n")["name"] == "calculator"
    assert "calculator" in names(watched)
    # Deleted behind the panel's back, then refreshed: it says so and goes on.
    delete_runtime(empty.clients, empty.agent("calculator").entry.runtime_id, region=empty.clients.region)
    watched.ask("refresh")
    assert watched.ask("describe", arn=arn)["gone"] is True
    assert "calculator is DELETED" in watched.panel.status
    assert watched.ask("remove", arn=arn, delete_runtime=False) == {}
    arn = watched.ask("deploy", what="calculator")["arn"]
    assert watched.ask("remove", arn=arn, delete_runtime=True) == {}
    assert "deleted" in watched.panel.status
    assert watched.ask("register", arn=arn) == {"failed": True}
    assert watched.panel.error["what"]


@pytest.mark.parametrize(
    ("action", "form", "part"),
    [
        ("deploy", {"what": ""}, "nothing to deploy"),
        ("deploy", {"what": HOSTILE}, "Nothing to deploy"),
        ("deploy", {"what": "calculator", "environment": "A=1\nhunter2 without a name"}, "NAME=value"),
        ("deploy", {"what": "calculator", "memory": "no-such-memory"}, ""),
        ("deploy", {"what": "calculator", "authorizer": "jwt"}, "issuer's address"),
        ("deploy", {"what": "calculator", "authorizer": "jwt", "discovery_url": HOSTILE}, "no rule"),
        ("register", {"arn": " "}, "nothing to register"),
        ("register", {"arn": HOSTILE}, "ARN"),
        ("remove", {"arn": HOSTILE}, "no such agent"),
        ("describe", {"arn": 7}, "text"),
    ],
)
def test_what_cannot_be_done_is_reported_in_three_parts(
    watched: Watched, action: str, form: dict[str, object], part: str
) -> None:
    assert watched.ask(action, **form) == {"failed": True}
    assert part in watched.panel.error["what"]
    assert watched.panel.error["try"]
    assert "hunter2" not in str(watched.panel.error)
    assert watched.panel.state.get("deployment", {}).get("state") != "running"
    assert "<img" not in watched.panel._repr_html_()


def test_an_empty_catalog_teaches_and_a_stopped_service_is_a_sentence(tmp_path: Path) -> None:
    home = tmp_path / "home"
    try:
        with loom.connect(home=home) as bench:
            panel = loom_widgets.build(bench)
            watched = Watched(panel)
            assert panel.status == "No agents yet."
            assert panel.state["count"] == 0
            assert watched.ask("refresh") == {}
            watched.ask("deploy", what="echo")
            local.stop(home)
            for action in ("refresh", "deploy"):
                assert watched.ask(action, what="echo") == {"failed": True}
                assert "none was expected" not in panel.error["what"]
                assert panel.error["try"]
            assert panel.state["deployment"]["state"] == "failed"
            assert names(watched) == ["echo"]
            panel.close()
    finally:
        local.stop(home)


def test_an_endpoint_is_promoted_and_rolled_back(watched: Watched, empty: loom.Workbench, tmp_path: Path) -> None:
    for word in ("one", "two"):
        (tmp_path / "agent.py").write_text(_AGENT.replace('"none"', repr(word)))
        agent = empty.deploy(tmp_path, name="versioned", platform_version="V1")
    opened = watched.ask("releases", arn=agent.arn)
    assert [(row["endpoint"], row["version"]) for row in opened["endpoints"]] == [("DEFAULT", "2")]
    assert opened["versions"] == ["2", "1"]
    for version in ("1", "2"):
        served = watched.ask("promote", arn=agent.arn, endpoint="prod", version=version)
        compile(watched.panel.code, "copied", "exec")
    assert served["endpoints"][1]["before"] == "1"
    assert "prod serves version 2." in watched.panel.status
    back = watched.ask("roll_back", arn=agent.arn, endpoint="prod")
    assert (back["endpoints"][1]["version"], back["endpoints"][1]["before"]) == ("1", "")
    assert "agent.releases.rollback('prod')" in watched.panel.code
    row = next(row for row in watched.ask("page", table="agents")["rows"] if row["name"] == "versioned")
    assert row["qualifiers"] == "DEFAULT, prod"
    watched.ask("promote", arn=agent.arn, endpoint=" ", version="1")
    assert watched.panel.error["on"] == "no name is given"
