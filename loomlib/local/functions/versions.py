"""A version of a Lambda function that moto stores, in the form that the service runs."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..resources import Place
from ..runtimes.nodes import find_node, installed_nodes
from ..wire import RefusedError

LATEST: Final = "$LATEST"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionVersion:
    """The version of a function that a call runs.

    Attributes:
        name: The function's name.
        version: `$LATEST` or a number.
        arn: The ARN that was invoked.
        handler: `module.function`.
        runtime: AWS's name of the language and its version, such as `python3.13`.
        role_arn: The role with which it runs.
        timeout_s: How long one call may take.
        memory_mb: Its configured memory in MB; here the limit of sessions is enforced instead.
        environment: Its own variables.
        package: The zip file.
        layers: The zip files of its layers, in their order.
        node: The Node.js that runs it; None for Python.
    """

    name: str
    version: str
    arn: str
    handler: str
    runtime: str
    role_arn: str
    timeout_s: int
    memory_mb: int
    environment: Mapping[str, str] = field(repr=False)
    package: bytes = field(repr=False)
    layers: tuple[bytes, ...] = field(default=(), repr=False)
    node: Path | None = None

    @property
    def digest(self) -> str:
        """A digest that differs between versions that must not share a process."""
        settings = [self.handler, self.runtime, str(self.node), self.role_arn, self.memory_mb]
        parts = [self.arn, self.version, *settings, sorted(self.environment.items())]
        digest = hashlib.sha256(json.dumps(parts).encode())
        for content in (self.package, *self.layers):
            digest.update(hashlib.sha256(content).digest())
        return digest.hexdigest()

    @property
    def log_group(self) -> str:
        """The log group of all versions."""
        return f"/aws/lambda/{self.name}"


def find_version(name: str, qualifier: str | None, place: Place) -> FunctionVersion:
    """Return the version that a request names.

    Args:
        name: The function's name, ARN or partial ARN, perhaps with a qualifier.
        qualifier: A version or an alias, which may divide its calls between two versions; None for the newest code.
        place: The caller's region and account.

    Raises:
        RefusedError: It does not exist (404), or this service cannot run it (502).
    """
    from moto.awslambda.exceptions import UnknownFunctionException
    from moto.awslambda.models import lambda_backends

    backend: Any = lambda_backends[place.account_id][place.region]
    try:
        function: Any = backend.get_function(name, qualifier)
    except UnknownFunctionException as error:
        raise RefusedError("ResourceNotFoundException", 404, str(error.message), Type="User") from error
    function = _routed(
        backend, function, (name.partition(":function:")[2] or name).partition(":")[2] or qualifier or ""
    )
    node = _node(function)
    version = LATEST if str(function.version).lower() in ("latest", "$latest") else str(function.version)
    return FunctionVersion(
        name=function.function_name,
        version=version,
        arn=str(function.function_arn),
        handler=str(function.handler or ""),
        runtime=str(function.run_time),
        role_arn=str(function.role),
        timeout_s=int(function.timeout),
        memory_mb=int(function.memory_size),
        environment=dict(function.environment_vars),
        package=bytes(function.code_bytes),
        layers=tuple(_layer(backend, str(layer["Arn"])) for layer in function.layers or ()),
        node=node,
    )


def _routed(backend: Any, function: Any, qualifier: str) -> Any:
    """Return the version for one call of an alias: its main version, or the one that receives a share of its calls."""
    name = function.function_name
    alias: Any = next((item for item in backend.list_aliases(name) if item.name == qualifier), None)
    routing: Mapping[str, Any] = (alias.routing_config if alias else None) or {}
    weights: Mapping[str, float] = routing.get("AdditionalVersionWeights") or {}
    draw = random.random()  # noqa: S311 (a share of calls)
    for version, weight in weights.items():
        draw -= weight
        if draw < 0:
            return backend.get_function(name, version)
    return function


def _node(function: Any) -> Path | None:
    """Return the Node.js of a function in JavaScript; None for Python."""
    if function.package_type != "Zip":
        raise _not_run("container images")
    if str(function.run_time).startswith("python"):
        return None
    match = re.fullmatch(r"nodejs(\d+)\.x", str(function.run_time))
    if match is None:
        raise _not_run(str(function.run_time))
    if (program := find_node(int(match[1]))) is None:
        raise RefusedError(
            "InvalidRuntimeException",
            502,
            f"{function.run_time} needs Node.js {match[1]} or newer on the path of the local AgentCore; found: "
            f"{installed_nodes()}. Install it and start the service again with it first on PATH",
            Type="User",
        )
    return program


def _not_run(subject: str) -> RefusedError:
    message = f"The local AgentCore runs functions in Python and JavaScript only, not {subject}"
    return RefusedError("InvalidRuntimeException", 502, message, Type="User")


def _layer(backend: Any, arn: str) -> bytes:
    version = backend.layers_versions_by_arn(arn)
    if version is None or not version.code_bytes:
        message = f"The layer {arn} has been deleted, or its content is not on this machine"
        raise RefusedError("InvalidRuntimeException", 502, message, Type="User")
    return bytes(version.code_bytes)
