"""An agent as a container: a repository, a build from a generated Dockerfile, a runtime of the image by its digest."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from echo_agent import ECHO_AGENT
from recording_proxy import SentRequest, operation_of, recording_proxy

from loomlib.aws import Clients, Connection, Package
from loomlib.deploy.deployment import OWN_ROLE, DeployInput, Deployment, DeployTarget
from loomlib.deploy.spec import AgentSpec
from loomlib.errors import AwsError

SERVICES = ("ecr", "codebuild", "bedrock-agentcore-control")
SIGNED = ("ecr", "codebuild", "bedrock-agentcore")


def signed_for(request: SentRequest) -> str:
    """The service in the scope of a request's signature."""
    return request.headers.get("authorization", "////").split("/")[3]


def deployment(clients: Clients, home: Path, folder: Path, name: str) -> Deployment:
    spec = AgentSpec(name=name, build="container", python="3.11")
    package = Package(data=b"", digest="0" * 64, entry_point="agent.py", unzipped_bytes=0)
    deploy_input = DeployInput(spec=spec, package=package, code=folder, role=OWN_ROLE)
    return Deployment(DeployTarget(clients=clients, where="local", home=home), deploy_input)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    code = tmp_path / "code"
    code.mkdir()
    (code / "agent.py").write_text(ECHO_AGENT)
    (code / "requirements.txt").write_text("boto3\n")
    return code


@pytest.fixture
def sent_by(service: Any) -> Iterator[tuple[Clients, list[SentRequest]]]:
    """Clients whose requests are recorded, and the requests."""
    with recording_proxy(service.url) as (address, requests):
        environment = {name: value.replace(service.url, address) for name, value in service.environment().items()}
        with contextlib.closing(Clients(Connection(region=service.region, environment=environment))) as clients:
            yield clients, requests


def test_an_image_is_built_deployed_by_its_digest_and_kept_until_the_code_changes(
    sent_by: tuple[Clients, list[SentRequest]], aws: Any, tmp_path: Path, folder: Path
) -> None:
    clients, requests = sent_by
    lines: list[str] = []
    first = deployment(clients, tmp_path, folder, "Boxed_agent")
    plan = first.plan()
    assert [step.kind for step in plan.steps] == [
        *("bucket", "repository", "role of builds", "project", "image", "role", "runtime")
    ]
    result = first.apply(lines.append)
    runtime = aws.control.get_agent_runtime(agentRuntimeId=result.runtime.runtime_id)
    uri = runtime["agentRuntimeArtifact"]["containerConfiguration"]["containerUri"]
    assert "/loom-boxed_agent@sha256:" in uri
    assert json.loads(aws.invoke(result.runtime.arn, b'{"prompt": "hi"}')[1])["echo"] == {"prompt": "hi"}
    assert any(line.startswith("building the image: ") for line in lines)
    policy = first.policy
    assert policy is not None
    image = next(item for item in policy.statements if item.sid == "Image")
    assert image.resources == (f"arn:aws:ecr:{clients.region}:123456789012:repository/loom-boxed_agent",)

    checked = {
        operation_of(request, SERVICES, region=clients.region) for request in requests if signed_for(request) in SIGNED
    }
    assert checked >= {
        *("ecr.CreateRepository", "ecr.DescribeImages", "codebuild.CreateProject", "codebuild.StartBuild"),
        *("codebuild.BatchGetBuilds", "bedrock-agentcore-control.CreateAgentRuntime"),
    }

    assert deployment(clients, tmp_path, folder, "Boxed_agent").plan().is_empty
    (folder / "agent.py").write_text(ECHO_AGENT.replace('"echo"', '"changed"'))
    changed = deployment(clients, tmp_path, folder, "Boxed_agent")
    assert {step.kind: step.action for step in changed.plan().steps if step.action != "keep"} == {
        "image": "create",
        "runtime": "change",
    }
    again = changed.apply(lines.append)
    assert "changed" in json.loads(aws.invoke(again.runtime.arn, b'{"prompt": "hi"}')[1])


def test_the_template_has_a_role_of_the_agent_s_own_where_the_local_agentcore_needs_none(
    sent_by: tuple[Clients, list[SentRequest]], tmp_path: Path, folder: Path
) -> None:
    clients, _ = sent_by
    deploy_input = DeployInput(
        spec=AgentSpec(name="plain_box", build="container"),
        package=Package(data=b"", digest="0" * 64, entry_point="agent.py", unzipped_bytes=0),
        code=folder,
    )
    plain = Deployment(DeployTarget(clients=clients, where="local", home=tmp_path), deploy_input)
    assert plain.policy is None
    policy = plain.template_policy()
    assert policy is not None
    assert "ecr:BatchGetImage" in policy.actions()


def test_a_build_that_fails_says_why_and_leaves_nothing(
    sent_by: tuple[Clients, list[SentRequest]], aws: Any, tmp_path: Path, folder: Path
) -> None:
    clients, _ = sent_by
    (folder / "Dockerfile").write_text(
        'FROM python:3.11\nWORKDIR /app\nCOPY . .\nRUN make all\nCMD ["python", "agent.py"]\n'
    )
    failing = deployment(clients, tmp_path, folder, "broken_box")
    assert "your own Dockerfile" in next(step.note for step in failing.plan().steps if step.kind == "image")
    with pytest.raises(AwsError, match=r"build of the image failed: phase build: .*make"):
        failing.apply(lambda line: None)
    names = [item["repositoryName"] for item in aws.client("ecr").describe_repositories()["repositories"]]
    assert "loom-broken_box" not in names
    assert "loom-broken_box" not in aws.client("codebuild").list_projects()["projects"]
    roles = [role["RoleName"] for role in aws.client("iam").list_roles()["Roles"]]
    assert not [name for name in roles if "broken_box" in name]


def test_a_build_that_was_interrupted_is_continued_without_a_second_repository(
    sent_by: tuple[Clients, list[SentRequest]], aws: Any, tmp_path: Path, folder: Path
) -> None:
    clients, _ = sent_by

    def interrupt(line: str) -> None:
        if line.startswith("building the image"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deployment(clients, tmp_path, folder, "paused_box").apply(interrupt)
    again = deployment(clients, tmp_path, folder, "paused_box")
    assert any("was interrupted" in note for note in again.plan().notes)
    result = again.apply(lambda line: None)
    assert json.loads(aws.invoke(result.runtime.arn, b'{"prompt": "hi"}')[1])["echo"] == {"prompt": "hi"}
    names = [item["repositoryName"] for item in aws.client("ecr").describe_repositories()["repositories"]]
    assert names.count("loom-paused_box") == 1
    assert deployment(clients, tmp_path, folder, "paused_box").plan().is_empty
