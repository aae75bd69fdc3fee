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
        clients: The connection.
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
    request: dict[str, Any] = {
        "agentRuntimeArtifact": {
            "codeConfiguration": {
                "code": {"s3": {"bucket": where, "prefix": key}},
                "runtime": _python(),
                "entryPoint": [package.entry_point],
            }
        },
        "roleArn": role_arn or f"arn:aws:iam::{clients.account_id()}:role/loom-local",
        "networkConfiguration": {"networkMode": "PUBLIC"},
    }
    if environment:
        request["environmentVariables"] = dict(environment)
    if description:
        request["description"] = description
    chosen = settings or RuntimeSettings()
    request |= (chosen if idle_timeout_s is None else replace(chosen, idle_timeout_s=idle_timeout_s)).members()
    runtime_id = _create_or_update(clients, name, request)
    return wait_until_ready(clients, runtime_id, timeout_s=timeout_s, progress=progress)


def upload_package(clients: Clients, name: str, package: Package, *, bucket: str | None = None) -> tuple[str, str]:
    """Upload a package and return its bucket and key. A missing bucket is created, with public access blocked.

    Args:
        clients: The connection.
        name: The runtime's name, the folder of the package in the bucket.
        package: The package; the first 16 digits of its digest name the object.
        bucket: The bucket; `loom-code-ACCOUNT-REGION` by default.
    """
    where = bucket or f"loom-code-{clients.account_id()}-{clients.region}"
    key = f"{name}/{package.digest[:16]}.zip"
    s3 = clients.s3()
    try:
        with translated("Uploading the agent's code", on=f"s3://{where}/{key}"):
            s3.put_object(Bucket=where, Key=key, Body=package.data, ContentType="application/zip")
    except ResourceNotFoundError:
        make_bucket(clients, where)
        with translated("Uploading the agent's code", on=f"s3://{where}/{key}"):
            s3.put_object(Bucket=where, Key=key, Body=package.data, ContentType="application/zip")
    return where, key


def make_bucket(clients: Clients, bucket: str) -> None:
    """Create a bucket with public access blocked, unless this account has it."""
    request: dict[str, Any] = {"Bucket": bucket}
    if clients.region != "us-east-1":  # where naming the region is an error
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


def _create_or_update(clients: Clients, name: str, request: dict[str, Any]) -> str:
    control = clients.control()
    runtime_id = find_runtime(clients, name)
    if runtime_id is None:
        try:
            with translated("Creating the runtime", on=name):
                return str(control.create_agent_runtime(agentRuntimeName=name, **request)["agentRuntimeId"])
        except ConflictError:
            runtime_id = find_runtime(clients, name)
            if runtime_id is None:
                raise
    with translated("Updating the runtime", on=name):
        control.update_agent_runtime(agentRuntimeId=runtime_id, **request)
    return runtime_id


def _python() -> str:
    """Return the interpreter's version as AgentCore names it, limited to the supported range (3.10 to 3.14)."""
    minor = min(max(sys.version_info.minor, 10), 14)
    return f"PYTHON_3_{minor}"
