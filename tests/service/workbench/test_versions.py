"""Versions and endpoints of an agent: promotion, rollback, and what is refused."""

from __future__ import annotations

import pytest
from released_agent import deploy_version

from loomlib.errors import AwsError, ConflictError, LoomError, ResourceNotFoundError


@pytest.fixture(scope="module")
def agent(bench, tmp_path_factory):
    """Three versions; the fourth cannot be made, and the fifth is the third again, which its deployment restored."""
    folder = tmp_path_factory.mktemp("released")
    for version in ("one", "two", "three"):
        agent = deploy_version(bench, folder, "released", version)
    (folder / "requirements.txt").write_text("no-such-package-anywhere==9.9\n")
    with pytest.raises(AwsError):
        deploy_version(bench, folder, "released", "four")
    return agent.refresh()


def answer(agent, endpoint):
    return agent.at(endpoint).invoke("?").text


def endpoints_by_version(agent):
    control = agent.context.clients.control()
    listed = control.list_agent_runtime_endpoints(agentRuntimeId=agent.entry.runtime_id, maxResults=100)
    serving = {str(version): set() for version in range(1, 6)}
    for endpoint in listed["runtimeEndpoints"]:
        serving[endpoint["liveVersion"]].add(endpoint["name"])
    return serving


def test_versions_say_what_serves_them_and_what_they_are_made_of(agent):
    agent.releases.promote("listed", version=2)
    table = agent.versions().set_index("version")
    assert list(table.index) == ["5", "4", "3", "2", "1"]
    assert list(table["status"]) == ["READY", "UPDATE_FAILED", "READY", "READY", "READY"]
    endpoints = {version: set(filter(None, names.split(", "))) for version, names in table["endpoints"].items()}
    assert endpoints == endpoints_by_version(agent)
    assert "listed" in endpoints["2"]
    assert "DEFAULT" in endpoints["5"]
    assert table.loc["5", "code"] == table.loc["3", "code"]
    assert len(set(table["code"])) == 4
    assert all(len(code) == 16 for code in table["code"])
    assert list(table["created"]) == sorted(table["created"], reverse=True)
    assert set(table["platform"]) == {"V1"}


def test_an_endpoint_serves_the_promoted_version_and_returns_to_the_one_before(agent):
    endpoint = agent.releases.create("prod", version=1, description="production")
    assert (endpoint.version, endpoint.status) == ("1", "READY")
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
    with pytest.raises(LoomError, match="does not contain an earlier version of the endpoint"):
        agent.releases.rollback("prod")
    actions = list(agent.releases.history("prod")["action"])
    assert actions == ["rolled back", "rolled back", "promoted", "promoted", "created"]
    assert agent.releases.endpoints().set_index("endpoint").loc["prod", "version"] == "1"


def test_an_endpoint_never_serves_a_version_that_is_not_ready(agent):
    agent.releases.promote("careful", version=3)
    with pytest.raises(ConflictError, match="versions that are READY; version 4 is UPDATE_FAILED"):
        agent.releases.promote("careful", version=4)
    with pytest.raises(ResourceNotFoundError, match=r"no version 77.*version 5, 4, 3, 2 or 1"):
        agent.releases.promote("careful", version=77)
    assert agent.endpoint("careful").version == "3"
    assert list(agent.releases.history("careful")["action"]) == ["created"]
    assert agent.releases.create("newest").version == "5"  # the newest one that is READY


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
    with pytest.raises(LoomError, match="does not contain an earlier version of the endpoint"):
        agent.releases.rollback("brief")


SECRET = "sk-ant-api03-" + "Zk3vQ8pLw2Rt9Yx7Mn5Bc4Fd6Gh1Jk0Ls"


def test_two_versions_are_compared_by_code_and_configuration_without_their_secrets(bench, tmp_path):
    (tmp_path / "data.bin").write_bytes(b"\0\1\2")
    (tmp_path / "old.txt").write_text("gone\n")
    first = {"KEPT": "same", "TURNED": "value-before", "LEFT": "left-value"}
    agent = deploy_version(bench, tmp_path, "compared", "one", environment=first, idle_timeout_s=120)
    (tmp_path / "data.bin").write_bytes(b"\0\1\3\4")
    (tmp_path / "old.txt").unlink()
    (tmp_path / "large.txt").write_text("x" * 300_000)
    second = {"KEPT": "same", "TURNED": "value-after", "CAME": "came-value"}
    code = f'KEY = "{SECRET}"\nMARK = "<script>"'
    agent = deploy_version(bench, tmp_path, "compared", "two", more=code, environment=second, idle_timeout_s=300)
    diff = agent.releases.diff(1)
    assert {'-VERSION = "one"', '+VERSION = "two"'} <= set(diff.text.splitlines())
    output = f"{diff!r} {diff._repr_html_()} {diff.to_dict()} {diff.table().to_string()}"
    assert SECRET not in output
    for value in ("value-before", "value-after", "left-value", "came-value"):
        assert value not in output
    assert "[api key 1]" in diff.text or "[secret 1]" in diff.text, diff.text
    rows = {(row["kind"], row["name"]): row["change"] for row in diff.to_dict()["differences"]}
    assert rows == {
        ("file", "agent.py"): "changed",
        ("file", "data.bin"): "changed",
        ("file", "large.txt"): "added",
        ("file", "old.txt"): "removed",
        ("setting", "lifecycleConfiguration.idleRuntimeSessionTimeout"): "changed",
        ("variable", "CAME"): "added",
        ("variable", "LEFT"): "removed",
        ("variable", "TURNED"): "changed",
    }
    assert "data.bin: changed, 3 B → 4 B (binary)" in repr(diff)
    assert "large.txt: added, 300 kB (large)" in repr(diff)
    assert "4 files, 1 setting and 3 environment variables differ between version 1 and version 2." in diff.sentence()
    assert "<script>" not in diff._repr_html_()
    assert agent.releases.diff(2, 2).sentence() == "Versions 2 and 2 have the same code and configuration."
    assert agent.releases.diff("DEFAULT", 1).value.before == "2"
    bench.clients.s3().delete_object(Bucket=agent_bucket(agent), Key=package_key(agent, 1))
    assert "The code cannot be compared" in repr(agent.releases.diff(1, 2))


def test_the_code_of_two_versions_from_an_object_that_may_have_changed_is_not_called_the_same(bench, tmp_path):
    agent = deploy_version(bench, tmp_path, "overwritten", "one")
    control, s3 = bench.clients.control(), bench.clients.s3()
    source, place = {"Bucket": agent_bucket(agent), "Key": package_key(agent, 1)}, {"Bucket": "others", "Key": "it.zip"}
    s3.create_bucket(Bucket="others")
    s3.copy_object(**place, CopySource=source)
    described = control.get_agent_runtime(agentRuntimeId=agent.entry.runtime_id)
    artifact = described["agentRuntimeArtifact"]
    artifact["codeConfiguration"]["code"] = {"s3": {"bucket": place["Bucket"], "prefix": place["Key"]}}
    for version in (2, 3):
        control.update_agent_runtime(
            agentRuntimeId=agent.entry.runtime_id,
            agentRuntimeArtifact=artifact,
            roleArn=described["roleArn"],
            networkConfiguration={"networkMode": "PUBLIC"},
            platformVersion="V1",
        )
        agent.releases.promote("prod", version=version)  # waits until it is READY
    diff = agent.releases.diff(2, 3)
    assert diff.value.files is None
    assert "both versions are from s3://others/it.zip, which may have changed in between" in repr(diff)
    assert agent.releases.diff(3, 3).value.is_empty


def agent_bucket(agent):
    return agent.entry.raw_metadata["agentRuntimeArtifact"]["codeConfiguration"]["code"]["s3"]["bucket"]


def package_key(agent, version):
    described = agent.context.clients.control().get_agent_runtime(
        agentRuntimeId=agent.entry.runtime_id, agentRuntimeVersion=str(version)
    )
    return described["agentRuntimeArtifact"]["codeConfiguration"]["code"]["s3"]["prefix"]
