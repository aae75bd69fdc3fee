"""Stages of API Gateway's REST APIs as targets: the methods of the local API Gateway as tools.

AWS reads the exported API (GetExport); here the resources, methods and models that the export contains are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from ..resources import Place
from .openapi import openapi_tools
from .tools import GatewayTool, TargetError

FUNCTION_URI: Final = re.compile(r"arn:[\w-]+:apigateway:[\w-]+:lambda:path/2015-03-31/functions/(.+)/invocations")
MAPPING: Final = re.compile(r"integration\.request\.(path|querystring|header)\.(.+)")
SOURCE: Final = re.compile(r"method\.request\.(path|querystring|header)\.(.+)|'([^']*)'")
_NAME: Final = re.compile(r"\{([\w.-]+)\}")
_MODEL: Final = re.compile(r"https://apigateway\.amazonaws\.com/restapis/[^/\"]+/models/")
_METHODS: Final = ("GET", "DELETE", "HEAD", "OPTIONS", "PATCH", "PUT", "POST")
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiMethod:
    """One method of a resource, with moto's objects for it.

    Attributes:
        api: The REST API.
        stage: The stage.
        resource: The resource.
        path: The resource's path, such as `/pets/{petId}`.
        name: The HTTP method.
    """

    api: Any
    stage: Any
    resource: Any
    path: str
    name: str

    @property
    def method(self) -> Any:
        """The method's settings."""
        return self.resource.resource_methods[self.name]

    @property
    def integration(self) -> Any:
        """The method's integration; None without one."""
        return self.method.method_integration

    def filled(self, text: str) -> str:
        """Return a text with the stage variables replaced by their values."""
        variables = mapping(self.stage.variables)
        return re.sub(r"\$\{stageVariables\.(\w+)\}", lambda match: str(variables.get(match[1], "")), text)


def rest_api_tools(given: Mapping[str, Any], place: Place) -> list[GatewayTool]:
    """Return the tools of a stage: the methods that its tool filters select.

    Args:
        given: The member `apiGateway` of a target's configuration.
        place: Region and account of the gateway and of the API.

    Raises:
        TargetError: The API, the stage or a method does not exist, or a method cannot be called here.
    """
    configuration: Mapping[str, Any] = given["apiGatewayToolConfiguration"]
    overrides = {(item["path"], item["method"]): item for item in configuration.get("toolOverrides") or ()}
    methods = list(_chosen(given, configuration["toolFilters"], place))
    if missing := overrides.keys() - {(method.path, method.name) for method in methods}:
        raise TargetError(f"A tool override names {_method_label(*sorted(missing)[0])}, which no tool filter selects")
    paths: dict[str, dict[str, Any]] = {}
    for method in methods:
        _check(method)
        override: Mapping[str, Any] = overrides.get((method.path, method.name)) or {}
        name = override.get("name") or method.method.operation_name
        if not name:
            raise TargetError(
                f"{_method_label(method.path, method.name)} has no operation name; set one in a tool override"
            )
        paths.setdefault(method.path, {})[method.name.lower()] = {
            "operationId": name,
            "description": override.get("description") or "",
            **_inputs(method),
        }
    api, stage = given["restApiId"], given["stage"]
    document = {
        "openapi": "3.0.1",
        "servers": [{"url": f"https://{api}.execute-api.{place.region}.amazonaws.com/{stage}"}],
        "paths": paths,
        "components": {"schemas": _models(methods[0].api)},
    }
    text = _MODEL.sub("#/components/schemas/", json.dumps(document))
    return [replace(tool, request={**tool.request, "kind": "apiGateway"}) for tool in openapi_tools(text)]


def find_method(api: Mapping[str, Any], place: Place, path: str, name: str) -> ApiMethod:
    """Return a method of a stage as it is now.

    Raises:
        TargetError: It no longer exists, or can no longer be called here.
    """
    for method in _methods(api, place):
        if (method.path, method.name) == (path, name):
            _check(method)
            return method
    raise TargetError(f"{_method_label(path, name)} does not exist")


def mapping(value: Any) -> dict[str, Any]:
    """Return one of moto's mappings; an empty one for None."""
    return cast("dict[str, Any]", value or {})


def _methods(config: Mapping[str, Any], place: Place) -> Iterator[ApiMethod]:
    from moto.apigateway.models import apigateway_backends

    api_id, stage_name = str(config["restApiId"]), str(config["stage"])
    backend: Any = apigateway_backends[place.account_id][place.region]
    api = mapping(backend.apis).get(api_id)
    if api is None:
        raise TargetError(f"The REST API {api_id} does not exist in {place.region}")
    stage = mapping(api.stages).get(stage_name)
    if stage is None:
        raise TargetError(f"The REST API {api_id} has no stage {stage_name}")
    if "PRIVATE" in (mapping(api.endpoint_configuration).get("types") or ()):
        raise TargetError(f"The REST API {api_id} is private; a gateway can call public APIs only")
    if str(api.disableExecuteApiEndpoint).lower() == "true":
        raise TargetError(f"The default endpoint of the REST API {api_id} is disabled")
    if api.policy:
        raise TargetError("The local AgentCore does not evaluate resource policies of REST APIs yet")
    for resource in list(mapping(api.resources).values()):
        path = resource.get_path()
        for name in resource.resource_methods:
            yield ApiMethod(api=api, stage=stage, resource=resource, path=path, name=name)


def _chosen(config: Mapping[str, Any], filters: list[Mapping[str, Any]], place: Place) -> Iterator[ApiMethod]:
    """Yield the methods that filters select, without those that AWS leaves out."""
    methods = [
        method
        for method in _methods(config, place)
        # AgentCore developer guide, "API Gateway REST API stages": neither proxy resources, nor IAM with an API key.
        if method.name in _METHODS and "+}" not in method.path and not (_needs_iam(method) and _needs_key(method))
    ]
    seen_keys: set[tuple[str, str]] = set()
    for rule in filters:
        pattern, names = str(rule["filterPath"]), rule["methods"]
        prefix = pattern[:-1] if pattern.endswith("/*") else None
        matches = [
            method
            for method in methods
            if method.name in names and (method.path.startswith(prefix) if prefix else method.path == pattern)
        ]
        if not matches:
            raise TargetError(f"The filter {pattern} {', '.join(names)} does not match any method of the REST API")
        for method in matches:
            if (method.path, method.name) not in seen_keys:
                seen_keys.add((method.path, method.name))
                yield method


def _needs_iam(method: ApiMethod) -> bool:
    return method.method.authorization_type == "AWS_IAM"


def _needs_key(method: ApiMethod) -> bool:
    return bool(method.method.api_key_required)


def _check(method: ApiMethod) -> None:
    """Refuse a method for which the local AgentCore would respond differently from API Gateway."""
    where = _method_label(method.path, method.name)
    if (kind := method.method.authorization_type) not in ("NONE", "AWS_IAM", None):
        raise TargetError(f"{where} has an authorizer ({kind}), which a gateway cannot satisfy")
    integration = method.integration
    if integration is None:
        raise TargetError(f"{where} has no integration")
    kind = integration.integration_type
    if kind not in ("AWS_PROXY", "HTTP_PROXY", "MOCK"):
        raise TargetError(f"The local AgentCore does not support integrations of the type {kind} ({where}) yet")
    if kind == "AWS_PROXY" and not FUNCTION_URI.fullmatch(method.filled(integration.uri or "")):
        raise TargetError(f"The local AgentCore supports AWS_PROXY for Lambda functions only ({where})")
    if kind == "HTTP_PROXY":
        for to, source in mapping(integration.request_parameters).items():
            if not MAPPING.fullmatch(to) or not SOURCE.fullmatch(source):
                raise TargetError(f"The local AgentCore does not support mapping {source} to {to} ({where}) yet")
    if kind == "MOCK":
        templates = [mapping(integration.request_templates)]
        templates += [
            mapping(answer.response_templates) for answer in mapping(integration.integration_responses).values()
        ]
        if any(character in (text or "") for item in templates for text in item.values() for character in "$#"):
            raise TargetError(f"The local AgentCore does not run mapping templates ({where}) yet")


def _inputs(method: ApiMethod) -> dict[str, Any]:
    """Return the parameters and the body of a method in the form of an OpenAPI operation."""
    text = {"type": "string"}
    parameters = [{"name": name, "in": "path", "required": True, "schema": text} for name in _NAME.findall(method.path)]
    for key, required in mapping(method.method.request_parameters).items():
        place, _, name = str(key).removeprefix("method.request.").partition(".")
        if place in ("querystring", "header"):
            where = "query" if place == "querystring" else place
            parameters.append({"name": name, "in": where, "required": str(required).lower() == "true", "schema": text})
    model = mapping(method.method.request_models).get(_JSON)
    if not model:
        return {"parameters": parameters}
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"parameters": parameters, "requestBody": {"required": True, "content": {_JSON: {"schema": schema}}}}


def _models(api: Any) -> dict[str, Any]:
    """Return the schemas of an API's models; every API has the models Empty and Error."""
    schemas: dict[str, Any] = {"Empty": {"type": "object"}, "Error": {"type": "object"}}
    for model in mapping(api.models).values():
        try:
            schema: Any = json.loads(model.schema or "{}")
        except (ValueError, RecursionError) as error:
            raise TargetError(f"The schema of the model {model.name} is not JSON") from error
        if isinstance(schema, dict):
            fields = cast("dict[str, Any]", schema)
            schemas[model.name] = {name: value for name, value in fields.items() if name != "$schema"}
    return schemas


def _method_label(path: str, method: str) -> str:
    return f"{method} {path}"
