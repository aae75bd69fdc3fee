"""Tags and groups of agents, and the catalog as a file."""

from __future__ import annotations

import json
import os

import pytest
from released_agent import deploy_version

import loomlib as loom
from loomlib.agents.message_format import MessageFormat
from loomlib.errors import LoomError
from loomlib.reports import chosen_agents

SECRET = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture(scope="module")
def agents(bench, tmp_path_factory):
    folder = tmp_path_factory.mktemp("catalog")
    environment = {"API_KEY": "value-that-is-secret"}
    return [deploy_version(bench, folder, name, name, environment=environment) for name in ("first", "second")]


def test_tags_reach_the_runtime_and_choose_agents(bench, tmp_path):
    agent = deploy_version(bench, tmp_path, "labelled", "one")
    assert agent.releases.tags.set({"team": "search", "stage": "prod"})["team"] == "search"
    stored = bench.clients.control().list_tags_for_resource(resourceArn=agent.arn)["tags"]
    assert stored.items() >= {"team": "search", "stage": "prod"}.items()
    assert list(bench.agents(tags={"team": "search"})["name"]) == ["labelled"]
    assert bench.agents(tags={"team": "search"})["tags"].tolist() == ["stage=prod, team=search"]
    assert "stage" not in agent.releases.tags.remove("stage", "absent")
    bench.clients.control().tag_resource(resourceArn=agent.arn, tags={"by": "hand"})
    assert list(bench.agents(tags={"by": "hand"}, refresh=True)["name"]) == ["labelled"]
    with pytest.raises(ValueError, match="the tag loom:agent is reserved"):
        agent.releases.tags.remove("loom:agent")


def test_a_group_chooses_agents_for_the_table_for_reports_and_for_the_overview(bench, agents):
    bench.groups.add("team-a", *agents)
    bench.groups.add("team-b", "second")
    assert set(bench.agents(group="team-a")["name"]) == {"first", "second"}
    assert list(bench.agents(group="team-b")["name"]) == ["second"]
    assert [agent.name for agent in chosen_agents(bench, "group:team-b", otherwise="echo")] == ["second"]
    assert len(bench.telemetry.overview(agents=["group:team-a", "second"]).entries) == 2
    assert bench.groups.table().set_index("group").loc["team-a", "agents"] == 2
    assert bench.groups.remove("team-b", "second") == 1
    with pytest.raises(LoomError, match=r"no such group of agents.*team-b.*team-a"):
        bench.agents(group="team-b")
    with pytest.raises(ValueError, match="a group's name has letters"):
        bench.groups.add("no spaces", "first")


def test_an_exported_catalog_has_no_secrets_and_is_imported_elsewhere(bench, agents, home, tmp_path):
    first = agents[0]
    first.releases.tags.set({"key": SECRET})
    bench.groups.add("exported", *agents)
    form = MessageFormat(request={"message": "{prompt}"}, answer="result")
    bench.context.store.agents.set_message_format(first.entry.id, form.members())
    bench.clients.control().tag_resource(resourceArn=agents[1].arn, tags={"unread": "yes"})
    file = bench.groups.export_file(tmp_path / "catalog.json", group="exported")
    text = file.read_text()
    assert SECRET not in text
    assert "value-that-is-secret" not in text
    assert "API_KEY" not in text
    document = json.loads(text)
    assert [agent["name"] for agent in document["agents"]] == ["first", "second"]
    assert list(document["groups"]) == ["exported"]
    assert document["agents"][1]["tags"] == {"unread": "yes"}
    other = f"sqlite:///{tmp_path}/other.db"
    with loom.connect(home=home, database_url=other) as elsewhere:
        assert len(elsewhere.agents()) == 0
        report = elsewhere.groups.import_file(file)
        assert [entry.outcome for entry in report.entries] == ["added", "added"]
        assert set(elsewhere.agents(group="exported")["name"]) == {"first", "second"}
        assert elsewhere.agent("first").entry.message_format == form
        assert elsewhere.agent("first").entry.tags["key"] == SECRET  # from the runtime, not from the file
        again = elsewhere.groups.import_file(file)
        assert again.sentence() == "2 agents: 2 known · 1 group"
        assert elsewhere.groups.export_file(tmp_path / "again.json").read_text() == text
    bench.context.store.agents.set_message_format(first.entry.id, None)


def test_an_agent_that_is_gone_does_not_stop_the_import_of_the_others(bench, agents, tmp_path):
    bench.groups.add("with-one-gone", *agents)
    file = bench.groups.export_file(tmp_path / "catalog.json", group="with-one-gone")
    document = json.loads(file.read_text())
    missing_agent = json.loads(json.dumps(document["agents"][0]))
    missing_agent["arn"] = missing_agent["arn"][:-10] + "AAAAAAAAAA"
    missing_agent["name"] = "gone"
    document["agents"].insert(0, missing_agent)
    file.write_text(json.dumps(document))
    report = bench.groups.import_file(file)
    assert [entry.agent for entry in report.failed] == ["gone"]
    assert "not found" in report.failed[0].reason.lower()
    assert len(report.entries) == len(document["agents"]) == 3


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "it is not JSON"),
        ("[1]", '"format" is not "loom-catalog"'),
        ('{"format": "loom-catalog", "version": 9}', "its version is 9"),
        ('{"format": "loom-catalog", "version": 1, "agents": [{"arn": "x"}]}', "agent 1 is invalid"),
        ('{"format": "loom-catalog", "version": 1, "groups": {"g": ["arn:x"]}}', "group g has an agent"),
    ],
)
def test_a_file_that_is_no_catalog_gets_one_clear_error(bench, tmp_path, content, complaint):
    (tmp_path / "file.json").write_text(content)
    with pytest.raises(LoomError, match=f"This is not a catalog file.*{complaint}"):
        bench.groups.import_file(tmp_path / "file.json")


def test_the_command_line_exports_imports_groups_tags_and_removes(loom_command, bench, home, tmp_path):
    def call(*arguments, code=0):
        ran = loom_command.run(*arguments, environment={**os.environ, "LOOM_HOME": str(home)})
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran

    deploy_version(bench, tmp_path / "code", "commanded", "one")
    file = tmp_path / "typed.json"
    assert "team-c: commanded" in call("agents", "group", "team-c", "commanded").stderr
    assert json.loads(call("--json", "agents", "export", str(file), "--group", "team-c").stdout)["agents"] == 1
    assert [row["outcome"] for row in json.loads(call("--json", "agents", "import", str(file)).stdout)] == ["known"]
    assert [row["name"] for row in json.loads(call("--json", "agents", "--group", "team-c").stdout)] == ["commanded"]
    assert json.loads(call("--json", "tag", "commanded", "owner=ann").stdout)["owner"] == "ann"
    assert "commanded" in call("agents", "--tag", "owner=ann").stdout
    assert "no agents" in call("agents", "group", "team-c", "commanded", "--remove").stderr
    plan = json.loads(call("--json", "remove", "commanded", "--everything", "--plan").stdout)
    assert {"delete", "keep"} == {step["action"] for step in plan["steps"]}
    assert "commanded" in call("agents").stdout
    call("remove", "commanded", "--everything")
    assert "commanded" not in [row["name"] for row in json.loads(call("--json", "agents").stdout)]
