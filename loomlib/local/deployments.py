"""Making a version ready: its package fetched, extracted, its requirements installed; then its endpoints follow."""

from __future__ import annotations

import asyncio
import logging
import platform
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .contract import RuntimeVersion
from .environments import Environments
from .packages import PackageRefused, extract, fetch
from .runtimes import DEFAULT_ENDPOINT, Runtimes, Version, now

_log = logging.getLogger(__name__)


class Deployments:
    """Turns versions that are CREATING or UPDATING into READY or failed ones, each in a task of its own."""

    def __init__(self, home: Path, runtimes: Runtimes, *, account_id: str, region: str) -> None:
        self._folder = home / "runtimes"
        self._runtimes, self._account_id, self._region = runtimes, account_id, region
        self._environments = Environments(home / "environments")
        self._tasks: set[asyncio.Task[None]] = set()
        self._runnable: dict[tuple[str, int], RuntimeVersion] = {}

    async def fetch(self, definition: Mapping[str, Any], runtime_id: str, number: int) -> None:
        """Copy the package now, so that a later change of the S3 object does not change this version."""
        s3 = definition["agentRuntimeArtifact"]["codeConfiguration"]["code"]["s3"]
        await asyncio.to_thread(
            fetch,
            s3["bucket"],
            s3["prefix"],
            s3.get("versionId"),
            account_id=self._account_id,
            region=self._region,
            to=self._package(runtime_id, number),
        )

    def begin(self, version: Version) -> None:
        """Make `version` ready in the background."""
        task = asyncio.get_running_loop().create_task(self._make(version))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def resume(self) -> None:
        """Take up the versions that an earlier service was making when it ended."""
        for runtime in self._runtimes.all():
            for version in self._runtimes.versions(runtime.id):
                if version.is_being_made:
                    self.begin(version)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def runnable(self, version: Version) -> RuntimeVersion:
        """What the sessions need to know of a READY version."""
        key = (version.runtime_id, version.number)
        if key not in self._runnable:
            runtime = self._runtimes.get(version.runtime_id)
            given = version.definition
            lifecycle: Mapping[str, Any] = given.get("lifecycleConfiguration") or {}
            headers: Mapping[str, Any] = given.get("requestHeaderConfiguration") or {}
            self._runnable[key] = RuntimeVersion(
                runtime_id=version.runtime_id,
                arn=runtime.arn if runtime else "",
                version=str(version.number),
                code=self._code(*key),
                entry_point=_entry_point(given),
                environment=given.get("environmentVariables") or {},
                search_path=(version.overlay,) if version.overlay else (),
                idle_timeout_s=float(lifecycle.get("idleRuntimeSessionTimeout", 900)),
                max_lifetime_s=float(lifecycle.get("maxLifetime", 28_800)),
                header_allowlist=tuple(name.lower() for name in headers.get("requestHeaderAllowlist", ())),
            )
        return self._runnable[key]

    async def discard(self, runtime_id: str, number: int | None = None) -> None:
        """Delete the files of one version, or of all."""
        for key in [key for key in self._runnable if key[0] == runtime_id and number in (None, key[1])]:
            del self._runnable[key]
        folder = self._folder / runtime_id
        await asyncio.to_thread(shutil.rmtree, folder if number is None else folder / str(number), ignore_errors=True)

    def _package(self, runtime_id: str, number: int) -> Path:
        return self._folder / runtime_id / str(number) / "package.zip"

    def _code(self, runtime_id: str, number: int) -> Path:
        return self._folder / runtime_id / str(number) / "code"

    async def _make(self, version: Version) -> None:
        key = (version.runtime_id, version.number)
        code = self._code(*key)
        try:
            await asyncio.to_thread(extract, self._package(*key), code, _entry_point(version.definition))
            overlay = await self._environments.overlay(code)
            made = replace(version, status="READY", overlay=overlay, updated_at=now())
        except PackageRefused as refusal:
            made = _failed(version, str(refusal))
        except Exception as error:  # noqa: BLE001 - a version that nobody makes any more would stay CREATING for ever
            _log.exception("%s version %d could not be made", *key)
            made = _failed(version, f"The local AgentCore could not make this version: {error!r}")
        if self._runtimes.version(*key) is None:
            return  # deleted meanwhile
        self._runtimes.keep_version(made)
        self._package(*key).unlink(missing_ok=True)
        self._point_default(made)
        wanted = version.definition["agentRuntimeArtifact"]["codeConfiguration"]["runtime"]
        here = "PYTHON_" + "_".join(platform.python_version_tuple()[:2])
        if made.is_ready and wanted != here:
            _log.warning("%s asks for %s; sessions run on the workbench's %s", version.runtime_id, wanted, here)
        _log.info("%s version %d is %s %s", version.runtime_id, version.number, made.status, made.failure)

    def _point_default(self, made: Version) -> None:
        endpoint = self._runtimes.endpoint(made.runtime_id, DEFAULT_ENDPOINT)
        if endpoint is None or endpoint.target != made.number:
            return  # a newer version is on its way
        live = made.number if made.is_ready else endpoint.live
        self._runtimes.keep_endpoint(
            replace(endpoint, live=live, status=made.status, failure=made.failure, updated_at=made.updated_at)
        )


def _failed(version: Version, reason: str) -> Version:
    status = "CREATE_FAILED" if version.status == "CREATING" else "UPDATE_FAILED"
    return replace(version, status=status, failure=reason, updated_at=now())


def _entry_point(definition: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(definition["agentRuntimeArtifact"]["codeConfiguration"]["entryPoint"])
