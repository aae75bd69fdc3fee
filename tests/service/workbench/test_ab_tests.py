"""An A/B test of two versions behind one endpoint, against real sessions."""

from __future__ import annotations

import pytest
from released_agent import deploy_version

import loomlib as loom
from loomlib.errors import LoomError
from loomlib.evals.evaluators.functions import FunctionEvaluator
from loomlib.evals.values.cases import Turn


@pytest.fixture(scope="module")
def agent(bench, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tested")
    for version in ("one", "two"):
        agent = deploy_version(bench, folder, "tested", version)
    agent.releases.create("prod", version=1)
    return agent


@pytest.fixture(scope="module")
def test(agent):
    ab_test = agent.releases.start_ab_test("prod", {1: 0.5, 2: 0.5}, sessions=12)
    yield ab_test
    if ab_test.state == "running":
        ab_test.stop()


def session(number):
    return f"session-of-a-user-{number:020}"


def says_two(answer):
    return "two" in answer


def test_a_session_stays_with_its_version_and_both_versions_answer(test):
    chosen = {test.design.arm_of(session(number)).version: session(number) for number in range(40)}
    assert set(chosen) == {"1", "2"}
    for version, name in chosen.items():
        for _ in range(2):
            answer = test.invoke("which?", session_id=name)
            assert answer.ok, answer.error
            assert {"1": "one", "2": "two"}[version] in answer.text
    early = test.result()
    assert early.is_early
    assert early.value.sessions == (1, 1)
    assert "2 of 12 planned sessions analyzed: nothing is decided yet" in repr(early)


def test_scores_of_an_evaluation_are_compared_by_version(agent, bench):
    staged = agent.releases.create("staging", version=1)
    test = agent.releases.start_ab_test(staged.name, {1: 0.5, 2: 0.5}, sessions=14)
    cases = [loom.EvalCase(id=f"c{n}", turns=[Turn(prompt=f"which? {n}")]) for n in range(14)]
    evalset = loom.EvalSet(name="versions", cases=cases)
    run = loom.evaluate(test.target(), evalset, [says_two])
    scores = test.result(run).value["says_two"]
    assert sum(scores.sessions) == 14
    assert sum(scores.unknown) == 0
    assert agent.releases.ab_tests().set_index("id").loc[test.id, "sessions"] == 14
    result = test.result(evaluators=[FunctionEvaluator(function=says_two, name="two")])
    assert not result.is_early
    assert {"two", "latency", "cost", "failure rate"} == set(result.table()["metric"])
    assert "A/B test" in result._repr_html_()
    assert "14 sessions" in repr(result)
    assert (sum(result.value["two"].sessions), sum(result.value["two"].unknown)) == (14, 0)
    if min(scores.sessions) >= 6:
        assert (scores.control.value, scores.treatment.value) == (0.0, 1.0)
    assert test.stop(promote=2).state == "stopped"
    assert agent.endpoint("staging").version == "2"
    assert "staging_v2" not in agent.entry.qualifiers
    with pytest.raises(LoomError, match="The A/B test has ended"):
        test.invoke("which?")


def test_an_endpoint_of_a_running_test_is_not_promoted_rolled_back_or_deleted(agent, test):
    for change in (
        lambda: agent.releases.promote("prod", version=2),
        lambda: agent.releases.rollback("prod"),
        lambda: agent.releases.delete("prod_v2"),
        lambda: agent.releases.start_ab_test("prod", {1: 0.5, 2: 0.5}, sessions=12),
    ):
        with pytest.raises(LoomError, match=f"An A/B test runs behind the endpoint.*{test.id}.*stop()"):
            change()
    assert agent.releases.ab_test("prod").id == agent.releases.ab_test(test.id).id == test.id


def test_a_test_of_versions_that_the_endpoint_does_not_serve_is_refused(agent):
    agent.releases.promote("other", version=2)
    with pytest.raises(LoomError, match="serves version 2, but the test compares versions 1 and 3"):
        agent.releases.start_ab_test("other", {1: 0.5, 3: 0.5}, sessions=12)
    with pytest.raises(ValueError, match="add up to 1"):
        agent.releases.start_ab_test("other", {1: 0.5, 2: 0.6}, sessions=12)
    with pytest.raises(ValueError, match="two versions, not 1"):
        agent.releases.start_ab_test("other", {1: 1.0}, sessions=12)
    with pytest.raises(LoomError, match="no such A/B test"):
        agent.releases.ab_test("nothing")


def start(agent, endpoint, **options):
    return agent.releases.start_ab_test(endpoint, {1: 0.5, 2: 0.5}, sessions=12, **options)


def test_a_test_that_has_ended_changes_nothing_once_its_endpoints_are_used_for_something_else(agent, bench, tmp_path):
    agent.releases.create("again", version=1)
    former = start(agent, "again").stop()
    later = start(agent, "again")
    with pytest.raises(LoomError, match=f"An A/B test runs behind the endpoint.*{later.id}"):
        former.stop(promote=2)
    assert (agent.endpoint("again").version, agent.endpoint("again_v2").version) == ("1", "2")
    later.stop(promote=2).stop(promote=2)
    assert "again_v2" not in agent.entry.qualifiers
    deploy_version(bench, tmp_path, "tested", "three")
    agent.releases.promote("again", version=3)
    with pytest.raises(LoomError, match="has ended, and its endpoint now serves version 3"):
        later.stop(promote=2)
    assert agent.endpoint("again").version == "3"


@pytest.mark.parametrize(("name", "description"), [("ours", "staging of a customer"), ("plain", "")])
def test_an_endpoint_that_was_not_created_for_a_test_is_neither_used_nor_deleted_by_one(agent, name, description):
    agent.releases.create(name, version=1)
    former = start(agent, name).stop()
    agent.releases.create(f"{name}_v2", version=1, description=description)
    with pytest.raises(LoomError, match=rf"Loom did not create it for a test.*{name}_v2"):
        start(agent, name)
    former.stop()
    assert agent.endpoint(f"{name}_v2").version == "1"


def test_a_start_that_was_interrupted_can_be_repeated(agent):
    def interrupt(line):
        raise KeyboardInterrupt

    agent.releases.create("interrupted", version=1)
    with pytest.raises(KeyboardInterrupt):
        start(agent, "interrupted", progress=interrupt)
    start(agent, "interrupted").stop()
    assert "interrupted_v2" not in agent.entry.qualifiers
