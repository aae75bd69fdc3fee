"""Versions, endpoints, an A/B test and removal on the AWS account of the environment: `pytest -m aws`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import boto3
import pytest
from aws_place import leftovers

import loomlib as loom
from loomlib.errors import LoomError

NAME = "loom_releases"


@pytest.mark.aws
def test_releases_behave_on_an_account_as_on_the_local_agentcore(
    make_agent: Callable[..., Path], tmp_path: Path
) -> None:
    session = boto3.Session()
    if session.get_credentials() is None or session.region_name is None:
        pytest.skip("the environment has no credentials and region of an AWS account")
    folder = make_agent(NAME, requirements__txt="bedrock-agentcore\n")
    with loom.connect("aws", home=tmp_path / "home") as bench:
        agent = None
        try:
            for version in ("one", "two"):
                (folder / "version.txt").write_text(version)
                agent = bench.deploy(folder, name=NAME, platform_version="V1")
            assert agent is not None
            release(agent)
        finally:
            if agent is not None:
                agent.releases.removal_plan().apply()
        remaining = leftovers(bench, NAME)
        assert (remaining.runtimes, remaining.roles, remaining.packages) == ([], [], [])


def release(agent: loom.Agent) -> None:
    assert list(agent.versions()["version"]) == ["2", "1"]
    assert agent.releases.promote("prod", version=1).version == "1"
    assert agent.at("prod").invoke("hello").ok
    assert agent.releases.promote("prod", version=2).version == "2"
    assert agent.endpoint("prod").rollback().version == "1"
    with pytest.raises(LoomError, match="The agent has no version 77"):
        agent.releases.promote("prod", version=77)
    assert "+two" in agent.releases.diff(1, 2).text
    test = agent.releases.start_ab_test("prod", {1: 0.5, 2: 0.5}, sessions=12)
    for version in ("1", "2"):
        names = (f"session-of-the-test-{number:020}" for number in range(99))
        answer = test.invoke(
            "hello", session_id=next(name for name in names if test.design.arm_of(name).version == version)
        )
        assert answer.ok, answer.error
    assert test.result().is_early
    test.stop(promote=2)
    assert agent.endpoint("prod").version == "2"
    assert agent.releases.tags.set({"purpose": "test"})["purpose"] == "test"
