"""Schemas of an OpenAPI document as JSON Schema, with references resolved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import unquote

from loomlib.json_values import as_list, as_mapping, as_text, mapping_or_none
from loomlib.presentation.formats import number

from .documents import ApiDocumentError

_DEEPEST: Final = 30
_MOST_VALUES: Final = 50_000
"""Largest number of schema values in a document, with references resolved: a model reads them with every request."""

_DROPPED: Final = frozenset(
    ("nullable", "xml", "discriminator", "externalDocs", "example", "$schema", "$id", "$comment")
)
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS: Final = ("items", "not", "additionalProperties", "contains", "propertyNames", "if", "then", "else")


class References:
    """Resolves the references of one OpenAPI document, within a limit on the number of created values.

    Args:
        document: The document.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._values_left = _MOST_VALUES
        self.notes: dict[str, None] = {}
        self.problems: dict[str, None] = {}

    def target(self, value: object) -> Mapping[str, Any]:
        """Return an object, or the object that it refers to; an empty one if it does not exist.

        Args:
            value: An object of the document, such as a parameter, which may be a reference.
        """
        item, seen_references = as_mapping(value), set[str]()
        while isinstance(reference := item.get("$ref"), str):
            if reference in seen_references:
                self.problems[f"the reference {reference} refers to itself"] = None
                return {}
            seen_references.add(reference)
            rest = {name: inner for name, inner in item.items() if name != "$ref"}
            item = {**self._at(reference), **rest}
        return item

    def schema(self, value: object) -> dict[str, Any]:
        """Return a schema with references resolved and without OpenAPI extensions.

        A recursive schema is cut where it would repeat, with a note.

        Args:
            value: A schema of the document.
        """
        return self._schema(value, (), 0)

    def _schema(self, value: object, above: tuple[str, ...], depth: int) -> dict[str, Any]:
        self._values_left -= 1
        if self._values_left < 0:
            self.problems[f"its schemas have more than {number(_MOST_VALUES)} values, with references resolved"] = None
            return {}
        if depth > _DEEPEST:
            self.notes[f"a schema is cut below {_DEEPEST} levels"] = None
            return {}
        source, ahead = as_mapping(value), above
        while isinstance(reference := source.get("$ref"), str):
            if reference in ahead:
                name = reference.rpartition("/")[2]
                self.notes[f"the schema {name} contains itself and is cut where it repeats"] = None
                return {"type": "object", "description": f"A nested {name}"}
            ahead = (*ahead, reference)
            rest = {name: inner for name, inner in source.items() if name != "$ref"}
            source = {**self._at(reference), **rest}
        schema: dict[str, Any] = {}
        for name, inner in source.items():
            if name in _DROPPED or name.startswith("x-"):
                continue
            schema[name] = self._keyword(name, inner, ahead, depth)
        return _modern(schema, source)

    def _keyword(self, name: str, inner: Any, above: tuple[str, ...], depth: int) -> Any:
        if name in _NAMED and (members := mapping_or_none(inner)) is not None:
            return {member: self._schema(schema, above, depth + 1) for member, schema in members.items()}
        if name in _LISTS:
            return [self._schema(schema, above, depth + 1) for schema in as_list(inner)]
        if name in _SCHEMAS and mapping_or_none(inner) is not None:
            return self._schema(inner, above, depth + 1)
        return inner

    def _at(self, reference: str) -> Mapping[str, Any]:
        if not reference.startswith("#"):
            self.problems[f"it refers to another document: {reference}"] = None
            return {}
        value: object = self._document
        for part in filter(None, reference[1:].split("/")):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            items = as_list(value)
            value = items[int(name)] if name.isdecimal() and int(name) < len(items) else as_mapping(value).get(name)
        if (target := mapping_or_none(value)) is None:
            self.problems[f"the reference {reference} cannot be resolved"] = None
            return {}
        return target


def _modern(schema: dict[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI 3.0 schema as JSON Schema, with a single type."""
    if "example" in source and "examples" not in schema:
        schema["examples"] = [source["example"]]
    for bound, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(bound), bool) and schema.pop(bound) and plain in schema:
            schema[bound] = schema.pop(plain)
    if isinstance(schema.get("type"), list):
        schema["type"] = next((name for name in as_list(schema["type"]) if name != "null"), "string")
    for name in ("anyOf", "oneOf"):
        branches = [as_mapping(item) for item in as_list(schema.get(name))]
        non_null = [item for item in branches if item.get("type") != "null"]
        if len(non_null) == 1:  # the form of a nullable value
            del schema[name]
            schema = {**non_null[0], **schema}
    if "allOf" in schema:
        schema = _merged(schema)
    return schema


def _merged(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with the members of its `allOf` merged into it."""
    merged_schema = {name: inner for name, inner in schema.items() if name != "allOf"}
    for item in as_list(schema["allOf"]):
        part = as_mapping(item)
        properties = {**as_mapping(part.get("properties")), **as_mapping(merged_schema.get("properties"))}
        required = [*dict.fromkeys((*as_list(merged_schema.get("required")), *as_list(part.get("required"))))]
        merged_schema = {**part, **merged_schema}
        merged_schema |= {"properties": properties} if properties else {}
        merged_schema |= {"required": required} if required else {}
    return merged_schema


def schema_type(schema: Mapping[str, Any]) -> str:
    """Return the JSON type of a schema's values, "string" if it is not specified.

    Args:
        schema: A schema without references.

    Raises:
        ApiDocumentError: The type is not a JSON Schema type.
    """
    declared_type = schema.get("type")
    if declared_type is not None:
        if declared_type not in ("string", "number", "integer", "boolean", "array", "object"):
            raise ApiDocumentError(f"{as_text(declared_type) or declared_type} is not a JSON Schema type")
        return str(declared_type)
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema:
        return "array"
    values = [schema["const"]] if "const" in schema else as_list(schema.get("enum"))
    kinds: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}
    types = {kinds.get(type(cast("object", value)), "string") for value in values if value is not None}
    if len(types) == 1:
        return types.pop()
    branches = [as_mapping(item) for name in ("anyOf", "oneOf") for item in as_list(schema.get(name))]
    return schema_type(branches[0]) if branches else "string"
