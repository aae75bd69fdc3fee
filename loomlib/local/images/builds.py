"""CodeBuild's builds of images, and UpdateProject. All other operations on projects are moto's."""

from __future__ import annotations

import asyncio
import io
import json
import time
import uuid
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from moto.core.exceptions import ServiceException
from moto.s3.models import s3_backends

from ..contract import LogSink
from ..log_groups import group_key
from ..resources import Place, place_of
from ..wire import RefusedError
from .building import BuiltImage, build_image
from .buildspec import BuildspecError, read_buildspec
from .dockerfile import DockerfileError
from .store import ImageStore, repository_of

_MANIFEST_TYPE: Final = "application/vnd.docker.distribution.manifest.v2+json"
_MOST_BUILDS: Final = 1_000
_SOURCE_LIMIT_BYTES: Final = 750_000_000  # unzipped, as for direct code deployment


class CodeBuild:
    """Builds images from sources in S3, each in a thread of its own.

    Args:
        images: The store of built images.
        install: Installs the requirements of an image's package, and returns the reason for a failure, or "".
        sink: Receives the builds' logs.
    """

    def __init__(self, images: ImageStore, install: Callable[[bytes], Awaitable[str]], *, sink: LogSink) -> None:
        self._images, self._install, self._sink = images, install, sink
        self._builds: dict[str, dict[str, Any]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def start_build(self, parameters: Mapping[str, Any], *, place: Place) -> Mapping[str, Any] | None:
        """Start a build; None for a project that does not exist, which moto refuses."""
        project = self._project(str(parameters.get("projectName", "")), place)
        if project is None:
            return None
        build = self._new_build(place, project, parameters)
        self._builds[build["id"]] = build
        while len(self._builds) > _MOST_BUILDS:
            del self._builds[next(iter(self._builds))]
        task = asyncio.create_task(self._run(place, project, dict(parameters), build))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return {"build": dict(build)}

    async def batch_get_builds(self, parameters: Mapping[str, Any], *, place: Place) -> Mapping[str, Any]:
        """Return builds by their ids or ARNs; `buildsNotFound` lists those that do not exist in the caller's region."""
        build_ids = [str(name).rpartition("build/")[2] for name in parameters.get("ids") or ()]
        builds = {
            name: build for name in build_ids if (build := self._builds.get(name)) and place_of(build["arn"]) == place
        }
        return {
            "builds": [dict(builds[name]) for name in build_ids if name in builds],
            "buildsNotFound": [name for name in build_ids if name not in builds],
        }

    async def update_project(self, parameters: Mapping[str, Any], *, place: Place) -> Mapping[str, Any]:
        """Change the given members of a project. A running build keeps the values with which it started."""
        name = str(parameters.get("name", ""))
        project = _projects(place).get(name)
        if project is None:
            arn = f"arn:aws:codebuild:{place.region}:{place.account_id}:project/{name}"
            raise RefusedError("ResourceNotFoundException", 400, f"Project cannot be found: {arn}")
        changed = {**project.project_metadata, **parameters, "lastModified": time.time()}
        if "badgeEnabled" in changed:
            changed["badge"] = {"badgeEnabled": changed.pop("badgeEnabled")}
        project.project_metadata = changed
        return {"project": changed}

    def _project(self, name: str, place: Place) -> dict[str, Any] | None:
        project = _projects(place).get(name)
        return None if project is None else project.project_metadata

    def _new_build(self, place: Place, project: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
        name, number, moment = str(project["name"]), str(uuid.uuid4()), time.time()
        source = dict(project.get("source") or {})
        for member, override in (("type", "sourceTypeOverride"), ("location", "sourceLocationOverride")):
            source[member] = parameters.get(override) or source.get(member, "")
        source["buildspec"] = parameters.get("buildspecOverride") or source.get("buildspec", "")
        group = f"/aws/codebuild/{name}"
        owner = f"{place.region}:{place.account_id}"
        arn = f"arn:aws:logs:{owner}:log-group:{group}:log-stream:{number}"
        return {
            "id": f"{name}:{number}",
            "arn": f"arn:aws:codebuild:{owner}:build/{name}:{number}",
            "projectName": name,
            "startTime": moment,
            "currentPhase": "QUEUED",
            "buildStatus": "IN_PROGRESS",
            "buildComplete": False,
            "phases": [_phase("SUBMITTED", moment)],
            "source": source,
            "environment": project.get("environment") or {},
            "serviceRole": project.get("serviceRole", ""),
            "logs": {"groupName": group, "streamName": number, "cloudWatchLogsArn": arn},
        }

    async def _run(
        self, place: Place, project: Mapping[str, Any], parameters: Mapping[str, Any], build: dict[str, Any]
    ) -> None:
        try:
            image, uris = await asyncio.to_thread(self._build, place, project, parameters, build)
            # During the build, as for a container, so that a runtime of the image need not wait for it.
            if failure := await self._install(image.package):
                raise DockerfileError(failure)
            await asyncio.to_thread(self._publish, place, image, uris, build)
        except (BuildspecError, DockerfileError, zipfile.BadZipFile, ServiceException) as error:
            self._finish(build, "FAILED", f"{error}")
        except Exception as error:  # noqa: BLE001 - whatever failed, the build must end in a clear state
            self._finish(build, "FAULT", f"the local AgentCore failed: {error!r}")
        else:
            self._finish(build, "SUCCEEDED", "")

    def _build(
        self, place: Place, project: Mapping[str, Any], parameters: Mapping[str, Any], build: dict[str, Any]
    ) -> tuple[BuiltImage, list[str]]:
        self._enter(build, "DOWNLOAD_SOURCE")
        context = self._source(build["source"], place)
        self._enter(build, "BUILD")
        predefined = {
            "AWS_DEFAULT_REGION": place.region,
            "AWS_REGION": place.region,
            "AWS_ACCOUNT_ID": place.account_id,
            "CODEBUILD_BUILD_ID": build["id"],
        }
        own: Mapping[str, Any] = project.get("environment") or {}
        variables: list[Mapping[str, Any]] = [
            *(own.get("environmentVariables") or ()),
            *(parameters.get("environmentVariablesOverride") or ()),
        ]
        by_name = {str(variable["name"]): variable for variable in variables}
        stored = {name for name, variable in by_name.items() if variable.get("type", "PLAINTEXT") != "PLAINTEXT"}
        environment = {name: str(variable["value"]) for name, variable in by_name.items() if name not in stored}
        text = str(build["source"]["buildspec"])
        if "\n" not in text:
            name = text or "buildspec.yml"
            if name not in context.namelist():
                raise BuildspecError(f"the source has no file {name}")
            text = context.read(name).decode("utf-8", "replace")
        plan = read_buildspec(text, environment, predefined, stored=stored)
        image = build_image(context, plan.dockerfile, plan.folder, plan.arguments)
        for note in image.notes:
            self._log(build, note)
        return image, list(dict.fromkeys(plan.pushed))

    def _publish(self, place: Place, image: BuiltImage, uris: list[str], build: dict[str, Any]) -> None:
        self._enter(build, "POST_BUILD")
        for uri in uris:
            digest = self._images.put(uri, image)
            self._push(place, uri, digest)
            self._log(build, f"pushed {uri} ({digest}): a package that runs without a container")

    def _source(self, source: Mapping[str, Any], place: Place) -> zipfile.ZipFile:
        if source["type"] != "S3":
            raise BuildspecError(f"a source of type {source['type']} is not supported; use a zip file in S3")
        bucket, _, key = str(source["location"]).removeprefix("arn:aws:s3:::").partition("/")
        stored = s3_backends[place.account_id]["aws"].get_object(bucket, key)
        if stored is None:
            raise BuildspecError(f"s3://{bucket}/{key} does not exist")
        context = zipfile.ZipFile(io.BytesIO(stored.value))
        if sum(entry.file_size for entry in context.infolist()) > _SOURCE_LIMIT_BYTES:
            raise BuildspecError(f"s3://{bucket}/{key} is larger than {_SOURCE_LIMIT_BYTES:,} bytes when unzipped")
        return context

    def _push(self, place: Place, uri: str, digest: str) -> None:
        """Register the image in ECR, where the repository must exist, as on AWS."""
        from moto.ecr.models import ecr_backends  # with IAM and cryptography, 35 ms that few services need

        name = repository_of(uri).partition("/")[2]
        tag = uri.rpartition("/")[2].partition(":")[2] or "latest"
        backend: Any = ecr_backends[place.account_id][place.region]
        if name not in backend.repositories:
            raise BuildspecError(f"the ECR repository {name} does not exist in {place.region}")
        content: dict[str, Any] = {"config": {"digest": digest}, "layers": []}
        manifest = {"schemaVersion": 2, "mediaType": _MANIFEST_TYPE, **content}
        backend.put_image(name, json.dumps(manifest), tag, _MANIFEST_TYPE, digest)

    def _enter(self, build: dict[str, Any], phase: str) -> None:
        build["currentPhase"] = phase
        build["phases"] = [*build["phases"], _phase(phase, time.time())]
        self._log(build, f"phase {phase}")

    def _finish(self, build: dict[str, Any], status: str, failure: str) -> None:
        moment = time.time()
        phases = [*build["phases"]]
        if failure:
            self._log(build, f"{status}: {failure}")
            contexts = [{"statusCode": "COMMAND_EXECUTION_ERROR", "message": failure}]
            phases[-1] = {**phases[-1], "phaseStatus": status, "contexts": contexts}
        build.update(
            phases=[*phases, _phase("COMPLETED", moment)],
            currentPhase="COMPLETED",
            buildStatus=status,
            buildComplete=True,
            endTime=moment,
        )

    def _log(self, build: Mapping[str, Any], line: str) -> None:
        logs = build["logs"]
        group = group_key(place_of(build["arn"]), logs["groupName"])
        self._sink.write(group=group, stream=logs["streamName"], timestamp_ms=int(time.time() * 1000), message=line)


def _projects(place: Place) -> dict[str, Any]:
    from moto.codebuild.models import codebuild_backends

    backend: Any = codebuild_backends[place.account_id][place.region]
    return backend.codebuild_projects


def _phase(name: str, moment: float) -> dict[str, Any]:
    return {
        "phaseType": name,
        "phaseStatus": "SUCCEEDED",
        "startTime": moment,
        "endTime": moment,
        "durationInSeconds": 0,
    }
