"""CloudFormation resource types that moto lacks: moto reads templates, and service operations create the resources.

The resource engine creates AgentCore's resources, and the service's own API the others (see `stack_types`). A type that
neither supports is refused by name (see `moto_stacks`): moto would leave the resource out and report the stack as
complete.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, cast

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from moto.core.utils import get_service_model

from .moto_stacks import correct, fail, stack_of
from .resources.engine import ResourceEngine
from .router import check_parameters
from .stack_types import AGENTCORE, TYPES, StackType
from .state import ServiceState
from .wire import RefusedError

_WITHIN_S: Final = 45.0
"""Maximum time for which a request waits for a resource, in seconds; boto3 times out after 60 s."""
_CALL_WITHIN_S: Final = 30.0
_SETTLES_WITHIN_S: Final = 900.0
_PAUSE_S: Final = 0.05
_NUMBERS: Final = {"integer": int, "long": int, "float": float, "double": float}
_NUMBER: Final = re.compile(r"[+-]?\d{1,40}(?:\.\d*)?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_MOST_AT_ONCE: Final = 4
"""Maximum number of concurrent requests: each occupies one of moto's threads, and its resources need more."""


class Stacks:
    """Adds types to moto's CloudFormation, once for a process, when the first template arrives.

    Args:
        engine: Creates AgentCore's resources.
        state: The service, whose API creates the others.
    """

    def __init__(self, engine: ResourceEngine, state: ServiceState) -> None:
        self._engine, self._state, self._loop = engine, state, asyncio.get_running_loop()
        self._added = False
        self._models: list[type] = []
        self._adding = threading.Lock()
        self._caller = threading.local()
        self._free = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._client = lru_cache(maxsize=32)(self._make_client)

    def serve(self, principal: object, answer: Callable[[], Any]) -> Any:
        """Answer a CloudFormation request on this thread.

        Args:
            principal: The calling role; None for the owner.
            answer: moto's answer.

        Raises:
            RefusedError: Too many requests are in progress; AWS's SDKs retry the request.
        """
        if not self._free.acquire(blocking=False):
            raise RefusedError("Throttling", 400, "Rate exceeded")
        try:
            with self._adding:
                if not self._added:
                    self._add()
                    self._added = True
            self._caller.principal = principal
            return answer()
        finally:
            self._free.release()

    def call(
        self, kind: StackType, operation: str, parameters: Mapping[str, Any], region: str, account_id: str
    ) -> dict[str, Any]:
        """Call an operation of a type's service from a thread of moto's.

        Args:
            kind: The resource's type.
            operation: The operation's name, such as CreateAgentRuntime.
            parameters: Its parameters, checked against botocore's model.
            region: The stack's region.
            account_id: The stack's account.

        Raises:
            RefusedError: The service refuses it, or the caller is not the owner.
        """
        if getattr(self._caller, "principal", None) is not None:
            raise RefusedError("AccessDenied", 403, f"Only the owner may use {kind.name} in the local CloudFormation")
        if kind.service == AGENTCORE:
            check_parameters(_shape(kind, operation), parameters)
            waiting = asyncio.run_coroutine_threadsafe(
                self._engine.call(operation, parameters, region=region, account_id=account_id), self._loop
            )
            return dict(waiting.result(_CALL_WITHIN_S))
        if account_id != self._state.account_id:
            own_account = self._state.account_id
            raise RefusedError("AccessDenied", 403, f"{kind.name} can only be created in account {own_account}")
        try:
            return dict(getattr(self._client(kind.service, region), xform_name(operation))(**parameters))
        except ClientError as error:
            refused = error.response.get("Error", {})
            status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400))
            raise RefusedError(str(refused.get("Code")), status, str(refused.get("Message"))) from error
        except BotoCoreError as error:  # invalid parameters, or no response
            raise RefusedError("ValidationError", 400, " ".join(str(error).split())) from error

    def _make_client(self, service: str, region: str) -> Any:
        settings = Config(
            connect_timeout=5,
            read_timeout=_CALL_WITHIN_S,
            retries={"max_attempts": 0},
            proxies={},
            s3={"addressing_style": "path"},
        )
        session: Any = boto3.session.Session()
        return session.client(
            service,
            region_name=region,
            endpoint_url=self._state.url,
            aws_access_key_id=self._state.access_key,
            aws_secret_access_key=self._state.secret_key,
            config=settings,
        )

    def _add(self) -> None:
        from moto.cloudformation import parsing

        self._models = [_model_of(kind, self) for kind in TYPES]  # moto finds them among the subclasses of its own
        for cached in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
            cached.cache_clear()
        correct()


def parameters_of(shape: Any, value: Any) -> Any:
    """Return the properties of a template as the parameters of an operation.

    Args:
        shape: botocore's shape of the parameters.
        value: The properties.

    Raises:
        RefusedError: A property is unknown, or its value has another type.
    """
    if shape.type_name == "structure" and isinstance(value, str) and "serverProtocol" in shape.members:
        return {"serverProtocol": value}  # the property ProtocolConfiguration is a string
    if shape.type_name == "structure" and isinstance(value, dict):
        names = {name.lower(): name for name in shape.members}
        parameters: dict[str, Any] = {}
        for property_name, item in cast("dict[str, Any]", value).items():
            if (name := names.get(property_name.lower())) is None:
                raise RefusedError("ValidationError", 400, f"Encountered unsupported property {property_name}")
            parameters[name] = parameters_of(shape.members[name], item)
        return parameters
    if shape.type_name == "map" and isinstance(value, dict):
        return {key: parameters_of(shape.value, item) for key, item in cast("dict[str, Any]", value).items()}
    if shape.type_name == "map" and isinstance(value, list):  # tags, which some operations take as a map
        tags = cast("list[dict[str, Any]]", value)
        return {str(tag.get("Key")): parameters_of(shape.value, tag.get("Value")) for tag in tags}
    if shape.type_name == "list" and isinstance(value, list):
        return [parameters_of(shape.member, item) for item in cast("list[Any]", value)]
    if shape.type_name in ("structure", "map", "list"):
        raise RefusedError("ValidationError", 400, f"{shape.name} must be a {shape.type_name}, not {value!r}"[:300])
    if shape.type_name in _NUMBERS and isinstance(value, str):
        return _number(shape, value)
    if shape.type_name == "boolean" and value in ("true", "false"):
        return value == "true"
    if shape.type_name == "string" and isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if shape.type_name == "string" and isinstance(value, int | float) else value


def _number(shape: Any, text: str) -> float:
    try:
        if not _NUMBER.fullmatch(text):
            raise ValueError(text)
        return _NUMBERS[shape.type_name](text)
    except ValueError as error:
        kind = "an integer" if _NUMBERS[shape.type_name] is int else "a number"
        raise RefusedError("ValidationError", 400, f"{shape.name} must be {kind}, not {text!r}"[:300]) from error


def _shape(kind: StackType, operation: str) -> Any:
    return get_service_model(kind.service).operation_model(operation).input_shape


def _model_of(kind: StackType, stacks: Stacks) -> type:
    """Return moto's class for a type; defining the class registers the type with moto."""
    from moto.core.common_models import CloudFormationModel

    class Model(CloudFormationModel):
        def __init__(self, account_id: str, region: str) -> None:
            self.account_id, self.region = account_id, region
            self.stored_members: dict[str, Any] = {}
            self.failure = ""

        @property
        def physical_resource_id(self) -> str:
            return str(self.stored_members.get(kind.ref, ""))

        @staticmethod
        def cloudformation_name_type() -> str:
            return kind.name_property

        @staticmethod
        def cloudformation_type() -> str:
            return kind.name

        @classmethod
        def has_cfn_attr(cls, attr: str) -> bool:
            return attr in kind.attributes

        def get_cfn_attribute(self, attribute_name: str) -> str:
            from moto.cloudformation.exceptions import UnformattedGetAttTemplateException

            if attribute_name not in kind.attributes:
                raise UnformattedGetAttTemplateException
            source = kind.attributes[attribute_name]
            if "{" in source:
                return source.format_map({**self.stored_members, "region": self.region, "account_id": self.account_id})
            return str(self.stored_members.get(source, ""))

        @classmethod
        def create_from_cloudformation_json(
            cls,
            resource_name: str,
            cloudformation_json: dict[str, Any],
            account_id: str,
            region_name: str,
            **kwargs: Any,
        ) -> Model:
            model = cls(account_id, region_name)
            properties = dict(cloudformation_json.get("Properties") or {})
            if kind.name_property and kind.service != AGENTCORE:  # AgentCore's names are required
                properties.setdefault(kind.name_property, resource_name)
            model.run(kind.create, properties)
            stack = stack_of(account_id, region_name, kwargs["StackId"])
            if model.failure:
                fail(stack, kwargs["LogicalId"], kind.name, model.failure)
            elif not model.is_created():
                threading.Thread(target=model.settle, args=(stack, kwargs["LogicalId"]), daemon=True).start()
            return model

        def settle(self, stack: Any, logical_id: str) -> None:
            """Complete the stack when the resource can be used; moto looks only once."""
            self.await_end(_SETTLES_WITHIN_S)
            if self.failure:
                fail(stack, logical_id, kind.name, self.failure)
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

            if not kind.update:
                raise ValidationError(message=f"The local AgentCore does not update a {kind.name}")
            original_resource.run(kind.update, cloudformation_json.get("Properties") or {})
            if original_resource.failure:
                raise ValidationError(message=original_resource.failure)
            return original_resource

        def run(self, operation: str, properties: Mapping[str, Any]) -> None:
            """Create or update, and wait until the resource can be used or has failed."""
            self.failure = ""
            try:
                shape = _shape(kind, operation)
                properties = kind.arrange(properties, self.call)
                if self.stored_members:  # an update changes neither the name nor the tags
                    known_names = {name.lower() for name in shape.members}
                    properties = {name: value for name, value in properties.items() if name.lower() in known_names}
                parameters = parameters_of(shape, properties)
                parameters |= self.keys() if self.stored_members else {}
                answer = self.call(operation, parameters)
                self.stored_members = {**self.stored_members, **parameters, **self._within(answer)}
                self.await_end(_WITHIN_S)
            except RefusedError as refused:
                self.failure = refused.message

        def call(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
            return stacks.call(kind, operation, parameters, self.region, self.account_id)

        def keys(self) -> dict[str, Any]:
            return {parameter: self.stored_members[attribute] for parameter, attribute in kind.keys.items()}

        def look(self) -> str:
            """Read the resource again if it has a status; return the status."""
            if not kind.read:
                return "READY"
            self.stored_members = {**self.stored_members, **self._within(self.call(kind.read, self.keys()))}
            return str(self.stored_members.get("status", ""))

        def await_end(self, within_s: float) -> None:
            end = time.monotonic() + within_s
            while (status := self.look()).endswith("ING") and time.monotonic() < end:
                time.sleep(_PAUSE_S)
            if status.endswith("FAILED"):
                self.failure = str(self.stored_members.get("failureReason") or status)

        def is_created(self) -> bool:
            return not self.failure and self.look() in ("READY", "ACTIVE")

        def delete(self, account_id: str, region: str) -> None:
            if not self.stored_members or not kind.delete:
                return  # it was never created, or is deleted with another resource
            try:
                self.call(kind.delete, {**self.keys(), **kind.deletion})
            except RefusedError as refused:
                # An endpoint is deleted with its runtime, a client with its user pool, a policy with its bucket.
                if not ("NotFound" in refused.code or refused.code.startswith("NoSuch")):
                    raise

        @staticmethod
        def _within(answer: Mapping[str, Any]) -> Mapping[str, Any]:
            return answer.get(kind.inside) or {} if kind.inside else answer

    return Model
