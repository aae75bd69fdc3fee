"""`loom versions|endpoints|promote|rollback|diff` as a person types them."""

from __future__ import annotations

import json
import os

import pytest
from released_agent import deploy_version


@pytest.fixture(scope="module")
def loom(loom_command, bench, home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    for version in ("one", "two"):
        deploy_version(bench, folder, "typed", version)

    def call(*arguments, code=0):
        ran = loom_command.run(*arguments, environment={**os.environ, "LOOM_HOME": str(home)})
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran

    return call


def test_an_environment_is_promoted_to_the_next_and_rolled_back(loom):
    assert "staging of typed serves version 1" in loom("promote", "typed", "staging", "--version", "1").stderr
    assert "prod of typed serves version 1" in loom("promote", "typed", "staging", "prod").stderr
    moved = json.loads(loom("--json", "promote", "typed", "prod", "--version", "2").stdout)
    assert moved == {"agent": "typed", "endpoint": "prod", "version": "2", "before": "1", "status": "READY"}
    assert "prod of typed serves version 1 (before: 2)" in loom("rollback", "typed", "prod").stderr
    rows = {row["endpoint"]: row for row in json.loads(loom("--json", "endpoints", "typed").stdout)}
    assert (rows["prod"]["version"], rows["DEFAULT"]["version"]) == ("1", "2")
    listed = json.loads(loom("--json", "versions", "typed").stdout)
    assert [(row["version"], row["status"]) for row in listed] == [("2", "READY"), ("1", "READY")]
    assert "rolled back" in loom("endpoints", "typed", "--history").stdout
    assert "does not contain an earlier version of the endpoint" in loom("rollback", "typed", "prod", code=1).stderr


def test_two_versions_are_compared(loom):
    assert "No A/B tests." in loom("ab-tests", "typed").stdout
    assert "no such A/B test" in loom("ab-tests", "typed", "nothing", code=1).stderr
    assert '+VERSION = "two"' in loom("diff", "typed", "1", "2").stdout
    assert json.loads(loom("--json", "diff", "typed", "1").stdout)["after"] == "2"


def test_a_promotion_without_a_version_is_explained(loom):
    assert "Give SOURCE and ENDPOINT, or ENDPOINT and --version." in loom("promote", "typed", "prod", code=2).stderr
