"""The operations of an OpenAPI document as tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from loomlib.errors import LoomError
from loomlib.json_values import as_list, as_mapping, as_text, mapping_or_none

from ..model import ImportedTool, ParameterPlace, ToolParameter
from .bodies import body_of
from .documents import ApiDocumentError
from .parameter_names import with_names
from .references import References, schema_type

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_PLACES: Final = ("path", "query", "header", "cookie")
_RESERVED: Final = frozenset(("accept", "content-type", "authorization"))
"""Headers that are not parameters (OpenAPI 3, "Parameter Object")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiTools:
    """The tools of an OpenAPI document.

    Attributes:
        tools: One for each operation that could be read, named by its `operationId`, or by its method and path.
        notes: What was approximated.
        problems: What could not be read.
    """

    tools: tuple[ImportedTool, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def api_tools(document: Mapping[str, Any]) -> ApiTools:
    """Return the operations of an OpenAPI document as tools; each unreadable operation is reported as a problem.

    Args:
        document: An OpenAPI document of version 3.0 or 3.1.

    Raises:
        ApiDocumentError: It has another version, or no operations.
    """
    version = str(document.get("openapi") or document.get("swagger") or "3")
    if not version.startswith("3"):
        raise ApiDocumentError(f"the document is of version {version}, not OpenAPI 3.0 or 3.1")
    paths = as_mapping(document.get("paths"))
    references = References(document)
    tools: list[ImportedTool] = []
    problems: list[str] = []
    for path, method, item, operation in _operations(paths, references):
        try:
            tools.append(_tool(references, path, method, item, operation))
        except LoomError as error:
            problems.append(f"{method.upper()} {path}: {error.what}")
    if not tools and not problems:
        raise ApiDocumentError("the document has no operations")
    return ApiTools(tools=tuple(tools), notes=tuple(references.notes), problems=(*problems, *references.problems))


def _operations(
    paths: Mapping[str, Any], references: References
) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    for path, entry in paths.items():
        if path.startswith("x-"):
            continue
        item = references.target(entry)
        for method in METHODS:
            if (operation := mapping_or_none(item.get(method))) is not None:
                yield path, method, item, operation


def _tool(
    references: References, path: str, method: str, item: Mapping[str, Any], operation: Mapping[str, Any]
) -> ImportedTool:
    parameters = [parameter for parameter in _parameters(references, item, operation) if parameter is not None]
    body = body_of(references, operation.get("requestBody"))
    place = f"{method.upper()} {path}"
    return ImportedTool(
        name=as_text(operation.get("operationId")).strip() or f"{method}_{path.strip('/')}",
        description=as_text(operation.get("description")) or as_text(operation.get("summary")) or place,
        parameters=with_names((*parameters, *body.parameters)),
        requires_confirmation=_confirms(operation.get("x-requireConfirmation")),
        path=path,
        method=method.upper(),
        content_type=body.content_type,
        body_is_whole=body.is_whole,
    )


def _confirms(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.upper() in ("ENABLED", "TRUE"))


def _parameters(
    references: References, item: Mapping[str, Any], operation: Mapping[str, Any]
) -> Iterator[ToolParameter | None]:
    """Yield the parameters of a path, overridden by those of the operation with the same name and place."""
    parameters: dict[tuple[str, str], Mapping[str, Any]] = {}
    for entry in (*as_list(item.get("parameters")), *as_list(operation.get("parameters"))):
        parameter = references.target(entry)
        parameters[as_text(parameter.get("name")), as_text(parameter.get("in"))] = parameter
    for (name, place), parameter in parameters.items():
        if not name or place not in _PLACES:
            raise ApiDocumentError(f"the parameter {name or 'without a name'} has the unsupported place {place!r}")
        if place == "header" and name.lower() in _RESERVED:
            continue
        yield _parameter(references, name, cast("ParameterPlace", place), parameter)


def _parameter(references: References, name: str, place: ParameterPlace, parameter: Mapping[str, Any]) -> ToolParameter:
    raw_schema = parameter.get("schema")
    if raw_schema is None:  # a parameter may have a content type instead
        raw_schema = as_mapping(next(iter(as_mapping(parameter.get("content")).values()), None)).get("schema")
    schema = references.schema(raw_schema)
    kind = schema_type(schema)
    return ToolParameter(
        name=name,
        type=kind,
        description=as_text(parameter.get("description")) or as_text(schema.get("description")),
        is_required=place == "path" or parameter.get("required") is True,
        place=place,
        schema={"type": kind, **schema},
    )
