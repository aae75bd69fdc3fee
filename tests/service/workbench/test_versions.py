"""Versions and endpoints of an agent: promotion, rollback, and what is refused."""

from __future__ import annotations

import pytest
from released_agent import deploy_version

from loomlib.errors import AwsError, ConflictError, LoomError, ResourceNotFoundError


@pytest.fixture(scope="module")
def agent(bench, tmp_path_factory):
    """Three versions; the fourth cannot start."""
    folder = tmp_path_factory.mktemp("released")
    for version in ("one", "two", "three"):
        agent = deploy_version(bench, folder, "released", version)
    (folder / "requirements.txt").write_text("no-such-package-anywhere==9.9\n")
    with pytest.raises(AwsError):
        deploy_version(bench, folder, "released", "four")
    return agent.refresh()


def answer(agent, endpoint):
    return agent.at(endpoint).invoke("?").text


def test_versions_say_what_serves_them_and_what_they_are_made_of(agent):
    agent.releases.promote("listed", version=2)
    table = agent.versions().set_index("version")
    assert list(table.index) == ["4", "3", "2", "1"]
    assert list(table["status"]) == ["UPDATE_FAILED", "READY", "READY", "READY"]
    assert table.loc["2", "endpoints"] == "listed"
    assert "DEFAULT" in table.loc["3", "endpoints"]
    assert len(set(table["code"])) == 4
    assert all(len(code) == 16 for code in table["code"])
    assert list(table["created"]) == sorted(table["created"], reverse=True)
    assert set(table["platform"]) == {"V1"}


def test_an_endpoint_serves_the_promoted_version_and_returns_to_the_one_before(agent):
    made = agent.releases.create("prod", version=1, description="production")
    assert (made.version, made.status) == ("1", "READY")
    assert "one" in answer(agent, "prod")
    lines = []
    moved = agent.releases.promote("prod", version=2, progress=lines.append)
    assert (moved.version, moved.value.description) == ("2", "production")
    assert any("endpoint prod: READY, serves version 2" in line for line in lines)
    assert "two" in answer(agent, "prod")
    agent.endpoint("prod").promote(3)
    assert "three" in answer(agent, "prod")
    assert agent.endpoint("prod").rollback().version == "2"
    assert agent.endpoint("prod").rollback().version == "1"
    assert "one" in answer(agent, "prod")
    with pytest.raises(LoomError, match="no version that the endpoint served before"):
        agent.releases.rollback("prod")
    actions = list(agent.releases.history("prod")["action"])
    assert actions == ["rolled back", "rolled back", "promoted", "promoted", "created"]
    assert agent.releases.endpoints().set_index("endpoint").loc["prod", "version"] == "1"


def test_an_endpoint_never_serves_a_version_that_is_not_ready(agent):
    agent.releases.promote("careful", version=3)
    with pytest.raises(ConflictError, match="versions that are READY; version 4 is UPDATE_FAILED"):
        agent.releases.promote("careful", version=4)
    with pytest.raises(ResourceNotFoundError, match=r"no version 77.*version 4, 3, 2 or 1"):
        agent.releases.promote("careful", version=77)
    assert agent.endpoint("careful").version == "3"
    assert list(agent.releases.history("careful")["action"]) == ["created"]
    assert agent.releases.create("newest").version == "3"  # the newest one that is READY


def test_a_version_that_another_tool_chose_is_what_a_rollback_returns_to(agent, bench):
    agent.releases.promote("shared", version=1)
    bench.clients.control().update_agent_runtime_endpoint(
        agentRuntimeId=agent.entry.runtime_id, endpointName="shared", agentRuntimeVersion="2"
    )
    agent.releases.promote("shared", version=3)
    assert agent.releases.rollback("shared").version == "2"
    assert agent.releases.rollback("shared").version == "1"


def test_a_promotion_to_what_is_served_changes_nothing(agent):
    agent.releases.promote("same", version=2)
    agent.releases.promote("same", version=2)
    assert len(agent.releases.history("same")) == 1


def test_the_version_of_one_environment_is_promoted_to_the_next(agent):
    agent.releases.promote("staging", version=2)
    assert agent.releases.promote("production", source="staging").version == "2"
    with pytest.raises(ValueError, match="give a version, or the source"):
        agent.releases.promote("production")


def test_default_follows_the_newest_version_and_cannot_be_moved_or_deleted(agent):
    with pytest.raises(LoomError, match="DEFAULT always serves the newest version"):
        agent.releases.promote("DEFAULT", version=1)
    with pytest.raises(LoomError, match="DEFAULT is deleted only with the runtime"):
        agent.releases.delete("DEFAULT")


def test_a_deleted_endpoint_is_gone_and_its_history_begins_anew(agent):
    agent.releases.promote("brief", version=1)
    agent.releases.promote("brief", version=2)
    assert agent.endpoint("brief").delete()
    assert not agent.releases.delete("brief")
    with pytest.raises(ResourceNotFoundError, match=r"no such endpoint.*releases.create\('brief'\)"):
        agent.endpoint("brief")
    with pytest.raises(LoomError, match="The agent has no such endpoint"):
        agent.at("brief")
    agent.releases.create("brief", version=3)
    with pytest.raises(LoomError, match="no version that the endpoint served before"):
        agent.releases.rollback("brief")
