"""Functions of AWS Lambda: list, create, call and delete them."""

from __future__ import annotations

import base64
import io
import json
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from loomlib.errors import AwsError, RequestRejectedError, RequestTimeoutError, ResourceNotFoundError

from ..json_values import as_mapping, as_text
from .connection import Clients
from .errors import translated
from .packages import packaged_files

_PAUSE_S: Final = 0.1
_READY_S: Final = 120.0
_ANSWER_S: Final = 910.0
"""Lambda's longest call plus some seconds for its response."""
_ROLE: Final = "loom-functions"
_TRUST: Final = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
_WRITES_LOGS: Final = {
    "Effect": "Allow",
    "Action": ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"],
    "Resource": "*",
}
_ROLE_WAIT_S: Final = 30.0
"""IAM takes some seconds until Lambda can use a new role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaFunction:
    """A Lambda function.

    Attributes:
        name: Its name.
        arn: Its ARN.
        runtime: The language and its version, such as `python3.13`; "" for a container image.
        handler: The handler, `module.function`.
        status: Lambda's state, such as Active; "" where AWS's list does not contain it.
        description: Its description, "" without one.
        timeout_s: The function's timeout, in seconds.
        memory_mb: Its memory, in MB.
        region: The AWS region.
        updated_at: When it was changed last.
    """

    name: str
    arn: str
    runtime: str
    handler: str
    status: str
    description: str
    timeout_s: int
    memory_mb: int
    region: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionAnswer:
    """The result of a function call.

    Attributes:
        value: The result, or Lambda's description of the error.
        is_error: Whether the function failed.
        log: The last 4 KB of its log.
        version: The version that ran.
        duration_ms: From the call to its answer, at the client.
    """

    value: Any
    is_error: bool
    log: str
    version: str
    duration_ms: float

    @property
    def error(self) -> str:
        """The error's type and message; "" without one."""
        if not self.is_error:
            return ""
        described = as_mapping(self.value)
        kind, message = as_text(described.get("errorType")), as_text(described.get("errorMessage"))
        return ": ".join(filter(None, (kind, message))) or as_text(self.value)


def list_functions(clients: Clients, *, region: str | None = None) -> Iterator[LambdaFunction]:
    """Return every function of the account in a region."""
    client, where = clients.client("lambda", region), region or clients.region
    query: dict[str, Any] = {}
    while True:
        with translated("Listing functions", on=where):
            page: Mapping[str, Any] = client.list_functions(**query)
        for shape in page.get("Functions") or ():
            yield _function(shape, where)
        if not page.get("NextMarker"):
            return
        query["Marker"] = page["NextMarker"]


def find_function(clients: Clients, key: str, *, region: str | None = None) -> LambdaFunction:
    """Return a function by its name or ARN.

    Args:
        clients: The AWS clients of a connection.
        key: The function's name or ARN.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is none.
    """
    try:
        with translated("Reading a function", on=key):
            shape = clients.client("lambda", region).get_function(FunctionName=key)["Configuration"]
    except ResourceNotFoundError as error:
        raise ResourceNotFoundError(
            "There is no such function", on=f"{key} in {region or clients.region}", try_="bench.tools.functions.table()"
        ) from error
    return _function(shape, region or clients.region)


def create_function(
    clients: Clients,
    name: str,
    package: bytes,
    *,
    handler: str,
    role_arn: str | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: int = 30,
    description: str = "",
    region: str | None = None,
) -> LambdaFunction:
    """Create a Python function and return it once it can be called.

    Args:
        clients: The AWS clients of a connection.
        name: Its name.
        package: The zip file with its code.
        handler: `module.function`.
        role_arn: The role that it runs as; by default `loom-functions`, which may write logs and is created if
            it does not exist.
        environment: Its environment variables.
        timeout_s: The function's timeout, in seconds.
        description: A description, for people.
        region: The region, if it is not the connection's.

    Raises:
        ConflictError: The name is taken.
        AwsError: Lambda cannot activate the function; the message contains its reason.
        RequestTimeoutError: The function does not become Active in time.
    """
    client = clients.client("lambda", region)
    more = {"Environment": {"Variables": dict(environment)}} if environment else {}
    request: dict[str, Any] = {
        "FunctionName": name,
        "Runtime": f"python3.{min(max(sys.version_info.minor, 10), 14)}",
        "Role": role_arn or _own_role(clients),
        "Handler": handler,
        "Code": {"ZipFile": package},
        "Timeout": timeout_s,
        "Description": description,
        **more,
    }
    deadline = time.monotonic() + _ROLE_WAIT_S
    while True:
        try:
            with translated("Creating a function", on=name):
                shape: Mapping[str, Any] = client.create_function(**request)
            break
        except RequestRejectedError as error:
            if role_arn or "cannot be assumed by Lambda" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(1.0)
    deadline = time.monotonic() + _READY_S
    while shape.get("State") == "Pending":
        if time.monotonic() > deadline:
            raise RequestTimeoutError("The function is still Pending", on=name, try_="wait and read it again")
        time.sleep(_PAUSE_S)
        with translated("Reading a function", on=name):
            shape = client.get_function(FunctionName=name)["Configuration"]
    if shape.get("State") == "Failed":
        raise AwsError(
            f"The function has failed: {shape.get('StateReason') or 'Lambda gives no reason'}",
            on=name,
            try_="correct it, delete the function and create it again",
        )
    return _function(shape, region or clients.region)


def call_function(
    clients: Clients, function: LambdaFunction, event: Any = None, *, qualifier: str | None = None
) -> FunctionAnswer:
    """Call a function and wait for its result.

    Args:
        clients: The AWS clients of a connection.
        function: The function.
        event: The event for its handler: any JSON value.
        qualifier: A version or an alias; None for the newest code.
    """
    more = {"Qualifier": qualifier} if qualifier else {}
    began = time.perf_counter()
    with translated("Calling a function", on=function.name):
        answer: Mapping[str, Any] = clients.client("lambda", function.region, read_timeout_s=_ANSWER_S).invoke(
            FunctionName=function.name,
            Payload=json.dumps({} if event is None else event).encode(),
            LogType="Tail",
            **more,
        )
        content: bytes = answer["Payload"].read()
    took_ms = (time.perf_counter() - began) * 1_000
    return FunctionAnswer(
        value=json.loads(content) if content else None,
        is_error=bool(answer.get("FunctionError")),
        log=base64.b64decode(answer.get("LogResult") or "").decode("utf-8", "replace"),
        version=str(answer.get("ExecutedVersion") or ""),
        duration_ms=took_ms,
    )


def delete_function(clients: Clients, function: LambdaFunction) -> None:
    """Delete a function with its versions and aliases."""
    with translated("Deleting a function", on=function.name):
        clients.client("lambda", function.region).delete_function(FunctionName=function.name)


def zip_code(code: Path) -> tuple[bytes, str]:
    """Return a zip file of a Python file or a folder, and the name of the module with the handler.

    Caches, virtual environments, version control, `.env` files and links that lead outside are left out.

    Args:
        code: A file, or a folder with `app.py` or a single Python file.

    Raises:
        RequestRejectedError: There is no Python file, or there are several and none is `app.py`.
    """
    files = dict(packaged_files(code))
    modules = [name.removesuffix(".py") for name in files if "/" not in name and name.endswith(".py")]
    module = "app" if "app" in modules else modules[0] if len(modules) == 1 else ""
    if not module:
        raise RequestRejectedError(
            "The handler's module cannot be determined",
            on=str(code),
            try_="the path of a Python file, or of a folder with app.py",
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for name, file in files.items():
            archive.write(file, name)
    return packed.getvalue(), module


def _own_role(clients: Clients) -> str:
    """Return the ARN of the default role for functions; create the role if it does not exist."""
    iam = clients.client("iam")
    try:
        with translated("Reading a role", on=_ROLE):
            return str(iam.get_role(RoleName=_ROLE)["Role"]["Arn"])
    except ResourceNotFoundError:
        with translated("Creating a role", on=_ROLE):
            role = iam.create_role(RoleName=_ROLE, AssumeRolePolicyDocument=_policy(_TRUST))["Role"]
            iam.put_role_policy(RoleName=_ROLE, PolicyName="logs", PolicyDocument=_policy(_WRITES_LOGS))
        return str(role["Arn"])


def _policy(statement: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _function(shape: Mapping[str, Any], region: str) -> LambdaFunction:
    return LambdaFunction(
        name=shape["FunctionName"],
        arn=shape["FunctionArn"],
        runtime=shape.get("Runtime") or "",
        handler=shape.get("Handler") or "",
        status=shape.get("State") or "",
        description=shape.get("Description") or "",
        timeout_s=shape.get("Timeout") or 3,
        memory_mb=shape.get("MemorySize") or 128,
        region=region,
        updated_at=datetime.fromisoformat(shape["LastModified"]),
    )
