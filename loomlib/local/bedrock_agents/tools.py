"""The tools of an agent for its model, from its action groups, knowledge bases and collaborators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

from ..gateways.openapi import METHODS, ApiReferences, parameters_of, read_document
from ..gateways.schemas import schema_text
from ..gateways.tools import TargetError
from ..resources import Place
from ..wire import invalid, not_implemented
from .versions import AgentVersion

_LONGEST_NAME: Final = 64
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_SEARCH: Final = {"query": {"type": "string", "description": "What to search for"}}
_MESSAGE: Final = {"message": {"type": "string", "description": "The task, with all that the agent needs to know"}}
_CODE: Final = {"code": {"type": "string", "description": "Python code; variables and files stay for the next call"}}
_QUESTION: Final = {"question": {"type": "string", "description": "The question to the user"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """One tool of an agent.

    Attributes:
        name: Its name in the model's request.
        kind: The kind of action that it represents.
        description: Its description for the model.
        schema: The JSON schema of its arguments.
        part: The action group, knowledge base or collaborator, as the agent's version stores it.
        function: The function's name, for a group with functions.
        path: The path, for a group with an API schema.
        method: The HTTP method in capitals.
        types: The types of the parameters by name.
        body_types: The types of the body's members by name; None without a body.
        content_type: The body's content type.
        confirm: Whether the user must confirm each call.
    """

    name: str
    kind: Literal["function", "api", "knowledge_base", "collaborator", "user_input", "code_interpreter"]
    description: str
    schema: Mapping[str, Any] = field(repr=False)
    part: Mapping[str, Any] = field(repr=False)
    function: str = ""
    path: str = ""
    method: str = ""
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    body_types: Mapping[str, str] | None = None
    content_type: str = "application/json"
    confirm: bool = False

    @property
    def spec(self) -> dict[str, Any]:
        """The tool in Converse's `toolConfig`."""
        spec = {"name": self.name, "inputSchema": {"json": dict(self.schema)}}
        return {"toolSpec": {**spec, "description": self.description} if self.description else spec}

    @property
    def group(self) -> str:
        """The name of its action group."""
        return str(self.part["document"].get("actionGroupName", ""))


def version_tools(version: AgentVersion, place: Place) -> list[AgentTool]:
    """Return the tools of an agent's version.

    Args:
        version: The version.
        place: The agent's region and account.

    Raises:
        RefusedError: A schema cannot be read, or an action group is of a kind that does not run here (501).
    """
    tools: list[AgentTool] = []
    for part in version.enabled("actionGroups"):
        part_tools = group_tools(part["document"], place, schema=part.get("schema"))
        tools += [replace(tool, part=part) for tool in part_tools]
    for part in version.enabled("knowledgeBases"):
        document = part["document"]
        tools.append(
            AgentTool(
                name=f"x_amz_knowledgebase_{document['knowledgeBaseId']}__Search",
                kind="knowledge_base",
                description=document.get("description") or "Searches a knowledge base",
                schema=_schema(_SEARCH, ["query"]),
                part=part,
            )
        )
    if version.document.get("agentCollaboration", "DISABLED") != "DISABLED":
        for part in version.enabled("collaborators"):
            document = part["document"]
            tools.append(
                AgentTool(
                    name=document["collaboratorName"],
                    kind="collaborator",
                    description=document["collaborationInstruction"],
                    schema=_schema(_MESSAGE, ["message"]),
                    part=part,
                )
            )
    return _with_unique_names(tools)


def with_schemas(groups: Mapping[str, Mapping[str, Any]], place: Place) -> dict[str, dict[str, Any]]:
    """Return action groups by id with the text of their API schemas, so that a version stores the current text from S3.

    Args:
        groups: The action groups of a version by id.
        place: The agent's region and account.

    Raises:
        RefusedError: An object in S3 cannot be read.
    """
    parts: dict[str, dict[str, Any]] = {}
    for identity, part in groups.items():
        document = part["document"]
        try:
            text = _schema_text(document["apiSchema"], place) if document.get("apiSchema") else None
        except TargetError as error:
            name = document["actionGroupName"]
            raise invalid(f"The API schema of the action group {name} cannot be used: {error}") from error
        parts[identity] = {**part, "schema": text} if text is not None else dict(part)
    return parts


def group_tools(document: Mapping[str, Any], place: Place, *, schema: str | None = None) -> list[AgentTool]:
    """Return the tools of one action group.

    Args:
        document: The group's members in CreateAgentActionGroup.
        place: The agent's region and account.
        schema: The text of its API schema; None to read it.

    Raises:
        RefusedError: Its schema cannot be read, or it is of a kind that does not run here (501).
    """
    part = {"document": document}
    if signature := document.get("parentActionGroupSignature"):
        return [_built_in(signature, part)]
    name = document["actionGroupName"]
    function_schema: Mapping[str, Any] = document.get("functionSchema") or {}
    functions: list[Mapping[str, Any]] = function_schema.get("functions") or []
    if functions:
        return [_function(name, function, document, part) for function in functions]
    try:
        text = schema if schema is not None else _schema_text(document["apiSchema"], place)
        return list(_operations(name, text, part))
    except TargetError as error:
        raise invalid(f"The API schema of the action group {name} cannot be used: {error}") from error


def _built_in(signature: str, part: Mapping[str, Any]) -> AgentTool:
    """Return the tool of one of AWS's own action groups."""
    match signature:
        case "AMAZON.UserInput":
            return AgentTool(
                name="user__askuser",
                kind="user_input",
                description="Asks the user for an argument that is missing",
                schema=_schema(_QUESTION, ["question"]),
                part=part,
            )
        case "AMAZON.CodeInterpreter":
            return AgentTool(
                name="code_interpreter__execute",
                kind="code_interpreter",
                description="Executes Python code in a sandbox, for calculations and files, and returns what it prints",
                schema=_schema(_CODE, ["code"]),
                part=part,
            )
        case _:
            raise not_implemented(f"action groups with the signature {signature}")


def _function(
    group: str, function: Mapping[str, Any], document: Mapping[str, Any], part: Mapping[str, Any]
) -> AgentTool:
    parameters: Mapping[str, Mapping[str, Any]] = function.get("parameters") or {}
    properties: dict[str, Any] = {}
    for name, parameter in parameters.items():
        schema: dict[str, Any] = {"type": parameter["type"]}
        if parameter["type"] == "array":
            schema["items"] = {"type": "string"}
        properties[name] = {**schema, "description": parameter["description"]} if "description" in parameter else schema
    return AgentTool(
        name=f"{group}__{function['name']}",
        kind="function",
        description=function.get("description") or document.get("description") or "",
        schema=_schema(properties, [name for name, parameter in parameters.items() if parameter.get("required")]),
        part=part,
        function=function["name"],
        types={name: parameter["type"] for name, parameter in parameters.items()},
        confirm=function.get("requireConfirmation") == "ENABLED",
    )


def _schema_text(schema: Mapping[str, Any], place: Place) -> str:
    if "payload" in schema:
        return str(schema["payload"])
    source: Mapping[str, Any] = schema["s3"]
    uri = f"s3://{source.get('s3BucketName', '')}/{source.get('s3ObjectKey', '')}"
    return schema_text({"s3": {"uri": uri}}, place)


def _operations(group: str, text: str, part: Mapping[str, Any]) -> Iterator[AgentTool]:
    """Yield a tool for each operation of an API schema."""
    api = read_document(text)
    paths = api.get("paths")
    if not isinstance(paths, dict) or not paths:
        raise TargetError("The OpenAPI document has no paths")
    references = ApiReferences(api)
    for path, entry in cast("dict[str, Any]", paths).items():
        item = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        for method in (name for name in METHODS if name in item):
            yield _operation(group, references, path, item, method, part)


def _operation(
    group: str, references: ApiReferences, path: str, item: Mapping[str, Any], method: str, part: Mapping[str, Any]
) -> AgentTool:
    operation: Mapping[str, Any] = item[method]
    description = str(operation.get("description") or operation.get("summary") or "")
    if not description:
        raise TargetError(f"{method.upper()} {path} has no description, which a model requires to select it")
    properties: dict[str, Any] = {}
    required: list[str] = []
    types: dict[str, str] = {}
    for parameter in parameters_of(references, item, operation):
        name, schema = str(parameter.get("name", "")), references.resolved(parameter.get("schema") or {})
        types[name] = str(schema.get("type", "string"))
        properties[name] = {**schema, "description": parameter.get("description", "")} if schema else {"type": "string"}
        if parameter.get("required") or parameter.get("in") == "path":
            required.append(name)
    body_types: dict[str, str] | None = None
    content_type = "application/json"
    if (request_body := operation.get("requestBody")) is not None:
        body = references.resolved(request_body)
        contents: Mapping[str, Mapping[str, Any]] = body.get("content") or {}
        content_type = next(iter(contents), content_type)
        content: Mapping[str, Any] = (
            references.resolved(contents[content_type].get("schema") if contents else None) or {}
        )
        fields: Mapping[str, Any] = content.get("properties") or {}
        body_types = {name: str(inner.get("type", "string")) for name, inner in fields.items()}
        properties.update(fields)
        if body.get("required"):
            required.extend(str(name) for name in content.get("required") or ())
    name = str(operation.get("operationId") or f"{method}{path}")
    return AgentTool(
        name=f"{group}__{name}",
        kind="api",
        description=description,
        schema=_schema(properties, required),
        part=part,
        path=path,
        method=method.upper(),
        types=types,
        body_types=body_types,
        content_type=content_type,
        confirm=operation.get("x-requireConfirmation") == "ENABLED",
    )


def _schema(properties: Mapping[str, Any], required: Iterable[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    return {**schema, "required": names} if (names := list(dict.fromkeys(required))) else schema


def _with_unique_names(tools: list[AgentTool]) -> list[AgentTool]:
    """Return the tools with unique names that a model accepts."""
    tools_by_name: dict[str, AgentTool] = {}
    for tool in tools:
        name = base_name = _NOT_IN_NAMES.sub("_", tool.name).strip("_")[:_LONGEST_NAME]
        count = 1
        while name in tools_by_name:
            count += 1
            name = f"{base_name[: _LONGEST_NAME - 4]}_{count}"
        tools_by_name[name] = replace(tool, name=name)
    return list(tools_by_name.values())
