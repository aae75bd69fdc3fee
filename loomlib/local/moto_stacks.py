"""moto's CloudFormation, corrected where it differs from AWS's.

An invalid template is refused before any resource is created, and the error names the fault. A resource that cannot be
created fails its stack; the stack reports the resource and the reason, and no later resource is created. moto would
return the error of another service, in that service's form, and keep the resources that it had created.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from .wire import RefusedError

_log = logging.getLogger(__name__)
_OF_CDK: Final = "AWS::CDK::Metadata"
"""The metadata resource of every CDK stack; it does not create anything."""
_CUSTOM: Final = ("Custom::", "AWS::CloudFormation::CustomResource")
_NO_FUNCTION: Final = "stacks of the local AgentCore do not call the function of a custom resource (lambda:Invoke)"


class FailedResource:
    """A placeholder for a resource that could not be created.

    Args:
        logical_id: Its name in the template.
        kind: Its type.
    """

    def __init__(self, logical_id: str, kind: str) -> None:
        self.logical_resource_id, self.cf_resource_type, self.physical_resource_id = logical_id, kind, ""

    def get_cfn_attribute(self, attribute_name: str) -> str:
        """Return nothing: it has no attributes."""
        return ""

    def is_created(self) -> bool:
        """Return False: it was not created."""
        return False

    def delete(self, account_id: str, region: str) -> None:
        """Delete nothing."""


class _CustomResource:
    """The type of custom resources, whose functions stacks do not call here."""

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return True

    @classmethod
    def create_from_cloudformation_json(cls, *arguments: Any, **keywords: Any) -> object:
        raise RefusedError("ValidationError", 400, _NO_FUNCTION)


class _CancelledError(Exception):
    """Another resource failed before this one was created."""


def stack_of(account_id: str, region: str, stack_id: str) -> Any:
    """Return a stack of moto's.

    Args:
        account_id: Its account.
        region: Its region.
        stack_id: Its ARN.
    """
    from moto.cloudformation.models import cloudformation_backends

    return cloudformation_backends[account_id][region].stacks[stack_id]


def fail(stack: Any, logical_id: str, kind: str, reason: str) -> None:
    """Fail a stack; the first failure remains its status reason.

    Args:
        stack: moto's stack.
        logical_id: The resource that failed.
        kind: Its type.
        reason: Why.
    """
    if not _has_failed(stack):
        stack.loom_failure = f"{logical_id} ({kind}): {reason}"
        stack._add_stack_event("CREATE_FAILED", resource_status_reason=stack.loom_failure)
    stack.status, stack.status_reason = "CREATE_FAILED", stack.loom_failure


def correct() -> None:
    """Correct moto's CloudFormation, once per process."""
    from moto.cloudformation import models, parsing

    _correct_templates(models, parsing)
    _correct_failures(models, parsing)
    _correct_roles()


def _correct_roles() -> None:
    """Store the policies of stacks' roles as JSON: moto stores the `str` of a dictionary, which is not JSON."""
    from moto.iam import models

    role: Any = models.Role
    original_put: Callable[[Any, str, str], None] = role.put_policy

    def put_policy(role: Any, policy_name: str, policy_json: object) -> None:
        original_put(
            role, policy_name, policy_json if isinstance(policy_json, str) else json.dumps(policy_json, default=str)
        )

    role.put_policy = put_policy


def _has_failed(stack: Any) -> bool:
    return bool(getattr(stack, "loom_failure", ""))


def _correct_templates(models: Any, parsing: Any) -> None:
    import yaml  # takes 20 ms to load, so only when needed
    from moto.cloudformation.exceptions import ValidationError

    find_class, parse, load = parsing.resource_class_from_type, models.Stack.parse_template, parsing.ResourceMap.load
    load_parameters = parsing.ResourceMap.load_parameters

    def class_of(resource_type: str) -> Any:
        if resource_type.startswith(_CUSTOM):
            return _CustomResource
        model_class: Any = find_class(resource_type)
        if model_class is None and resource_type not in (*parsing.NULL_MODELS, _OF_CDK):
            # AWS's own words for a type that it does not have.
            problem = f"Template format error: Unrecognized resource types: [{resource_type}]"
            raise ValidationError(message=f"{problem}: the local CloudFormation does not implement it")
        return model_class

    def parse_template(template: str) -> Any:
        try:
            parsed = parse(template)
        except (yaml.YAMLError, json.JSONDecodeError) as error:
            raise ValidationError(message=f"Template format error: {_where_malformed(template)}") from error
        if not isinstance(parsed, dict):
            raise ValidationError(message="Template format error: unsupported structure.")
        return cast("dict[str, Any]", parsed)

    def load_all(resource_map: Any) -> None:
        resources: dict[str, Any] = resource_map._resource_json_map
        for resource in resources.values():
            class_of(str(cast("dict[str, Any]", resource).get("Type")) if isinstance(resource, dict) else "")
        load(resource_map)

    def load_lists(resource_map: Any) -> None:
        """Split the default values of list parameters, which moto leaves as strings."""
        load_parameters(resource_map)
        parameters: dict[str, dict[str, Any]] = resource_map._template.get("Parameters") or {}
        for name, parameter in parameters.items():
            kind, value = str(parameter.get("Type")), resource_map.resolved_parameters.get(name)
            if isinstance(value, str) and (kind == "CommaDelimitedList" or kind.startswith("List<")):
                items = [item.strip() for item in value.split(",")] if value else []
                resource_map.resolved_parameters[name] = resource_map._parsed_resources[name] = items

    parsing.resource_class_from_type = class_of
    parsing.ResourceMap.load, parsing.ResourceMap.load_parameters = load_all, load_lists
    models.Stack.parse_template = staticmethod(parse_template)


def _where_malformed(template: str) -> str:
    """Return AWS's message that says where a template is not well-formed."""
    import yaml

    if template.lstrip().startswith("{"):
        return "JSON not well-formed."
    try:
        cast("Any", yaml).compose(template)
    except yaml.MarkedYAMLError as error:
        if mark := error.problem_mark:
            return f"YAML not well-formed. (line {mark.line + 1}, column {mark.column + 1})"
    except yaml.YAMLError:
        pass
    return "YAML not well-formed."


def _correct_failures(models: Any, parsing: Any) -> None:
    create, parse_name = parsing.parse_and_create_resource, parsing.parse_resource_and_generate_name
    create_all, exports, outputs = models.Stack.create_resources, models.Stack.exports, models.Stack.outputs

    def parse_and_create(
        logical_id: str, resource_json: Mapping[str, Any], resources_map: Any, account_id: str, region_name: str
    ) -> Any:
        kind = str(resource_json.get("Type"))
        arranged = _with_moto_tags(resource_json, kind)
        before: str | list[str] = resource_json.get("DependsOn") or []
        try:
            for other in [before] if isinstance(before, str) else before:
                resources_map.get(other)  # creates it; moto does so only for a stack without exports
            return create(logical_id, arranged, resources_map, account_id, region_name)
        except _CancelledError:
            return FailedResource(logical_id, kind)
        except Exception as error:
            if type(error).__module__ == "moto.cloudformation.exceptions":  # the template's fault
                raise
            fail(stack_of(account_id, region_name, resources_map.stack_id), logical_id, kind, _reason(error))
            return FailedResource(logical_id, kind)

    def parse_and_name(logical_id: str, resource_json: dict[str, Any], resources_map: Any) -> Any:
        resource = parse_name(logical_id, resource_json, resources_map)
        stack = models.cloudformation_backends[resources_map._account_id][resources_map._region_name].stacks.get(
            resources_map.stack_id
        )
        if _has_failed(stack):
            raise _CancelledError  # a resource that it names, or one before it
        return resource

    def create_resources(stack: Any) -> None:
        create_all(stack)
        if _has_failed(stack):
            stack.status = "CREATE_FAILED"

    def without_failed(read: Callable[[Any], Any], none: Any) -> property:
        return property(lambda stack: none if _has_failed(stack) else _unless_failed(read, none)(stack))

    parsing.parse_and_create_resource, parsing.parse_resource_and_generate_name = parse_and_create, parse_and_name
    models.Stack.create_resources = create_resources
    models.Stack.exports, models.Stack.outputs = without_failed(exports.fget, []), without_failed(outputs.fget, None)


def _unless_failed(read: Callable[[Any], Any], none: Any) -> Callable[[Any], Any]:
    def reading(stack: Any) -> Any:
        try:
            return read(stack)
        except Exception:
            if not _has_failed(stack):  # reading an output creates the resources that it refers to
                raise
            return none

    return reading


def _reason(error: Exception) -> str:
    for words in (getattr(error, "message", None), getattr(error, "description", None)):
        if isinstance(words, str) and words:
            return words
    _log.exception("moto failed on a resource of a stack")
    return f"the local CloudFormation does not implement it for these properties: moto raised {error!r}"


def _with_moto_tags(resource: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return a resource with its tags in the form in which moto reads them: a list for SSM, other keys for KMS."""
    properties = resource.get("Properties")
    tags = cast("dict[str, Any]", properties).get("Tags") if isinstance(properties, dict) else None
    if kind == "AWS::SSM::Parameter" and isinstance(tags, dict):
        tag_map = cast("dict[str, Any]", tags)
        changed: Any = [{"Key": key, "Value": value} for key, value in tag_map.items()]
    elif kind == "AWS::KMS::Key" and isinstance(tags, list):
        tag_list = cast("list[dict[str, Any]]", tags)
        changed = [{"TagKey": tag.get("Key"), "TagValue": tag.get("Value")} for tag in tag_list]
    else:
        return resource
    return {**resource, "Properties": {**cast("dict[str, Any]", properties), "Tags": changed}}
