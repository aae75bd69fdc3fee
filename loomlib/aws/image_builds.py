"""Container images: their ECR repositories, and the CodeBuild projects that build them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.errors import AwsError, RequestRejectedError, RequestTimeoutError, ResourceNotFoundError

from .connection import Clients
from .errors import failure, translated

_ROLE_WAIT_S: Final = 30.0
"""IAM takes some seconds until CodeBuild can use a new role."""
_LONGEST_BUILD_S: Final = 3_600.0
_PAUSES_S: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
_LOG_LINES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRepository:
    """A repository of ECR.

    Attributes:
        name: Its name.
        arn: Its ARN.
        uri: Its URI, the prefix of its images' names.
        tags: Its tags.
    """

    name: str
    arn: str
    uri: str
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildProject:
    """A project of CodeBuild that builds images for Linux on ARM64 from a zip file in S3.

    Attributes:
        name: Its name.
        role_arn: The role that its builds run as.
        source: The bucket and key of the zip file, as `bucket/key`.
        buildspec: The build's commands, as YAML.
        variables: The variables of a build.
        tags: Its tags.
    """

    name: str
    role_arn: str
    source: str
    buildspec: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


def find_repository(clients: Clients, name: str) -> ImageRepository | None:
    """Return a repository; None if there is none of that name.

    Args:
        clients: The AWS clients of a connection.
        name: The repository's name.
    """
    ecr = clients.client("ecr")
    try:
        with translated("Reading the repository", on=name):
            repository: Mapping[str, Any] = ecr.describe_repositories(repositoryNames=[name])["repositories"][0]
            tags: list[Mapping[str, str]] = ecr.list_tags_for_resource(resourceArn=repository["repositoryArn"])["tags"]
    except AwsError as error:
        if error.code == "RepositoryNotFoundException":
            return None
        raise
    return ImageRepository(
        name=name,
        arn=str(repository["repositoryArn"]),
        uri=str(repository["repositoryUri"]),
        tags={tag["Key"]: tag["Value"] for tag in tags},
    )


def create_repository(clients: Clients, name: str, tags: Mapping[str, str]) -> ImageRepository:
    """Create a repository with immutable image tags that scans images on push.

    Args:
        clients: The AWS clients of a connection.
        name: The repository's name.
        tags: Its tags.
    """
    with translated("Creating the repository", on=name):
        repository: Mapping[str, Any] = clients.client("ecr").create_repository(
            repositoryName=name,
            imageTagMutability="IMMUTABLE",
            imageScanningConfiguration={"scanOnPush": True},
            tags=[{"Key": key, "Value": value} for key, value in tags.items()],
        )["repository"]
    return ImageRepository(
        name=name, arn=str(repository["repositoryArn"]), uri=str(repository["repositoryUri"]), tags=dict(tags)
    )


def delete_repository(clients: Clients, name: str) -> None:
    """Delete a repository with its images; no error if it does not exist."""
    try:
        with translated("Deleting the repository", on=name):
            clients.client("ecr").delete_repository(repositoryName=name, force=True)
    except AwsError as error:
        if error.code != "RepositoryNotFoundException":
            raise


def image_digest(clients: Clients, repository: str, tag: str) -> str:
    """Return the digest of an image (`sha256:…`); "" if the repository has no image with that tag.

    Args:
        clients: The AWS clients of a connection.
        repository: The repository's name.
        tag: The image's tag.
    """
    try:
        with translated("Reading the image", on=f"{repository}:{tag}"):
            images: list[Mapping[str, Any]] = clients.client("ecr").describe_images(
                repositoryName=repository, imageIds=[{"imageTag": tag}]
            )["imageDetails"]
    except AwsError as error:
        if error.code in ("ImageNotFoundException", "RepositoryNotFoundException"):
            return ""
        raise
    return str(images[0]["imageDigest"]) if images else ""


def delete_image(clients: Clients, repository: str, tag: str) -> None:
    """Delete an image by its tag; no error if the image or its repository does not exist.

    Args:
        clients: The AWS clients of a connection.
        repository: The repository's name.
        tag: The image's tag.

    Raises:
        AwsError: ECR did not delete it, for example because a manifest list refers to it.
    """
    try:
        with translated("Deleting the image", on=f"{repository}:{tag}"):
            answer: Mapping[str, Any] = clients.client("ecr").batch_delete_image(
                repositoryName=repository, imageIds=[{"imageTag": tag}]
            )
    except AwsError as error:
        if error.code != "RepositoryNotFoundException":
            raise
        return
    for item in answer.get("failures", ()):
        code, reason = str(item.get("failureCode", "")), str(item.get("failureReason", ""))
        if code != "ImageNotFound":
            message = f"Deleting the image: {code}: {reason}"
            advice = "remove the cause that ECR gives, then delete it again"
            raise failure(AwsError, message, on=f"{repository}:{tag}", try_=advice, code=code)


def find_project(clients: Clients, name: str) -> BuildProject | None:
    """Return a project; None if there is none of that name."""
    with translated("Reading the project", on=name):
        projects: list[Mapping[str, Any]] = clients.client("codebuild").batch_get_projects(names=[name])["projects"]
    if not projects:
        return None
    project = projects[0]
    source: Mapping[str, Any] = project.get("source") or {}
    environment: Mapping[str, Any] = project.get("environment") or {}
    return BuildProject(
        name=name,
        role_arn=str(project.get("serviceRole") or ""),
        source=str(source.get("location") or ""),
        buildspec=str(source.get("buildspec") or ""),
        variables={str(item["name"]): str(item["value"]) for item in environment.get("environmentVariables") or ()},
        tags={str(tag["key"]): str(tag["value"]) for tag in project.get("tags") or ()},
    )


def put_project(clients: Clients, project: BuildProject, *, is_new: bool) -> None:
    """Create or change a project.

    Args:
        clients: The AWS clients of a connection.
        project: The desired project.
        is_new: Whether it does not exist yet.

    Raises:
        AwsError: CodeBuild rejects it.
    """
    request: dict[str, Any] = {
        "name": project.name,
        "description": "Builds the image of an agent; made by Loom",
        "source": {"type": "S3", "location": project.source, "buildspec": project.buildspec},
        "artifacts": {"type": "NO_ARTIFACTS"},
        "environment": {
            "type": "ARM_CONTAINER",
            "image": "aws/codebuild/amazonlinux-aarch64-standard:3.0",
            "computeType": "BUILD_GENERAL1_SMALL",
            "privilegedMode": True,  # docker build needs it
            "environmentVariables": [
                {"name": name, "value": value, "type": "PLAINTEXT"} for name, value in project.variables.items()
            ],
        },
        "serviceRole": project.role_arn,
        "timeoutInMinutes": int(_LONGEST_BUILD_S // 60),
        "tags": [{"key": key, "value": value} for key, value in project.tags.items()],
    }
    client = clients.client("codebuild")
    deadline = time.monotonic() + _ROLE_WAIT_S
    while True:
        try:
            with translated("Creating the project" if is_new else "Changing the project", on=project.name):
                (client.create_project if is_new else client.update_project)(**request)
            return
        except RequestRejectedError as error:
            if "AssumeRole" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(2.0)


def delete_project(clients: Clients, name: str) -> None:
    """Delete a project; no error when it is gone."""
    try:
        with translated("Deleting the project", on=name):
            clients.client("codebuild").delete_project(name=name)
    except ResourceNotFoundError:
        return


def run_build(
    clients: Clients,
    project: str,
    *,
    source: str,
    variables: Mapping[str, str],
    report: Callable[[str], None],
) -> None:
    """Build an image and wait until it is pushed.

    Args:
        clients: The AWS clients of a connection.
        project: The project's name.
        source: The bucket and key of the zip file with the Dockerfile, as `bucket/key`.
        variables: Variables of this build.
        report: Called with each phase of the build.

    Raises:
        AwsError: The build failed; the message contains the failed phase and the last lines of its log.
        RequestTimeoutError: The build does not finish within an hour.
    """
    client = clients.client("codebuild")
    with translated("Starting the build", on=project):
        build: Mapping[str, Any] = client.start_build(
            projectName=project,
            sourceTypeOverride="S3",
            sourceLocationOverride=source,
            environmentVariablesOverride=[
                {"name": name, "value": value, "type": "PLAINTEXT"} for name, value in variables.items()
            ],
        )["build"]
    number, began, phase, looks = str(build["id"]), time.monotonic(), "", 0
    while not build.get("buildComplete"):
        if time.monotonic() - began > _LONGEST_BUILD_S:
            raise RequestTimeoutError("The build did not finish within an hour", on=number, try_="see its log")
        time.sleep(_PAUSES_S[min(looks // 4, len(_PAUSES_S) - 1)])
        looks += 1
        with translated("Reading the build", on=number):
            build = client.batch_get_builds(ids=[number])["builds"][0]
        if (current := str(build.get("currentPhase") or "")) != phase:
            phase = current
            report(f"building the image: {phase.lower().replace('_', ' ')}")
    if build.get("buildStatus") != "SUCCEEDED":
        raise AwsError(
            f"The build of the image {str(build.get('buildStatus')).lower().replace('_', ' ')}: {_reason(build)}"
            f"{_log_end(clients, build)}",
            on=number,
            try_="correct the Dockerfile or requirements.txt as the log says, then deploy again",
        )


def _reason(build: Mapping[str, Any]) -> str:
    for phase in build.get("phases") or ():
        if phase.get("phaseStatus") not in (None, "SUCCEEDED"):
            contexts = [str(context.get("message") or "") for context in phase.get("contexts") or ()]
            reason = "; ".join(filter(None, contexts))
            return f"phase {str(phase['phaseType']).lower()}: {reason}" if reason else str(phase["phaseType"]).lower()
    return "CodeBuild gives no reason"


def _log_end(clients: Clients, build: Mapping[str, Any]) -> str:
    logs: Mapping[str, Any] = build.get("logs") or {}
    if not logs.get("groupName") or not logs.get("streamName"):
        return ""
    try:
        with translated("Reading the build's log", on=str(logs["groupName"])):
            events: list[Mapping[str, Any]] = clients.logs().get_log_events(
                logGroupName=logs["groupName"], logStreamName=logs["streamName"], limit=_LOG_LINES, startFromHead=False
            )["events"]
    except AwsError:  # the build's own reason is sufficient
        return ""
    lines = "\n".join(str(event["message"]).rstrip() for event in events)
    return f"\n{lines}" if lines else ""


def upload_source(clients: Clients, bucket: str, key: str, data: bytes) -> None:
    """Upload the source of an image to a bucket of this account.

    Args:
        clients: The AWS clients of a connection.
        bucket: The bucket.
        key: The object's key.
        data: A zip file.
    """
    with translated("Uploading the image's source", on=f"s3://{bucket}/{key}"):
        clients.s3().put_object(
            Bucket=bucket, Key=key, Body=data, ContentType="application/zip", ExpectedBucketOwner=clients.account_id()
        )
