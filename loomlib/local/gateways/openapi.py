"""Tools from an OpenAPI document: one for each operation, with one flat object of arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import quote, urlencode

from .tools import GatewayTool, TargetError, argument_text

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_VERSIONS: Final = ("3.0", "3.1")  # AgentCore developer guide, "OpenAPI schema targets"
_DEEPEST: Final = 30
_MOST_VALUES: Final = 50_000
_JSON: Final = "application/json"

ApiDocument = Mapping[str, Any]


def openapi_tools(text: str) -> list[GatewayTool]:
    """Return the tools of an OpenAPI document in JSON or YAML.

    Args:
        text: An OpenAPI 3.0 or 3.1 document whose operations have an `operationId`.

    Raises:
        TargetError: The document cannot be read, or lacks what a gateway needs.
    """
    document = read_document(text)
    version = str(document.get("openapi", ""))
    if not version.startswith(_VERSIONS):
        raise TargetError(f"OpenAPI {version or 'without a version'} is not supported, only 3.0 and 3.1")
    paths = _object(document.get("paths"))
    if not paths:
        raise TargetError("The OpenAPI document has no paths")
    tools: dict[str, GatewayTool] = {}
    references = ApiReferences(document)
    for path, item in paths.items():
        entry = _object(item)
        for method in (name for name in METHODS if name in entry):
            tool = _tool(document, references, path, entry, method)
            if tool.name in tools:
                raise TargetError(f"The OpenAPI document has two operations with the operationId {tool.name}")
            tools[tool.name] = tool
    if not tools:
        raise TargetError("The OpenAPI document has no operations")
    return list(tools.values())


def openapi_request(tool: GatewayTool, arguments: Mapping[str, Any]) -> tuple[str, str, dict[str, str], bytes | None]:
    """Return the method, the URL, the headers and the body of a call.

    Args:
        tool: A tool from `openapi_tools`.
        arguments: Its arguments by name; those that the document does not define are left out.

    Raises:
        TargetError: A path parameter is missing or cannot be part of a path.
    """
    request = tool.request
    path = str(request["path"])
    for name in request["path_names"]:
        if name not in arguments:
            raise TargetError(f"The argument {name}, which is part of the path, is missing")
        text = argument_text(arguments[name])
        if text in ("", ".", ".."):  # the path would be that of another operation
            raise TargetError(f"The argument {name} is {text!r}, which cannot be part of a path")
        path = path.replace(f"{{{name}}}", quote(text, safe=""))
    query = [
        (name, argument_text(value))
        for name in request["query_names"]
        if name in arguments
        for value in (arguments[name] if isinstance(arguments[name], list) else [arguments[name]])
    ]
    headers = {name: argument_text(arguments[name]) for name in request["header_names"] if name in arguments}
    if any(character in value for value in headers.values() for character in "\r\n\0"):
        raise TargetError("An argument that is sent as a header contains a line break")
    url = f"{request['server']}{path}" + (f"?{urlencode(query)}" if query else "")
    body: bytes | None = None
    if (names := request["body_names"]) is not None:
        body_arguments = {name: arguments[name] for name in names if name in arguments}
        whole_body_name = request["body_whole"]
        if not whole_body_name or whole_body_name in arguments:  # an optional body that is not given is not sent
            body = json.dumps(arguments[whole_body_name] if whole_body_name else body_arguments).encode()
            headers["content-type"] = _JSON
    return str(request["method"]), url, headers, body


def read_document(text: str) -> ApiDocument:
    """Return an OpenAPI document in JSON or YAML.

    Args:
        text: The document.

    Raises:
        TargetError: It is neither JSON nor YAML, or not an object.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        import yaml  # imported only for documents in YAML

        try:
            document = yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise TargetError(f"The OpenAPI document is neither JSON nor YAML: {str(error)[:200]}") from error
    if not isinstance(document, dict):
        raise TargetError("The OpenAPI document is not an object")
    return cast("dict[str, Any]", document)


def _tool(document: ApiDocument, references: ApiReferences, path: str, item: ApiDocument, method: str) -> GatewayTool:
    operation = _object(item[method])
    name = operation.get("operationId")
    where = f"{method.upper()} {path}"
    if not isinstance(name, str) or not name:
        raise TargetError(f"{where} has no operationId, which is required as the name of the tool")
    properties: dict[str, Any] = {}
    required: list[str] = []
    places: dict[str, list[str]] = {"path": [], "query": [], "header": []}
    for parameter in parameters_of(references, item, operation):
        place, parameter_name = str(parameter.get("in", "")), str(parameter.get("name", ""))
        if place not in places or not parameter_name:
            if parameter.get("required"):
                raise TargetError(
                    f"{where} requires the parameter {parameter_name} in {place}, which a gateway cannot send"
                )
            continue
        places[place].append(parameter_name)
        schema = references.resolved(parameter.get("schema") or {"type": "string"})
        if "description" in parameter:
            schema = {**schema, "description": parameter["description"]}
        properties[parameter_name] = schema
        if parameter.get("required") or place == "path":
            required.append(parameter_name)
    body_names, whole_body_name = _body(references, operation, where, properties, required)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(dict.fromkeys(required))
    return GatewayTool(
        name=name,
        description=str(operation.get("description") or operation.get("summary") or ""),
        input_schema=schema,
        request={
            "kind": "openapi",
            "method": method.upper(),
            "server": _server(document, item, operation),
            "path": path,
            "path_names": places["path"],
            "query_names": places["query"],
            "header_names": places["header"],
            "body_names": body_names,
            "body_whole": whole_body_name,
        },
    )


def parameters_of(references: ApiReferences, item: ApiDocument, operation: ApiDocument) -> Iterator[ApiDocument]:
    """Yield the parameters of an operation; its own replace those of its path.

    Args:
        references: Replaces references.
        item: The path's entry.
        operation: The operation's entry.
    """
    parameters: dict[tuple[str, str], ApiDocument] = {}
    for holder in (item, operation):
        for parameter in _list(holder.get("parameters")):
            resolved = _object(references.resolved(parameter))
            parameters[str(resolved.get("in")), str(resolved.get("name"))] = resolved
    yield from parameters.values()


def _body(
    references: ApiReferences, operation: ApiDocument, where: str, properties: dict[str, Any], required: list[str]
) -> tuple[list[str] | None, str]:
    """Add the arguments in the body; return their names, and the name of the argument that is the whole body."""
    request_body = operation.get("requestBody")
    if request_body is None:
        return None, ""
    body = _object(references.resolved(request_body))
    content = _object(body.get("content"))
    if _JSON not in content:
        raise TargetError(f"{where} accepts {', '.join(content) or 'no content'}; a gateway sends {_JSON} only")
    schema = _object(references.resolved(_object(content[_JSON]).get("schema") or {"type": "object"}))
    fields = _object(schema.get("properties"))
    if schema.get("type") != "object" or not fields or fields.keys() & properties.keys():
        properties["body"] = schema
        if body.get("required"):
            required.append("body")
        return ["body"], "body"
    properties.update(fields)
    if body.get("required"):
        required.extend(str(name) for name in _list(schema.get("required")))
    return list(fields), ""


def _server(document: ApiDocument, item: ApiDocument, operation: ApiDocument) -> str:
    servers: Any = operation.get("servers") or item.get("servers") or document.get("servers")
    server = _object(servers[0] if isinstance(servers, list) and servers else None)
    url = str(server.get("url", ""))
    for name, variable in _object(server.get("variables")).items():
        url = url.replace(f"{{{name}}}", str(_object(variable).get("default", "")))
    if not url.startswith(("http://", "https://")):
        raise TargetError("The OpenAPI document has no server with an http or https address")
    return url.rstrip("/")


class ApiReferences:
    """Replaces references within a document with their targets, up to a total size.

    Args:
        document: The document.
    """

    def __init__(self, document: ApiDocument) -> None:
        self._document, self._values_left = document, _MOST_VALUES

    def resolved(self, value: Any, within: frozenset[str] = frozenset()) -> Any:
        """Return a value without references; a recursive schema accepts any value at the recursion.

        Raises:
            TargetError: A reference has no target, or the result would be too large.
        """
        self._values_left -= 1
        if self._values_left < 0:
            raise TargetError(f"The schemas of the OpenAPI document have more than {_MOST_VALUES:,} values")
        if isinstance(value, list):
            return [self.resolved(item, within) for item in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        fields = cast("dict[str, Any]", value)
        reference = fields.get("$ref")
        if isinstance(reference, str):
            if reference in within or len(within) > _DEEPEST:
                return {}
            return self.resolved(_resolve(self._document, reference), within | {reference})
        return {name: self.resolved(item, within) for name, item in fields.items()}


def _resolve(document: ApiDocument, reference: str) -> Any:
    if not reference.startswith("#/"):
        raise TargetError(f"The reference {reference} points outside the OpenAPI document")
    node: Any = document
    for part in reference[2:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or name not in node:
            raise TargetError(f"The OpenAPI document does not contain {reference}")
        node = cast("dict[str, Any]", node)[name]
    return node


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
