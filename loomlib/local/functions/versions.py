"""A version of a Lambda function as moto keeps it, in the form that the service runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..resources import Place
from ..wire import RefusedError

LATEST: Final = "$LATEST"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionVersion:
    """What a call runs.

    Attributes:
        name: The function's name.
        version: `$LATEST` or a number.
        arn: The ARN that was invoked.
        handler: `module.function`.
        runtime: AWS's name of the language and its version, such as `python3.13`.
        role_arn: The role that it runs as.
        timeout_s: How long one call may take.
        memory_mb: Its memory; the limit of sessions is what is enforced here.
        environment: Its own variables.
        package: The zip file.
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

    @property
    def digest(self) -> str:
        """Differs for all that a running process must not be reused for."""
        parts = [self.arn, self.version, self.handler, self.role_arn, sorted(self.environment.items())]
        return hashlib.sha256(json.dumps(parts).encode() + self.package).hexdigest()

    @property
    def log_group(self) -> str:
        """The log group of all versions."""
        return f"/aws/lambda/{self.name}"


def find_version(name: str, qualifier: str | None, place: Place) -> FunctionVersion:
    """Return the version that a request names.

    Args:
        name: The function's name, ARN or partial ARN, perhaps with a qualifier.
        qualifier: A version or an alias; None for the newest code.
        place: The caller's region and account.

    Raises:
        RefusedError: There is none (404), or this service cannot run it (502).
    """
    from moto.awslambda.exceptions import UnknownFunctionException
    from moto.awslambda.models import lambda_backends

    backend: Any = lambda_backends[place.account_id][place.region]
    try:
        found: Any = backend.get_function(name, qualifier)
    except UnknownFunctionException as error:
        raise RefusedError("ResourceNotFoundException", 404, str(error.message), Type="User") from error
    if found.package_type != "Zip" or not str(found.run_time).startswith("python"):
        what = found.run_time if found.package_type == "Zip" else "container images"
        raise RefusedError(
            "InvalidRuntimeException", 502, f"The local AgentCore runs Python functions only, not {what}", Type="User"
        )
    version = LATEST if str(found.version).lower() in ("latest", "$latest") else str(found.version)
    return FunctionVersion(
        name=found.function_name,
        version=version,
        arn=str(found.function_arn),
        handler=str(found.handler or ""),
        runtime=str(found.run_time),
        role_arn=str(found.role),
        timeout_s=int(found.timeout),
        memory_mb=int(found.memory_size),
        environment=dict(found.environment_vars),
        package=bytes(found.code_bytes),
    )
