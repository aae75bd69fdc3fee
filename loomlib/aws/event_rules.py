"""Rules of EventBridge that pass events about new objects in S3 to a Lambda function."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.errors import ConflictError, RequestRejectedError, ResourceNotFoundError, ServiceFailedError

from .connection import Clients
from .errors import failure, translated
from .functions import LambdaFunction, find_function

_ROLE_WAIT_S: Final = 30.0
"""IAM takes some seconds until Lambda can use a new role."""
_READY_S: Final = 120.0
_STATEMENT: Final = "loom-rule"
_TARGET: Final = "agent"
_RULE_TEXT: Final = "New objects for an agent; made by Loom"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerFunction:
    """A function that passes events on.

    Attributes:
        name: Its name.
        role_arn: The role that it runs as.
        runtime: The language and its version.
        handler: `module.function`.
        package: The zip file with its code.
        environment: Its environment variables.
        timeout_s: The function's timeout, in seconds.
        tags: Its tags.
    """

    name: str
    role_arn: str
    runtime: str
    handler: str
    package: bytes = field(repr=False)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_s: int = 900
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDescription:
    """A rule of the default event bus.

    Attributes:
        name: Its name.
        arn: Its ARN.
        pattern: The pattern of the events that it matches.
        targets: The ARNs of its targets.
        description: Its description.
    """

    name: str
    arn: str
    pattern: Mapping[str, Any]
    targets: tuple[str, ...] = ()
    description: str = ""

    @property
    def is_made_by_loom(self) -> bool:
        """Whether Loom created it (`put_rule`)."""
        return self.description == _RULE_TEXT


def function_differences(clients: Clients, function: TriggerFunction) -> tuple[str, ...] | None:
    """Return the settings of a function that differ from the desired ones; None if the function does not exist.

    Args:
        clients: The AWS clients of a connection.
        function: The desired function.
    """
    try:
        with translated("Reading the function", on=function.name):
            answer: Mapping[str, Any] = clients.client("lambda").get_function(FunctionName=function.name)
    except ResourceNotFoundError:
        return None
    shape: Mapping[str, Any] = answer["Configuration"]
    digest = base64.b64encode(hashlib.sha256(function.package).digest()).decode()
    environment: Mapping[str, Any] = shape.get("Environment") or {}
    variables: Mapping[str, str] = environment.get("Variables") or {}
    pairs = (
        ("code", shape.get("CodeSha256"), digest),
        ("role", shape.get("Role"), function.role_arn),
        ("handler", shape.get("Handler"), function.handler),
        ("environment", dict(variables), dict(function.environment)),
        ("timeout_s", shape.get("Timeout"), function.timeout_s),
    )
    return tuple(name for name, before, after in pairs if before != after)


def function_tags(clients: Clients, name: str) -> dict[str, str]:
    """Return the tags of a function."""
    with translated("Reading the function", on=name):
        answer: Mapping[str, Any] = clients.client("lambda").get_function(FunctionName=name)
    tags: Mapping[str, Any] = answer.get("Tags") or {}
    return {key: str(value) for key, value in tags.items()}


def put_function(clients: Clients, function: TriggerFunction, *, is_new: bool) -> LambdaFunction:
    """Create or change a function that does not retry failed events, and wait until it can be called.

    Args:
        clients: The AWS clients of a connection.
        function: The desired function.
        is_new: Whether it does not exist yet.

    Raises:
        AwsError: Lambda rejects it.
        ConflictError: Another change of the function does not finish in time.
    """
    client = clients.client("lambda")
    settings: dict[str, Any] = {
        "FunctionName": function.name,
        "Role": function.role_arn,
        "Handler": function.handler,
        "Runtime": function.runtime,
        "Timeout": function.timeout_s,
        "Environment": {"Variables": dict(function.environment)},
        "Description": "Passes events on to an agent; made by Loom",
    }
    deadline = time.monotonic() + _ROLE_WAIT_S
    while is_new:
        try:
            with translated("Creating the function", on=function.name):
                client.create_function(**settings, Code={"ZipFile": function.package}, Tags=dict(function.tags))
            break
        except RequestRejectedError as error:
            if "cannot be assumed by Lambda" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(1.0)
    if not is_new:
        with translated("Changing the function's code", on=function.name):
            client.update_function_code(FunctionName=function.name, ZipFile=function.package)
        _ready(clients, function.name)
        with translated("Changing the function", on=function.name):
            client.update_function_configuration(**settings)
    _ready(clients, function.name)
    with translated("Switching off the function's retries", on=function.name):
        client.put_function_event_invoke_config(FunctionName=function.name, MaximumRetryAttempts=0)
    return find_function(clients, function.name)


def delete_trigger_function(clients: Clients, name: str) -> None:
    """Delete a function; no error when it is gone."""
    try:
        with translated("Deleting the function", on=name):
            clients.client("lambda").delete_function(FunctionName=name)
    except ResourceNotFoundError:
        return


def find_rule(clients: Clients, name: str) -> RuleDescription | None:
    """Return a rule; None if there is none of that name."""
    events = clients.client("events")
    try:
        with translated("Reading the rule", on=name):
            rule: Mapping[str, Any] = events.describe_rule(Name=name)
            targets: list[Mapping[str, Any]] = events.list_targets_by_rule(Rule=name)["Targets"]
    except ResourceNotFoundError:
        return None
    return RuleDescription(
        name=name,
        arn=str(rule["Arn"]),
        pattern=json.loads(rule.get("EventPattern") or "{}"),
        targets=tuple(str(target["Arn"]) for target in targets),
        description=str(rule.get("Description") or ""),
    )


def put_rule(
    clients: Clients, name: str, pattern: Mapping[str, Any], function: LambdaFunction, tags: Mapping[str, str]
) -> None:
    """Create or change a rule whose only target is a function, and allow it to call the function without retries.

    Args:
        clients: The AWS clients of a connection.
        name: The rule's name.
        pattern: The pattern of the events that it matches.
        function: The function.
        tags: The rule's tags, when it is created.

    Raises:
        ServiceFailedError: EventBridge did not accept the function as the rule's target.
    """
    events = clients.client("events")
    request: dict[str, Any] = {"Name": name, "EventPattern": json.dumps(pattern), "State": "ENABLED"}
    if find_rule(clients, name) is None and tags:  # an update does not accept tags
        request["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    with translated("Writing the rule", on=name):
        arn = str(events.put_rule(**request, Description=_RULE_TEXT)["RuleArn"])
    try:
        with translated("Allowing the rule to call the function", on=function.name):
            clients.client("lambda").add_permission(
                FunctionName=function.name,
                StatementId=_STATEMENT,
                Action="lambda:InvokeFunction",
                Principal="events.amazonaws.com",
                SourceArn=arn,
            )
    except ConflictError:  # the permission exists already
        pass
    with translated("Writing the rule's target", on=name):
        answer = events.put_targets(Rule=name, Targets=[{"Id": _TARGET, "Arn": function.arn}])
    for entry in answer.get("FailedEntries", ()):
        code, message = str(entry.get("ErrorCode", "")), str(entry.get("ErrorMessage", ""))
        raise failure(ServiceFailedError, f"Writing the rule's target: {code}: {message}", on=name, code=code)


def delete_rule(clients: Clients, name: str) -> None:
    """Delete a rule with its target; no error when it is gone."""
    events = clients.client("events")
    try:
        with translated("Deleting the rule", on=name):
            events.remove_targets(Rule=name, Ids=[_TARGET])
            events.delete_rule(Name=name)
    except ResourceNotFoundError:
        return


def sends_object_events(clients: Clients, bucket: str) -> bool:
    """Return whether a bucket of this account sends events about new objects to EventBridge.

    Raises:
        ResourceNotFoundError: The account has no such bucket.
    """
    try:
        with translated("Reading the bucket's notifications", on=bucket):
            configuration: Mapping[str, Any] = clients.s3().get_bucket_notification_configuration(
                Bucket=bucket, ExpectedBucketOwner=clients.account_id()
            )
    except ResourceNotFoundError as error:
        raise ResourceNotFoundError(
            "The bucket of a trigger does not exist",
            on=bucket,
            try_=f"create it first: aws s3 mb s3://{bucket}",
        ) from error
    return "EventBridgeConfiguration" in configuration


def set_object_events(clients: Clients, bucket: str, *, on: bool) -> None:
    """Turn a bucket's object events to EventBridge on or off; its other notifications are unchanged.

    Args:
        clients: The AWS clients of a connection.
        bucket: The bucket.
        on: Whether the bucket sends its events to EventBridge.
    """
    s3, owner = clients.s3(), clients.account_id()
    with translated("Changing the bucket's notifications", on=bucket):
        configuration: dict[str, Any] = s3.get_bucket_notification_configuration(
            Bucket=bucket, ExpectedBucketOwner=owner
        )
        configuration.pop("ResponseMetadata", None)
        configuration.pop("EventBridgeConfiguration", None)
        if on:
            configuration["EventBridgeConfiguration"] = {}
        s3.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration=configuration, ExpectedBucketOwner=owner
        )


def _ready(clients: Clients, name: str) -> None:
    """Wait until a function is Active and its last change is complete."""
    deadline = time.monotonic() + _READY_S
    while True:
        with translated("Reading the function", on=name):
            shape: Mapping[str, Any] = clients.client("lambda").get_function(FunctionName=name)["Configuration"]
        if shape.get("State") != "Pending" and shape.get("LastUpdateStatus") != "InProgress":
            return
        if time.monotonic() > deadline:
            raise ConflictError("The function is still being changed", on=name, try_="wait, then deploy again")
        time.sleep(0.5)


def list_rules(clients: Clients, prefix: str) -> list[str]:
    """Return the names of the rules with a prefix."""
    names: list[str] = []
    query: dict[str, Any] = {"NamePrefix": prefix}
    while True:
        with translated("Listing rules", on=prefix):
            page: Mapping[str, Any] = clients.client("events").list_rules(**query)
        names += [str(item["Name"]) for item in page["Rules"]]
        if not page.get("NextToken"):
            return names
        query["NextToken"] = page["NextToken"]
