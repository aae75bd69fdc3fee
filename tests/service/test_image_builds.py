"""The toolkit's way to deploy: a repository, a build from a Dockerfile, a runtime of the image. All by plain boto3."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from echo_agent import SDK_ECHO_AGENT
from waiting import wait_until

from loomlib import local

DOCKERFILE = """\
FROM ghcr.io/astral-sh/uv:python3.11-bookworm-slim
WORKDIR /app
ENV GREETING="from the image" DOCKER_CONTAINER=1
COPY requirements.txt requirements.txt
RUN uv pip install -r requirements.txt
RUN useradd -m -u 1000 bedrock_agentcore
USER bedrock_agentcore
EXPOSE 8080
COPY . .
CMD ["opentelemetry-instrument", "python", "-m", "agent"]
"""
BUILDSPEC = """\
version: 0.2
phases:
  build:
    commands:
      - |
        docker build -t agent-arm64 . &
        BUILD_PID=$!
        aws ecr get-login-password --region $AWS_DEFAULT_REGION | \\
        docker login --username AWS --password-stdin {uri} &
        wait $BUILD_PID
        if [ $? -ne 0 ]; then
          exit 1
        fi
      - docker tag agent-arm64:latest {uri}:{tag}
  post_build:
    commands: ["docker push {uri}:{tag}"]
"""
AGENT = SDK_ECHO_AGENT.replace(
    '"echo": payload', '"echo": payload, "greeting": __import__("os").environ.get("GREETING")'
)


class Builder:
    """A repository, a bucket and projects."""

    def __init__(self, aws: Any) -> None:
        self.aws, self.builds, self._count = aws, aws.client("codebuild"), 0
        self.uri = aws.client("ecr").create_repository(repositoryName="agents")["repository"]["repositoryUri"]
        aws.client("s3").create_bucket(Bucket="sources")

    def build(self, dockerfile: str, tag: str, files: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
        """The build, when it has ended."""
        self._count += 1
        packed, name = io.BytesIO(), f"project{self._count}"
        with zipfile.ZipFile(packed, "w") as source:
            own = {"Dockerfile": dockerfile, "requirements.txt": "boto3\n", "agent.py": AGENT}
            for path, content in (own | (files or {})).items():
                source.writestr(path, content)
        self.aws.client("s3").put_object(Bucket="sources", Key=f"{name}.zip", Body=packed.getvalue())
        self.builds.create_project(
            name=name,
            source={
                "type": "S3",
                "location": f"sources/{name}.zip",
                "buildspec": BUILDSPEC.format(uri=self.uri, tag=tag),
            },
            artifacts={"type": "NO_ARTIFACTS"},
            environment={
                "type": "ARM_CONTAINER",
                "image": "aws/codebuild/standard:3.0",
                "computeType": "BUILD_GENERAL1_MEDIUM",
            },
            serviceRole="arn:aws:iam::123456789012:role/builds",
        )
        number = self.builds.start_build(projectName=name, **more)["build"]["id"]

        def ended() -> dict[str, Any] | None:
            build = self.builds.batch_get_builds(ids=[number])["builds"][0]
            return build if build["buildComplete"] else None

        build = wait_until(ended, what=f"the build {number}")
        assert build is not None
        return build


@pytest.fixture(scope="module")
def builder(aws: Any) -> Builder:
    return Builder(aws)


def _failure(build: dict[str, Any]) -> str:
    assert build["buildStatus"] == "FAILED"
    return next(phase for phase in build["phases"] if phase["phaseStatus"] == "FAILED")["contexts"][0]["message"]


def _artifact(uri: str) -> dict[str, Any]:
    return {"containerConfiguration": {"containerUri": uri}}


def test_an_image_is_built_from_its_dockerfile_and_runs(builder: Builder, aws: Any) -> None:
    build = builder.build(DOCKERFILE, "v1")
    assert build["buildStatus"] == "SUCCEEDED", build["phases"]
    assert [phase["phaseType"] for phase in build["phases"]][-1] == "COMPLETED"
    images = aws.client("ecr").describe_images(repositoryName="agents")["imageDetails"]
    assert any("v1" in image["imageTags"] for image in images)
    created = aws.create("image_agent", _artifact(f"{builder.uri}:v1"))
    runtime = aws.settled(created["agentRuntimeId"])
    assert runtime["status"] == "READY", runtime
    assert runtime["agentRuntimeArtifact"] == _artifact(f"{builder.uri}:v1")
    _, body = aws.invoke(runtime["agentRuntimeArn"])
    assert json.loads(body)["greeting"] == "from the image"


def test_pythonpath_and_dockerignore_hold_in_sessions_and_the_log_says_what_has_no_effect(
    builder: Builder, aws: Any
) -> None:
    agent = SDK_ECHO_AGENT.replace(
        '"echo": payload', '"words": __import__("greeting_words").TEXT, "files": __import__("os").listdir()'
    )
    files = {
        "agent.py": agent,
        "src/greeting_words.py": 'TEXT = "from the folder src"\n',
        ".env": "KEY=a-secret\n",
        ".dockerignore": "# not for the image\n.env\n",
    }
    dockerfile = DOCKERFILE.replace("DOCKER_CONTAINER=1", "PYTHONPATH=/app/src")
    build = builder.build(dockerfile, "paths", files)
    assert build["buildStatus"] == "SUCCEEDED", build["phases"]
    created = aws.create("paths_agent", _artifact(f"{builder.uri}:paths"))
    runtime = aws.settled(created["agentRuntimeId"])
    assert runtime["status"] == "READY", runtime
    answer = json.loads(aws.invoke(runtime["agentRuntimeArn"])[1])
    assert answer["words"] == "from the folder src"
    assert "agent.py" in answer["files"]
    assert ".env" not in answer["files"]
    logs, expected_parts = (
        aws.client("logs"),
        ("USER bedrock_agentcore", "EXPOSE 8080", ".dockerignore excludes 1 of 6 files"),
    )

    def log() -> str | None:
        events = logs.filter_log_events(logGroupName=build["logs"]["groupName"])["events"]
        text = "\n".join(event["message"] for event in events)
        return text if all(part in text for part in expected_parts) else None

    assert "a-secret" not in str(wait_until(log, what="the notes in the build's log"))


def test_a_runtime_keeps_its_image_when_the_tag_moves(builder: Builder, aws: Any) -> None:
    builder.build(DOCKERFILE.replace("from the image", "first"), "moving")
    runtime = aws.settled(aws.create("moving_agent", _artifact(f"{builder.uri}:moving"))["agentRuntimeId"])
    builder.build(DOCKERFILE.replace("from the image", "second"), "moving")
    _, body = aws.invoke(runtime["agentRuntimeArn"])
    assert json.loads(body)["greeting"] == "first"


def test_a_runtime_whose_entry_point_is_damaged_says_so_and_works_after_an_update(
    start_service: Callable[..., Any], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = start_service(home)
    uri = f"{(builder := Builder(first)).uri}:v1"
    builder.build(DOCKERFILE, "v1")
    runtime = first.settled(first.create("image_agent", _artifact(uri))["agentRuntimeId"])
    local.stop(home)
    [file] = home.glob("runtimes/*/*/image.json")
    file.write_text('{"entry_point": ')
    aws = start_service(home)
    for _ in range(2):
        with pytest.raises(ClientError, match=r"entry point of version 1 of .* is lost.*UpdateAgentRuntime") as refused:
            aws.invoke(runtime["agentRuntimeArn"])
        assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert [name.split(".corrupt-")[0] for name in local.status(home).damaged] == [str(file.relative_to(home))]
    aws.control.update_agent_runtime(
        agentRuntimeId=runtime["agentRuntimeId"],
        agentRuntimeArtifact=_artifact(uri),
        roleArn=runtime["roleArn"],
        networkConfiguration=runtime["networkConfiguration"],
    )
    assert aws.settled(runtime["agentRuntimeId"])["status"] == "READY"
    _, body = aws.invoke(runtime["agentRuntimeArn"])
    assert json.loads(body)["greeting"] == "from the image"


@pytest.mark.parametrize(
    ("dockerfile", "named"),
    [
        (DOCKERFILE.replace("RUN useradd -m -u 1000 bedrock_agentcore", "RUN make everything"), "make"),
        (DOCKERFILE.replace("FROM ghcr.io/astral-sh/uv:python3.11-bookworm-slim", "FROM node:22"), "node:22"),
        (DOCKERFILE.replace("requirements.txt", "absent.txt"), "loom_absent"),
    ],
)
def test_a_build_that_cannot_be_done_fails_and_says_why(builder: Builder, dockerfile: str, named: str) -> None:
    build = builder.build(dockerfile, "failed", {"absent.txt": "loom_absent @ file:///absent-1.0-py3-none-any.whl"})
    assert named in _failure(build)


def test_a_build_whose_tag_is_in_parameter_store_fails_and_names_the_variable(builder: Builder) -> None:
    variable = {"name": "TAG", "value": "/agents/tag", "type": "PARAMETER_STORE"}
    build = builder.build(DOCKERFILE, "$TAG", environmentVariablesOverride=[variable])
    assert "needs TAG from Parameter Store" in _failure(build)


def test_an_image_that_was_not_built_here_is_refused(aws: Any) -> None:
    with pytest.raises(ClientError, match="was not built here") as refused:
        aws.create("foreign_agent", _artifact("123456789012.dkr.ecr.us-east-1.amazonaws.com/other:latest"))
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def test_the_log_of_a_build_is_in_its_log_group(builder: Builder, aws: Any) -> None:
    build = builder.build(DOCKERFILE, "logged")

    logs = aws.client("logs")

    def is_pushed() -> bool:
        try:  # the group appears with the first line, which is visible after a delay, as in CloudWatch
            events = logs.filter_log_events(logGroupName=build["logs"]["groupName"])["events"]
        except logs.exceptions.ResourceNotFoundException:
            return False
        return any("pushed" in event["message"] for event in events)

    wait_until(is_pushed, what="the last lines of the build's log")


def test_a_project_that_exists_is_updated_and_builds_as_it_says_now(builder: Builder, aws: Any) -> None:
    # A second deployment by the toolkit creates the project again and updates it when that is refused.
    first = builder.build(DOCKERFILE, "before")
    name = first["projectName"]
    [before] = builder.builds.batch_get_projects(names=[name])["projects"]
    source = {**before["source"], "buildspec": BUILDSPEC.format(uri=builder.uri, tag="after")}
    updated = builder.builds.update_project(name=name, source=source, timeoutInMinutes=30)["project"]
    assert (updated["source"], updated["timeoutInMinutes"]) == (source, 30)
    assert updated["environment"] == before["environment"]
    assert (updated["arn"], updated["created"]) == (before["arn"], before["created"])
    assert builder.builds.batch_get_projects(names=[name])["projects"] == [updated]
    number = builder.builds.start_build(projectName=name)["build"]["id"]
    wait_until(lambda: builder.builds.batch_get_builds(ids=[number])["builds"][0]["buildComplete"], what="the build")
    images = aws.client("ecr").describe_images(repositoryName="agents")["imageDetails"]
    assert any("after" in image["imageTags"] for image in images)


def test_an_update_of_a_project_that_does_not_exist_is_refused(builder: Builder) -> None:
    with pytest.raises(ClientError, match="Project cannot be found") as refused:
        builder.builds.update_project(name="never-made", timeoutInMinutes=30)
    assert refused.value.response["Error"]["Code"] == "ResourceNotFoundException"
