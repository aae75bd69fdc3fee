"""Versions of a runtime: settings and code of each."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from loomlib.errors import (
    AwsError,
    ConflictError,
    NotSupportedError,
    RequestTimeoutError,
    ResourceNotFoundError,
)

from ..presentation.formats import time_limit
from ..presentation.text import one_line
from .connection import Clients
from .deploy import code_bucket
from .errors import failure, translated
from .paging import iter_items

_DIGEST_IN_KEY: Final = re.compile(r"(?:^|[/_-])([0-9a-f]{16,64})\.zip$")
"""Loom names a package's object by its SHA-256, or by the first 16 digits of it."""

_AT_ONCE: Final = 4
_NO_SETTING: Final = frozenset(
    {
        "ResponseMetadata",
        "agentRuntimeArn",
        "agentRuntimeId",
        "agentRuntimeName",
        "agentRuntimeVersion",
        "agentRuntimeArtifact",
        "createdAt",
        "environmentVariables",
        "failureReason",
        "lastUpdatedAt",
        "status",
        "workloadIdentityDetails",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLocation:
    """Where a version's code is: an object in S3, or a container image.

    Attributes:
        bucket: The bucket; empty for an image.
        key: The object's key; empty for an image.
        version_id: The object's version, if the bucket is versioned.
        image: The image's URI; empty for a package.
        entry_point: The command's last part, such as agent.py.
        runtime: AWS's name of the interpreter, such as PYTHON_3_13; empty for an image.
    """

    bucket: str = ""
    key: str = ""
    version_id: str = ""
    image: str = ""
    entry_point: str = ""
    runtime: str = ""

    @property
    def is_fixed(self) -> bool:
        """Whether the object cannot change: it is a version of an object, or its key contains its digest."""
        return bool(self.version_id or _DIGEST_IN_KEY.search(self.key))

    def __str__(self) -> str:
        return self.image or f"s3://{self.bucket}/{self.key}"

    @classmethod
    def parse(cls, text: str) -> CodeLocation:
        """Parse the string form of a place."""
        if not text.startswith("s3://"):
            return cls(image=text)
        bucket, _, key = text.removeprefix("s3://").partition("/")
        return cls(bucket=bucket, key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDescription:
    """A version of a runtime.

    Attributes:
        version: Its number.
        status: AWS's status, such as READY.
        description: The description given by its deployment.
        created_at: When the version was created (AWS's `lastUpdatedAt` of the version, which never changes afterwards).
        platform: The platform version, V1 or V2; empty if the service does not report it.
        place: Where its code is.
        code_digest: The beginning of the code's SHA-256, or "etag …" of S3, or the image's digest or tag.
        settings: All other settings, as strings by their path in AWS's description.
        variables: The environment variables. Loom compares their values, but shows only their names.
        failure_reason: Why it is not READY.
    """

    version: str
    status: str
    description: str
    created_at: datetime | None
    platform: str
    place: CodeLocation
    code_digest: str
    settings: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    failure_reason: str = ""


def describe_versions(
    clients: Clients, runtime_id: str, *, region: str | None = None, limit: int | None = None
) -> list[VersionDescription]:
    """Return the versions of a runtime, newest first (ListAgentRuntimeVersions, GetAgentRuntime, HeadObject).

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        region: The region, if it is not the connection's.
        limit: The number of newest versions to return, each of which needs a request; None for all.

    Raises:
        ResourceNotFoundError: There is no such runtime.
    """
    listing, query = clients.control(region).list_agent_runtime_versions, {"agentRuntimeId": runtime_id}
    shapes = iter_items(listing, "agentRuntimes", query, "Listing the runtime's versions", runtime_id)
    numbers = sorted({str(shape["agentRuntimeVersion"]) for shape in shapes}, key=_order, reverse=True)[:limit]

    def describe(number: str) -> VersionDescription:
        return describe_version(clients, runtime_id, number, region=region)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(describe, numbers))


def describe_version(
    clients: Clients, runtime_id: str, version: str, *, region: str | None = None
) -> VersionDescription:
    """Return one version of a runtime (GetAgentRuntime).

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        version: The version's number.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is no such runtime or version.
    """
    with translated("Describing a version of the runtime", on=f"{runtime_id}, version {version}"):
        answer: dict[str, Any] = clients.control(region).get_agent_runtime(
            agentRuntimeId=runtime_id, agentRuntimeVersion=version
        )
    place = _place(answer.get("agentRuntimeArtifact") or {})
    variables: Mapping[str, Any] = answer.get("environmentVariables") or {}
    settings = {name: value for name, value in answer.items() if name not in _NO_SETTING}
    settings["entryPoint"], settings["runtime"] = place.entry_point, place.runtime
    return VersionDescription(
        version=str(answer.get("agentRuntimeVersion") or version),
        status=str(answer.get("status") or "UNKNOWN"),
        description=str(answer.get("description") or "").strip(),
        created_at=answer.get("lastUpdatedAt") or answer.get("createdAt"),
        platform=str(answer.get("platformVersion") or ""),
        place=place,
        code_digest=_digest(clients, place, region),
        settings=dict(_texts(settings)),
        variables={name: str(value) for name, value in variables.items()},
        failure_reason=str(answer.get("failureReason") or ""),
    )


def wait_for_version(
    clients: Clients,
    runtime_id: str,
    version: str,
    *,
    region: str | None = None,
    timeout_s: float = 300.0,
    progress: Callable[[str], None] | None = None,
) -> VersionDescription:
    """Wait until a version is READY, and return it.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        version: The version's number.
        region: The region, if it is not the connection's.
        timeout_s: The longest wait.
        progress: Called with the state at each look.

    Raises:
        ResourceNotFoundError: There is no such runtime or version.
        ConflictError: The version is not READY and will not become READY.
        RequestTimeoutError: The version is not READY after `timeout_s`.
    """
    began, pause_s = time.monotonic(), 0.05
    while True:
        now = describe_version(clients, runtime_id, version, region=region)
        if now.status == "READY":
            return now
        if progress is not None:
            progress(f"version {version}: {now.status}")
        if now.status not in ("CREATING", "UPDATING"):
            why = f": {one_line(now.failure_reason, 200)}" if now.failure_reason else ""
            raise ConflictError(
                f"Endpoints serve only versions that are READY; version {version} is {now.status}{why}",
                on=runtime_id,
                try_="agent.versions() lists the versions with their states",
                code=now.status,
            )
        if time.monotonic() - began > timeout_s:
            message = f"Version {version} is still {now.status} after {time_limit(timeout_s)}"
            raise failure(RequestTimeoutError, message, on=runtime_id)
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 5.0)


def read_package(clients: Clients, place: CodeLocation, *, region: str | None = None) -> bytes:
    """Return the zip file of a version.

    Args:
        clients: The AWS clients of a connection.
        place: Where its code is.
        region: The region, if it is not the connection's.

    Raises:
        NotSupportedError: The version is a container image.
        ResourceNotFoundError: The package is no longer in S3.
    """
    if place.image:
        raise NotSupportedError(
            "The files of a container image cannot be read", on=place.image, try_="the repository of the agent's code"
        )
    request = {"Bucket": place.bucket, "Key": place.key}
    if place.version_id:
        request["VersionId"] = place.version_id
    with translated("Reading the version's package", on=str(place)):
        data: bytes = clients.s3(region).get_object(**request)["Body"].read()
    return data


def list_packages(clients: Clients, name: str, *, region: str | None = None) -> list[CodeLocation]:
    """Return the packages of a runtime in Loom's bucket for code, including those of former versions.

    Args:
        clients: The AWS clients of a connection.
        name: The runtime's name.
        region: The region, if it is not the connection's.
    """
    bucket = code_bucket(clients, region)
    listing = clients.s3(region).get_paginator("list_objects_v2")
    try:
        with translated("Listing the packages", on=f"s3://{bucket}/{name}/"):
            keys: list[str] = [
                shape["Key"]
                for page in listing.paginate(Bucket=bucket, Prefix=f"{name}/")
                for shape in page.get("Contents") or ()
            ]
    except ResourceNotFoundError:
        return []
    return [CodeLocation(bucket=bucket, key=key) for key in keys if _DIGEST_IN_KEY.search(key)]


def _place(artifact: Mapping[str, Any]) -> CodeLocation:
    if container := artifact.get("containerConfiguration"):
        return CodeLocation(image=str(container["containerUri"]))
    code: Mapping[str, Any] = artifact.get("codeConfiguration") or {}
    source: Mapping[str, Any] = code.get("code") or {}
    s3: Mapping[str, str] = source.get("s3") or {}
    command: Sequence[str] = code.get("entryPoint") or ("",)
    return CodeLocation(
        bucket=s3.get("bucket", ""),
        key=s3.get("prefix", ""),
        version_id=s3.get("versionId", ""),
        entry_point=command[-1],
        runtime=str(code.get("runtime") or ""),
    )


def _digest(clients: Clients, place: CodeLocation, region: str | None) -> str:
    if place.image:
        return place.image.partition("@sha256:")[2][:16] or place.image.rpartition("/")[2]
    if match := _DIGEST_IN_KEY.search(place.key):
        return match[1][:16]
    if not place.key:
        return ""
    request = {"Bucket": place.bucket, "Key": place.key}
    if place.version_id:
        request["VersionId"] = place.version_id
    try:
        with translated("Describing the version's package", on=str(place)):
            etag: str = clients.s3(region).head_object(**request)["ETag"]
    except AwsError:
        return ""  # AgentCore has its own copy: the object may have been deleted, or be in another account
    return "etag " + etag.strip('"')[:16]


def _texts(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Return the leaves of a description as strings by their path; lists are not split."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return [leaf for name, member in members.items() for leaf in _texts(member, f"{path}.{name}" if path else name)]
    return [(path, value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True))]


def _order(version: str) -> tuple[int, str]:
    return (int(version), "") if version.isdecimal() else (0, version)
