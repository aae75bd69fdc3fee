"""Deployment of a runtime's version: fetch its package, extract it, install its requirements."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import platform
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...recovery import set_aside
from ..contract import RuntimeVersion
from ..images.store import Image, ImageStore
from ..protocols import served
from ..resources import ResourceRecord
from ..sandbox.isolation import Isolation
from ..sandbox.limits import Limits
from ..sandbox.removal import remove_tree
from ..sessions.storage import remove_expired
from ..wire import invalid
from .environments import Environments
from .filesystems import memory_bytes, mount_paths
from .nodes import find_node, wanted_node
from .packages import InvalidPackageError, extract_limited, fetch
from .platforms import platform_of, warm_up_of
from .ports import allowed_ports
from .pythons import Python, find_python, own_runtime

_log = logging.getLogger(__name__)

IDLE_TIMEOUT = "LOOM_LOCAL_IDLE_TIMEOUT_S"
"""Environment variable of a runtime: its idle time-out on the local service, in seconds; may be below 60."""

_IMAGE_START = "image.json"


class Deployments:
    """The files of every version, under `runtimes/{runtime id}/{version}`.

    Args:
        home: The home folder.
        images: The images that were built here.
        isolation: What separates installers from this machine.
        limits: The limits of a session, which apply to installers too.
        exact_python: Whether a runtime runs on the Python version that it specifies, rather than on the workbench's.
    """

    def __init__(
        self,
        home: Path,
        images: ImageStore,
        *,
        isolation: Isolation | None = None,
        limits: Limits | None = None,
        exact_python: bool = False,
    ) -> None:
        self._folder, self._images = home / "runtimes", images
        self._environments = Environments(home / "environments", isolation=isolation, limits=limits)
        self.exact_python = exact_python
        self.isolation = isolation or Isolation()
        remove_expired(self._folder)
        self._runnable: dict[tuple[str, int], RuntimeVersion] = {}

    async def fetch(self, version: ResourceRecord) -> None:
        """Copy the package now, so that a later change of the S3 object or the tag does not change this version."""
        if container := version.document["agentRuntimeArtifact"].get("containerConfiguration"):
            await asyncio.to_thread(self._copy_image, version, self.image(container["containerUri"]))
            return
        s3 = _code_configuration(version)["code"]["s3"]
        await asyncio.to_thread(
            fetch,
            s3["bucket"],
            s3["prefix"],
            s3.get("versionId"),
            account_id=version.place.account_id,
            region=version.region,
            to=self._package(version),
        )

    def image(self, uri: str) -> Image:
        """Return the image of a `containerUri`.

        Raises:
            RefusedError: It was not built here.
        """
        if image := self._images.find(uri):
            return image
        raise invalid(
            f"The image {uri} was not built here: the local AgentCore does not run containers. Build it with CodeBuild "
            "from a Dockerfile (StartBuild on this service), or deploy the code directly with codeConfiguration"
        )

    def _copy_image(self, version: ResourceRecord, image: Image) -> None:
        package = self._package(version)
        package.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(image.package, package)
        start = {"entry_point": image.entry_point, "environment": image.environment}
        (self._files(version) / _IMAGE_START).write_text(json.dumps(start), "utf-8")

    def _start(self, version: ResourceRecord) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return a version's entry point, and the variables of its image.

        Raises:
            RefusedError: The file that contains them for an image is damaged or missing.
        """
        if "containerConfiguration" not in version.document["agentRuntimeArtifact"]:
            return tuple(_code_configuration(version)["entryPoint"]), {}
        file = self._files(version) / _IMAGE_START
        try:
            start = json.loads(file.read_text("utf-8"))
            return tuple(map(str, start["entry_point"])), dict(start["environment"])
        except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
            if not isinstance(error, FileNotFoundError):
                set_aside(file, "it does not hold an entry point and variables")
            # The image's tag may now refer to a later image, which this version must not run.
            raise invalid(
                f"The entry point of version {version.version} of {version.id} is lost: {_IMAGE_START} was damaged. "
                "Update the runtime (UpdateAgentRuntime) to copy its image again"
            ) from error

    async def install(self, package: bytes) -> str:
        """Install the requirements of an image's package before a runtime uses it; return pip's error, or ""."""
        with tempfile.TemporaryDirectory(prefix="loom-image-") as folder:
            await asyncio.to_thread(_unpack, package, Path(folder))
            try:
                await self._environments.overlay(Path(folder))
            except InvalidPackageError as error:
                return str(error)
        return ""

    async def make(self, version: ResourceRecord) -> tuple[Path, ...]:
        """Extract a fetched package; return the folders of the requirements that were installed for it.

        Raises:
            InvalidPackageError: The package cannot run here.
        """
        code = self._files(version) / "code"
        await extract_limited(self._package(version), code, self._start(version)[0])
        python = await asyncio.to_thread(self._python, version)
        builds = await asyncio.to_thread(_take_out_builds, code, python)
        if builds:
            _log.info("%s: installed for this machine in place of its own builds: %s", version.id, ", ".join(builds))
        folders = (
            await self._environments.builds(builds, python),
            await self._environments.overlay(code, python),
        )
        configuration = version.document["agentRuntimeArtifact"].get("codeConfiguration")
        runtime = configuration and configuration["runtime"]
        if runtime and runtime != own_runtime() and python is None and not wanted_node(version.document):
            own = platform.python_version()
            _log.warning("%s specifies %s; its sessions run on the workbench's Python %s", version.id, runtime, own)
        return tuple(folder for folder in folders if folder)

    def _python(self, version: ResourceRecord) -> Python | None:
        """Return the Python that runs a version; None for the workbench's."""
        code: Mapping[str, Any] = version.document["agentRuntimeArtifact"].get("codeConfiguration") or {}
        runtime = code.get("runtime", own_runtime())
        if not self.exact_python or runtime == own_runtime() or wanted_node(version.document):
            return None
        if (python := find_python(runtime)) is None:
            raise invalid(f"{version.id} runs on {runtime}, which this machine no longer has")
        return python

    def provisioned(self, version: ResourceRecord) -> None:
        """Delete the downloaded package, whether its extraction succeeded or failed."""
        self._package(version).unlink(missing_ok=True)

    def runnable(self, version: ResourceRecord) -> RuntimeVersion:
        """Return the description of a READY version that its sessions need."""
        key = (version.id, version.version)
        if key not in self._runnable:
            document, overlay = version.document, version.internal.get("overlay")
            lifecycle: Mapping[str, Any] = document.get("lifecycleConfiguration") or {}
            entry_point, of_image = self._start(version)
            environment: Mapping[str, str] = {**of_image, **(document.get("environmentVariables") or {})}
            headers: Mapping[str, Any] = document.get("requestHeaderConfiguration") or {}
            authorizer: Mapping[str, Any] = document.get("authorizerConfiguration") or {}
            server, python, node = served(document), self._python(version), _node(version)
            warm_up = warm_up_of(document)
            self._runnable[key] = RuntimeVersion(
                runtime_id=version.id,
                arn=version.arn,
                version=str(version.version),
                code=self._files(version) / "code",
                entry_point=entry_point,
                environment=environment,
                search_path=tuple(map(Path, overlay.split(os.pathsep))) if overlay else (),
                # AgentCore's minimum is 60 s; studies of idle sessions use shorter times on the local service.
                idle_timeout_s=float(environment.get(IDLE_TIMEOUT) or lifecycle.get("idleRuntimeSessionTimeout", 900)),
                max_lifetime_s=float(lifecycle.get("maxLifetime", 28_800)),
                role_arn=str(document.get("roleArn") or ""),
                authorizer=authorizer.get("customJWTAuthorizer"),
                header_allowlist=tuple(name.lower() for name in headers.get("requestHeaderAllowlist", ())),
                protocol=server.protocol,
                port=server.port,
                path=server.path,
                mount_paths=mount_paths(document),
                memory_bytes=memory_bytes(document),
                allowed_ports=allowed_ports(document),
                interpreter=python and python.executable,
                interpreter_folders=(*(python.folders if python else ()), *((node,) if node else ())),
                node=node,
                platform=platform_of(document),
                warm_up=warm_up.path if warm_up else "",
                warm_up_port=warm_up.port if warm_up else server.port,
            )
        return self._runnable[key]

    async def discard(self, runtime_id: str, version: int | None = None) -> None:
        """Delete the files of one version, or of all versions."""
        for key in [key for key in self._runnable if key[0] == runtime_id and version in (None, key[1])]:
            del self._runnable[key]
        folder = self._folder / runtime_id
        await asyncio.to_thread(remove_tree, folder if version is None else folder / str(version))

    def _files(self, version: ResourceRecord) -> Path:
        return self._folder / version.id / str(version.version)

    def _package(self, version: ResourceRecord) -> Path:
        return self._files(version) / "package.zip"


def _node(version: ResourceRecord) -> Path | None:
    """Return the Node.js that runs a version; None for Python."""
    major = wanted_node(version.document)
    if not major:
        return None
    if (node := find_node(major)) is None:
        raise invalid(f"{version.id} runs on Node.js {major}, which this machine no longer has")
    return node


def _code_configuration(version: ResourceRecord) -> Mapping[str, Any]:
    return version.document["agentRuntimeArtifact"]["codeConfiguration"]


def _unpack(package: bytes, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        archive.extractall(folder)


def _take_out_builds(code: Path, python: Python | None) -> list[str]:
    if next(code.glob("*.dist-info"), None) is None:
        return []
    from .builds import take_out_builds  # its version parser takes 20 ms to import, and most packages do not need it

    return take_out_builds(code, python)
