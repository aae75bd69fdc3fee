"""A deployment whose process is killed: the next one finishes it, or undoes it, and nothing is made twice."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aws_place import KilledDeploys, Leftovers, aws_at, leftovers
from recording_proxy import SentRequest

import loomlib as loom
from loomlib import local
from loomlib.workbench.planning import roll_back

_REGIONS = ("eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1", "eu-north-1")
"""Each test has a region of its own, where no other agent keeps the bucket."""


def creates_bucket(request: SentRequest) -> bool:
    return (
        request.method == "PUT" and request.target.strip("/").startswith("loom-code") and request.target.count("/") == 1
    )


def creates_role(request: SentRequest) -> bool:
    return b"Action=CreateRole&" in request.body


def creates_runtime(request: SentRequest) -> bool:
    return request.method == "PUT" and request.target.rstrip("/").endswith("/runtimes")


@pytest.fixture(scope="module")
def killed(service: local.ServiceState, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KilledDeploys]:
    with contextlib.closing(KilledDeploys(service, tmp_path_factory.mktemp("killed") / "home")) as deploys:
        yield deploys


@pytest.fixture
def aws(service: local.ServiceState, killed: KilledDeploys) -> Iterator[Callable[[str], loom.Workbench]]:
    """Opens workbenches of a region with the home of the killed processes."""
    with aws_at(service, killed.home), contextlib.ExitStack() as stack:
        yield lambda region: stack.enter_context(loom.connect("aws", region=region))


def is_there_once(remaining: Leftovers) -> bool:
    return (len(remaining.runtimes), len(remaining.roles), len(remaining.packages)) == (
        1,
        1,
        1,
    ) and remaining.has_bucket


def is_gone(remaining: Leftovers) -> bool:
    return not (remaining.runtimes or remaining.roles or remaining.packages)


def test_a_deploy_killed_three_times_is_finished_by_the_next_one(
    killed: KilledDeploys, aws: Callable[[str], loom.Workbench], make_agent: Callable[..., Path]
) -> None:
    folder, region = make_agent(), _REGIONS[0]
    for moment in (creates_bucket, creates_role, creates_runtime):
        requests = killed.run(folder, "resumed", region, at=lambda _number, request, moment=moment: moment(request))
        assert moment(requests[-1])
    bench = aws(region)
    plan = bench.plan(folder, name="resumed", platform_version="V1")
    assert "An earlier deployment of this agent was interrupted" in repr(plan)
    assert plan.apply().status == "READY"
    assert is_there_once(leftovers(bench, "resumed"))
    again = bench.plan(folder, name="resumed", platform_version="V1")
    assert again.value.is_empty
    assert "interrupted" not in repr(again)


def test_rolling_back_a_killed_deploy_leaves_nothing(
    killed: KilledDeploys, aws: Callable[[str], loom.Workbench], make_agent: Callable[..., Path]
) -> None:
    folder, region = make_agent(), _REGIONS[1]
    killed.run(folder, "undone", region, at=lambda _number, request: creates_runtime(request))
    bench = aws(region)
    assert is_there_once(leftovers(bench, "undone"))
    plan = bench.plan(folder, name="undone", platform_version="V1")
    assert len(plan.rollback()) == 4
    remaining = leftovers(bench, "undone")
    assert is_gone(remaining)
    assert not remaining.has_bucket
    assert plan.rollback() == []


def test_a_killed_deploy_is_undone_without_a_package_or_its_resources(
    killed: KilledDeploys, aws: Callable[[str], loom.Workbench], make_agent: Callable[..., Path]
) -> None:
    folder, region = make_agent(), _REGIONS[3]
    killed.run(folder, "undone_only", region, at=lambda _number, request: creates_runtime(request))
    bench = aws(region)
    (folder / "requirements.txt").write_text("./not-published\n")
    file = '[agent]\nname = "undone_only"\n[resources]\nmemories = {M = "gone"}\n'
    (folder / "loom-agent.toml").write_text(file)
    with pytest.raises(loom.errors.DeployError):
        bench.plan(folder)
    assert len(roll_back(bench.context, folder, {}, report=lambda _line: None)) == 4
    assert is_gone(leftovers(bench, "undone_only"))


def test_an_old_journal_does_not_delete_a_runtime_that_has_been_released_since(
    killed: KilledDeploys, aws: Callable[[str], loom.Workbench], make_agent: Callable[..., Path]
) -> None:
    folder, region = make_agent(), _REGIONS[4]
    killed.run(folder, "released", region, at=lambda _number, request: creates_runtime(request))
    bench = aws(region)
    (runtime_id,) = leftovers(bench, "released").runtimes
    place = f"arn:aws:bedrock-agentcore:{region}:{bench.clients.account_id()}:runtime"
    # from another machine, which has no such journal
    bench.register(f"{place}/{runtime_id}").releases.create("prod", 1)
    plan = bench.plan(folder, name="released", platform_version="V1")
    with pytest.raises(loom.errors.DeployError, match="endpoints that this deployment did not make: prod"):
        plan.rollback()
    assert is_there_once(leftovers(bench, "released"))
    assert plan.apply().status == "READY"
    assert plan.rollback() == []


@pytest.mark.long
@pytest.mark.parametrize("series", range(5))
def test_six_kills_at_random_requests_leave_nothing_half_made(
    killed: KilledDeploys, aws: Callable[[str], loom.Workbench], make_agent: Callable[..., Path], series: int
) -> None:
    """Five series are thirty kills: half of the deployments are finished by the next one, half are undone."""
    folder, region, chosen = make_agent(), _REGIONS[2], random.Random(series)
    whole = killed.run(folder, f"counted_{series}", region, at=lambda _number, _request: False)
    bench = aws(region)
    for number in range(6):
        name, last = f"killed_{series}_{number}", chosen.randint(1, len(whole))
        killed.run(folder, name, region, at=lambda count, _request, last=last: count == last)
        plan = bench.plan(folder, name=name, platform_version="V1")
        if number % 2 and not plan.value.is_empty:
            plan.rollback()
            assert is_gone(leftovers(bench, name)), (series, number, last)
        else:
            plan.apply()
            assert is_there_once(leftovers(bench, name)), (series, number, last)
        for runtime_id in leftovers(bench, name).runtimes:
            bench.clients.control().delete_agent_runtime(agentRuntimeId=runtime_id)
