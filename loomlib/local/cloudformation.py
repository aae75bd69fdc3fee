"""AgentCore's resources in CloudFormation stacks: moto reads the templates, the resource engine makes the resources.

The properties of a template are the members of the create operation, with a capital letter. Templates may name
runtimes, their endpoints and memories. A type that neither this module nor moto has is refused by name: moto would
leave the resource out and report the stack as complete.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from moto.core.utils import get_service_model

from .resources.engine import ResourceEngine
from .router import check_parameters
from .wire import RefusedError

_PREFIX: Final = "AWS::BedrockAgentCore::"
_OF_CDK: Final = "AWS::CDK::Metadata"
"""A resource of every CDK stack, which makes nothing."""
_WITHIN_S: Final = 45.0
"""How long a request waits for a resource; boto3 gives up after 60 s."""
_CALL_WITHIN_S: Final = 30.0
_SETTLES_WITHIN_S: Final = 900.0
_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class StackType:
    """A type of resource in templates.

    Attributes:
        name: The part of the type's name that is its own.
        noun: The resource in the names of operations.
        name_property: The property with the resource's name.
        keys: The parameters by which Get and Delete find it, each with the attribute of the created resource.
        ref: The attribute that `Ref` returns.
        inside: The member of Get's answer that holds the resource; "" when it is the answer itself.
        attributes: The attributes of `Fn::GetAtt`, each with the member that has its value.
        can_update: Whether a changed template changes the resource.
    """

    name: str
    noun: str
    name_property: str
    keys: Mapping[str, str]
    ref: str
    inside: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    can_update: bool = True


TYPES: Final = (
    StackType(
        name="Runtime",
        noun="AgentRuntime",
        name_property="AgentRuntimeName",
        keys={"agentRuntimeId": "agentRuntimeId"},
        ref="agentRuntimeId",
        attributes={
            "AgentRuntimeArn": "agentRuntimeArn",
            "AgentRuntimeId": "agentRuntimeId",
            "AgentRuntimeVersion": "agentRuntimeVersion",
            "Status": "status",
        },
    ),
    StackType(
        name="RuntimeEndpoint",
        noun="AgentRuntimeEndpoint",
        name_property="Name",
        keys={"agentRuntimeId": "agentRuntimeId", "endpointName": "name"},
        ref="agentRuntimeEndpointArn",
        attributes={
            "AgentRuntimeArn": "agentRuntimeArn",
            "AgentRuntimeEndpointArn": "agentRuntimeEndpointArn",
            "Id": "id",
            "LiveVersion": "liveVersion",
            "Status": "status",
        },
    ),
    StackType(
        name="Memory",
        noun="Memory",
        name_property="Name",
        keys={"memoryId": "id"},
        ref="arn",
        inside="memory",
        attributes={"MemoryArn": "arn", "MemoryId": "id", "Status": "status"},
        can_update=False,
    ),
)


class Stacks:
    """Adds AgentCore's types to moto's CloudFormation, once for a process, when the first template arrives.

    Args:
        engine: Makes the resources.
    """

    def __init__(self, engine: ResourceEngine) -> None:
        self._engine, self._loop = engine, asyncio.get_running_loop()
        self._added = False
        self._models: list[type] = []
        self._adding = threading.Lock()
        self._caller = threading.local()

    def serve(self, principal: object, answer: Callable[[], Any]) -> Any:
        """Answer a CloudFormation request on this thread.

        Args:
            principal: The role that calls; None for the owner.
            answer: moto's answer.
        """
        with self._adding:
            if not self._added:
                self._add()
                self._added = True
        self._caller.principal = principal
        return answer()

    def call(self, operation: str, parameters: Mapping[str, Any], region: str, account_id: str) -> dict[str, Any]:
        """Call an operation of the control plane from a thread of moto's.

        Raises:
            RefusedError: The control plane refuses it, or the caller is not the owner.
        """
        if getattr(self._caller, "principal", None) is not None:
            raise RefusedError("AccessDenied", 403, f"Only the owner may use {_PREFIX}* in the local CloudFormation")
        check_parameters(_model().operation_model(operation).input_shape, parameters)
        waiting = asyncio.run_coroutine_threadsafe(
            self._engine.call(operation, parameters, region=region, account_id=account_id), self._loop
        )
        return dict(waiting.result(_CALL_WITHIN_S))

    def _add(self) -> None:
        from moto.cloudformation import parsing
        from moto.cloudformation.exceptions import ValidationError

        self._models = [_model_of(kind, self) for kind in TYPES]  # moto finds them among the subclasses of its own
        for cached in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
            cached.cache_clear()
        known = parsing.resource_class_from_type

        def class_of(resource_type: str) -> Any:
            found: Any = known(resource_type)
            if found is None and resource_type not in (*parsing.NULL_MODELS, _OF_CDK):
                # AWS's own words for a type that it does not have.
                what = f"Template format error: Unrecognized resource types: [{resource_type}]"
                raise ValidationError(message=f"{what}: the local CloudFormation does not implement it")
            return found

        parsing.resource_class_from_type = class_of


def parameters_of(shape: Any, value: Any) -> Any:
    """Return the properties of a template as the parameters of an operation.

    Args:
        shape: botocore's shape of the parameters.
        value: The properties.

    Raises:
        RefusedError: A property is unknown.
    """
    if shape.type_name == "structure" and isinstance(value, str) and "serverProtocol" in shape.members:
        return {"serverProtocol": value}  # the property ProtocolConfiguration is a text
    if shape.type_name == "structure" and isinstance(value, dict):
        names = {name.lower(): name for name in shape.members}
        found: dict[str, Any] = {}
        for given, item in cast("dict[str, Any]", value).items():
            if (name := names.get(given.lower())) is None:
                raise RefusedError("ValidationError", 400, f"Encountered unsupported property {given}")
            found[name] = parameters_of(shape.members[name], item)
        return found
    if shape.type_name == "map" and isinstance(value, dict):
        return {key: parameters_of(shape.value, item) for key, item in cast("dict[str, Any]", value).items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [parameters_of(shape.member, item) for item in cast("list[Any]", value)]
    if shape.type_name in ("structure", "map", "list"):
        raise RefusedError("ValidationError", 400, f"{shape.name} must be a {shape.type_name}, not {value!r}"[:300])
    if shape.type_name in ("integer", "long") and isinstance(value, str) and value.isdigit():
        return int(value)
    if shape.type_name == "boolean" and value in ("true", "false"):
        return value == "true"
    return str(value) if shape.type_name == "string" and isinstance(value, int | float) else value


def _fail(stack: Any, reason: str) -> None:
    stack._add_stack_event("CREATE_FAILED", resource_status_reason=reason)
    stack.status, stack.status_reason = "CREATE_FAILED", reason


def _model() -> Any:
    return get_service_model("bedrock-agentcore-control")


def _model_of(kind: StackType, stacks: Stacks) -> type:
    """Return moto's class of a type; that it exists makes moto know it."""
    from moto.cloudformation.models import cloudformation_backends
    from moto.core.common_models import CloudFormationModel

    class Model(CloudFormationModel):
        def __init__(self, account_id: str, region: str) -> None:
            self.account_id, self.region = account_id, region
            self.shown: dict[str, Any] = {}
            self.failure = ""

        @property
        def physical_resource_id(self) -> str:
            return str(self.shown.get(kind.ref, ""))

        @staticmethod
        def cloudformation_name_type() -> str:
            return kind.name_property

        @staticmethod
        def cloudformation_type() -> str:
            return _PREFIX + kind.name

        @classmethod
        def has_cfn_attr(cls, attr: str) -> bool:
            return attr in kind.attributes

        def get_cfn_attribute(self, attribute_name: str) -> str:
            from moto.cloudformation.exceptions import UnformattedGetAttTemplateException

            if attribute_name not in kind.attributes:
                raise UnformattedGetAttTemplateException
            return str(self.shown.get(kind.attributes[attribute_name], ""))

        @classmethod
        def create_from_cloudformation_json(
            cls,
            resource_name: str,
            cloudformation_json: dict[str, Any],
            account_id: str,
            region_name: str,
            **kwargs: Any,
        ) -> Model:
            made = cls(account_id, region_name)
            made.run("Create", cloudformation_json.get("Properties") or {})
            stack: Any = cloudformation_backends[account_id][region_name].stacks[kwargs["StackId"]]
            if made.failure:
                _fail(stack, f"{kwargs['LogicalId']} ({_PREFIX}{kind.name}): {made.failure}")
            elif not made.is_created():
                threading.Thread(target=made.settle, args=(stack, kwargs["LogicalId"]), daemon=True).start()
            return made

        def settle(self, stack: Any, logical_id: str) -> None:
            """Complete the stack when the resource can be used; moto looks only once."""
            self.await_end(_SETTLES_WITHIN_S)
            if self.failure:
                _fail(stack, f"{logical_id} ({_PREFIX}{kind.name}): {self.failure}")
            elif stack.status == "CREATE_IN_PROGRESS":
                stack.verify_readiness()

        @classmethod
        def update_from_cloudformation_json(
            cls,
            original_resource: Any,
            new_resource_name: str,
            cloudformation_json: dict[str, Any],
            account_id: str,
            region_name: str,
        ) -> Model:
            from moto.cloudformation.exceptions import ValidationError

            if not kind.can_update:
                raise ValidationError(message=f"The local AgentCore does not update a {_PREFIX}{kind.name}")
            original_resource.run("Update", cloudformation_json.get("Properties") or {})
            if original_resource.failure:
                raise ValidationError(message=original_resource.failure)
            return original_resource

        def run(self, verb: str, properties: Mapping[str, Any]) -> None:
            """Create or update, and wait until the resource can be used or has failed."""
            self.failure = ""
            try:
                operation = f"{verb}{kind.noun}"
                shape: Any = _model().operation_model(operation).input_shape
                if verb == "Update":  # the name stays, and tags are no part of an update
                    known = {name.lower() for name in shape.members}
                    properties = {name: value for name, value in properties.items() if name.lower() in known}
                parameters = parameters_of(shape, properties)
                parameters |= self.keys() if verb == "Update" else {}
                answer = stacks.call(operation, parameters, self.region, self.account_id)
                self.shown = {**parameters, **self._within(answer)}
                self.await_end(_WITHIN_S)
            except RefusedError as refused:
                self.failure = refused.message

        def keys(self) -> dict[str, str]:
            return {parameter: str(self.shown[attribute]) for parameter, attribute in kind.keys.items()}

        def look(self) -> str:
            """Read the resource again; return its status."""
            answer = stacks.call(f"Get{kind.noun}", self.keys(), self.region, self.account_id)
            self.shown = {**self.shown, **self._within(answer)}
            return str(self.shown.get("status", ""))

        def await_end(self, within_s: float) -> None:
            end = time.monotonic() + within_s
            while (status := self.look()).endswith("ING") and time.monotonic() < end:
                time.sleep(_PAUSE_S)
            if status.endswith("FAILED"):
                self.failure = str(self.shown.get("failureReason") or status)

        def is_created(self) -> bool:
            return not self.failure and self.look() in ("READY", "ACTIVE")

        def delete(self, account_id: str, region: str) -> None:
            if not self.shown:
                return  # it was never made
            try:
                stacks.call(f"Delete{kind.noun}", self.keys(), region, account_id)
            except RefusedError as refused:
                if refused.code != "ResourceNotFoundException":  # an endpoint ends with its runtime
                    raise

        @staticmethod
        def _within(answer: Mapping[str, Any]) -> Mapping[str, Any]:
            return answer[kind.inside] if kind.inside else answer

    return Model
