"""Direct code deployment: upload a zip file to S3, then create a runtime or a new version of it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from loomlib.errors import ConflictError, ResourceNotFoundError

from .connection import Clients
from .errors import translated
from .packages import Package
from .runtime_requests import RuntimeCode, RuntimeRequest, create_runtime, update_runtime
from .runtime_settings import RuntimeSettings
from .runtimes import RuntimeDescription, find_runtime, wait_until_ready

_log = logging.getLogger(__name__)


def deploy_package(
    clients: Clients,
    name: str,
    package: Package,
    *,
    role_arn: str | None = None,
    environment: Mapping[str, str] | None = None,
    description: str | None = None,
    idle_timeout_s: int | None = None,
    settings: RuntimeSettings | None = None,
    bucket: str | None = None,
    timeout_s: float = 300.0,
    progress: Callable[[str], None] | None = None,
) -> RuntimeDescription:
    """Deploy a package and wait until the runtime is READY. An existing runtime of that name gets a new version.

    Args:
        clients: The AWS clients of a connection.
        name: The runtime's name.
        package: The agent's code.
        role_arn: The role that the agent runs as; by default one that only the local service accepts.
        environment: Environment variables of the agent.
        description: The runtime's description.
        idle_timeout_s: Seconds after which an idle session ends (`idleRuntimeSessionTimeout`).
        settings: Further settings of the runtime.
        bucket: The bucket for the code; by default one per account and region.
        timeout_s: Seconds to wait for READY.
        progress: Called with each step: "uploading", then AWS's statuses.

    Raises:
        AwsError: A request or the deployment failed.
    """
    if progress is not None:
        progress("uploading")
    where, key = upload_package(clients, name, package, bucket=bucket)
    chosen = settings or RuntimeSettings()
    request = RuntimeRequest(
        name=name,
        code=RuntimeCode(bucket=where, key=key, python=own_python(), entry_point=package.entry_point),
        role_arn=role_arn or local_role(clients.account_id()),
        environment=environment or {},
        description=description or "",
        settings=chosen if idle_timeout_s is None else replace(chosen, idle_timeout_s=idle_timeout_s),
    )
    runtime_id = _create_or_update(clients, request)
    return wait_until_ready(clients, runtime_id, timeout_s=timeout_s, progress=progress)


def local_role(account_id: str) -> str:
    """Return the ARN of the role that only the local AgentCore accepts; the role need not exist."""
    return f"arn:aws:iam::{account_id}:role/loom-local"


def code_bucket(clients: Clients, region: str | None = None) -> str:
    """Return the name of the bucket for the code of an account and region, by default the connection's."""
    return f"loom-code-{clients.account_id()}-{region or clients.region}"


def package_key(name: str, package: Package) -> str:
    """Return the key of a package: in the runtime's folder, named by the first 16 digits of its digest."""
    return f"{name}/{package.digest[:16]}.zip"


def upload_package(clients: Clients, name: str, package: Package, *, bucket: str | None = None) -> tuple[str, str]:
    """Upload a package and return its bucket and key. A missing bucket is created, with public access blocked.

    Args:
        clients: The AWS clients of a connection.
        name: The runtime's name, the folder of the package in the bucket.
        package: The package.
        bucket: The bucket; `code_bucket` by default.

    Raises:
        AccessDeniedError: Another account has the bucket.
    """
    where, key = bucket or code_bucket(clients), package_key(name, package)
    try:
        _put(clients, where, key, package)
    except ResourceNotFoundError:
        make_bucket(clients, where)
        _put(clients, where, key, package)
    return where, key


def _put(clients: Clients, bucket: str, key: str, package: Package) -> None:
    with translated("Uploading the agent's code", on=f"s3://{bucket}/{key}"):
        clients.s3().put_object(
            Bucket=bucket,
            Key=key,
            Body=package.data,
            ContentType="application/zip",
            ExpectedBucketOwner=clients.account_id(),
        )


def make_bucket(clients: Clients, bucket: str) -> None:
    """Create a bucket with public access blocked, unless this account has it."""
    request: dict[str, Any] = {"Bucket": bucket}
    if clients.region != "us-east-1":  # in this region, specifying a location constraint is an error
        request["CreateBucketConfiguration"] = {"LocationConstraint": clients.region}
    _log.info("Creating a bucket", extra={"bucket": bucket})
    try:
        with translated("Creating a bucket", on=bucket):
            clients.s3().create_bucket(**request)
    except ConflictError as error:
        if error.code != "BucketAlreadyOwnedByYou":  # another process of this account was faster
            raise
    with translated("Blocking public access", on=bucket):
        clients.s3().put_public_access_block(
            Bucket=bucket,
            PublicAccessBlockConfiguration={
                "BlockPublicAcls": True,
                "IgnorePublicAcls": True,
                "BlockPublicPolicy": True,
                "RestrictPublicBuckets": True,
            },
        )


def _create_or_update(clients: Clients, request: RuntimeRequest) -> str:
    runtime_id = find_runtime(clients, request.name)
    if runtime_id is None:
        try:
            return create_runtime(clients, request)
        except ConflictError:
            runtime_id = find_runtime(clients, request.name)
            if runtime_id is None:
                raise
    update_runtime(clients, runtime_id, request)
    return runtime_id


def own_python() -> str:
    """Return the interpreter's version as AgentCore names it, limited to the supported range (3.10 to 3.14)."""
    minor = min(max(sys.version_info.minor, 10), 14)
    return f"PYTHON_3_{minor}"
