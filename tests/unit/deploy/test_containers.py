"""The Dockerfile, the source and the permissions of an agent's image."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
import yaml

from loomlib.deploy.containers.dockerfile import BUILDSPEC, dockerfile
from loomlib.deploy.containers.names import build_policy, build_trust, repository_name
from loomlib.deploy.containers.source import image_source
from loomlib.deploy.policies import AwsPlace
from loomlib.deploy.spec import AgentSpec
from loomlib.errors import DeployError
from loomlib.local.images.buildspec import read_buildspec
from loomlib.local.images.dockerfile import read_dockerfile

PLACE = AwsPlace(account="123456789012", region="eu-central-1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text("print('hello')\n")
    return tmp_path


def test_an_image_is_for_arm64_and_runs_as_a_user_without_privileges(folder: Path) -> None:
    text = dockerfile(AgentSpec(name="shop", python="3.12"), folder, entry_point="agent.py")
    assert "FROM --platform=linux/arm64 public.ecr.aws/docker/library/python:3.12-slim\n" in text
    assert "pip install" not in text
    assert text.index("USER agent") < text.index("CMD")
    assert read_dockerfile(text, {}).command == ("python", "agent.py")


@pytest.mark.parametrize(
    ("requirements", "entry_point", "command"),
    [
        ("boto3\n", "agent.py", ("python", "agent.py")),
        ("boto3\naws-opentelemetry-distro>=0.12\n", "agent.py", ("opentelemetry-instrument", "python", "agent.py")),
        ("AWS_OpenTelemetry_Distro==0.12\n", "main.py", ("opentelemetry-instrument", "python", "main.py")),
        ("# aws-opentelemetry-distro\n", "agent.py", ("python", "agent.py")),
        ("boto3\n", "opentelemetry-instrument agent.py", ("opentelemetry-instrument", "python", "agent.py")),
    ],
)
def test_requirements_are_installed_first_and_decide_the_instrumentation(
    folder: Path, requirements: str, entry_point: str, command: tuple[str, ...]
) -> None:
    (folder / "requirements.txt").write_text(requirements)
    text = dockerfile(AgentSpec(name="shop"), folder, entry_point=entry_point)
    assert text.index("pip install -r requirements.txt") < text.index("COPY . .")
    assert read_dockerfile(text, {}).command == command


@pytest.mark.parametrize(
    "line",
    [
        "-r requirements/base.txt",
        "-rbase.txt",
        "-c pins.txt",
        "--constraint=pins.txt",
        "./lib",
        "-e .",
        ".",
        "lib @ file:lib.whl",
    ],
)
def test_requirements_that_refer_to_other_files_are_installed_after_the_folder_is_copied(
    folder: Path, line: str
) -> None:
    (folder / "requirements.txt").write_text(f"boto3\n{line}\n")
    text = dockerfile(AgentSpec(name="shop"), folder, entry_point="agent.py")
    assert text.index("COPY . .") < text.index("pip install -r requirements.txt")
    assert text.count("COPY") == 1


@pytest.mark.parametrize(("protocol", "port"), [(None, 8080), ("AGUI", 8080), ("MCP", 8000), ("A2A", 9000)])
def test_the_port_is_that_of_the_protocol(folder: Path, protocol: str | None, port: int) -> None:
    assert f"EXPOSE {port}\n" in dockerfile(AgentSpec(name="shop", protocol=protocol), folder, entry_point="agent.py")


def test_the_source_is_the_same_for_the_same_files_and_another_for_others(folder: Path) -> None:
    spec = AgentSpec(name="shop")
    first, second = image_source(spec, folder), image_source(spec, folder)
    assert first.data == second.data
    (folder / "agent.py").write_text("print('bye')\n")
    assert image_source(spec, folder).tag != first.tag
    with zipfile.ZipFile(io.BytesIO(first.data)) as archive:
        assert archive.namelist() == ["agent.py", "Dockerfile"]
        assert archive.read("Dockerfile").decode() == first.dockerfile


def test_a_dockerfile_of_the_agent_s_own_is_used_as_it_is(folder: Path) -> None:
    own = 'FROM python:3.11\nCMD ["python", "agent.py"]\n'
    (folder / "Dockerfile").write_text(own)
    source = image_source(AgentSpec(name="shop"), folder)
    assert (source.is_own, source.dockerfile) == (True, own)
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        assert archive.namelist().count("Dockerfile") == 1


def test_a_folder_with_nothing_to_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeployError, match="cannot be packaged"):
        image_source(AgentSpec(name="shop"), tmp_path)


def test_the_buildspec_pushes_one_image_under_the_build_s_variables() -> None:
    assert yaml.safe_load(BUILDSPEC)["version"] == 0.2
    variables = {"REGISTRY": "r", "REPOSITORY_URI": "r/loom-shop", "IMAGE_TAG": "abc"}
    assert read_buildspec(BUILDSPEC, variables).pushed == ["r/loom-shop:abc"]


def test_builds_may_read_their_source_and_push_to_their_repository_only() -> None:
    policy = build_policy("Shop_Agent", "loom-code", PLACE)
    by_sid = {statement["Sid"]: statement for statement in policy["Statement"]}
    assert by_sid["Source"]["Resource"] == ["arn:aws:s3:::loom-code/Shop_Agent/images/*.zip"]
    assert by_sid["Push"]["Resource"] == ["arn:aws:ecr:eu-central-1:123456789012:repository/loom-shop_agent"]
    assert [sid for sid, statement in by_sid.items() if statement["Resource"] == ["*"]] == ["SignIn"]
    (trust,) = build_trust("Shop_Agent", PLACE)["Statement"]
    assert trust["Condition"]["StringEquals"]["aws:SourceArn"].endswith(":project/loom-Shop_Agent")
    assert repository_name("Ends_with_") == "loom-ends_with"
