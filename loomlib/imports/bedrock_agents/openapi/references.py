"""Schemas of an OpenAPI document without references, in the form of JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import unquote

from loomlib.json_values import as_list, as_mapping, as_text, mapping_or_none
from loomlib.presentation.formats import number

from .documents import ApiDocumentError

_DEEPEST: Final = 30
_MOST_VALUES: Final = 50_000
"""Schemas of a document at most, references followed: a model reads them all with every request."""

_DROPPED: Final = frozenset(
    ("nullable", "xml", "discriminator", "externalDocs", "example", "$schema", "$id", "$comment")
)
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS: Final = ("items", "not", "additionalProperties", "contains", "propertyNames", "if", "then", "else")


class References:
    """Resolves the references of one OpenAPI document, within a limit of the values that are made.

    Args:
        document: The document.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._left = _MOST_VALUES
        self.notes: dict[str, None] = {}
        self.problems: dict[str, None] = {}

    def target(self, value: object) -> Mapping[str, Any]:
        """Return an object, or the object that it refers to; an empty one if there is none.

        Args:
            value: An object of the document, such as a parameter, which may be a reference.
        """
        item, seen = as_mapping(value), set[str]()
        while isinstance(reference := item.get("$ref"), str):
            if reference in seen:
                self.problems[f"the reference {reference} refers to itself"] = None
                return {}
            seen.add(reference)
            rest = {name: inner for name, inner in item.items() if name != "$ref"}
            item = {**self._at(reference), **rest}
        return item

    def schema(self, value: object) -> dict[str, Any]:
        """Return a schema without references and without what only OpenAPI has.

        A schema that contains itself is cut where it would begin again, with a note.

        Args:
            value: A schema of the document.
        """
        return self._schema(value, (), 0)

    def _schema(self, value: object, above: tuple[str, ...], depth: int) -> dict[str, Any]:
        self._left -= 1
        if self._left < 0:
            self.problems[f"its schemas have more than {number(_MOST_VALUES)} values, references followed"] = None
            return {}
        if depth > _DEEPEST:
            self.notes[f"a schema is cut below {_DEEPEST} levels"] = None
            return {}
        given, ahead = as_mapping(value), above
        while isinstance(reference := given.get("$ref"), str):
            if reference in ahead:
                name = reference.rpartition("/")[2]
                self.notes[f"the schema {name} contains itself and is cut where it begins again"] = None
                return {"type": "object", "description": f"A nested {name}"}
            ahead = (*ahead, reference)
            rest = {name: inner for name, inner in given.items() if name != "$ref"}
            given = {**self._at(reference), **rest}
        made: dict[str, Any] = {}
        for name, inner in given.items():
            if name in _DROPPED or name.startswith("x-"):
                continue
            made[name] = self._keyword(name, inner, ahead, depth)
        return _modern(made, given)

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
        if (found := mapping_or_none(value)) is None:
            self.problems[f"the reference {reference} leads nowhere"] = None
            return {}
        return found


def _modern(made: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of OpenAPI 3.0 as JSON Schema has it, with one type."""
    if "example" in given and "examples" not in made:
        made["examples"] = [given["example"]]
    for bound, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(bound), bool) and made.pop(bound) and plain in made:
            made[bound] = made.pop(plain)
    if isinstance(made.get("type"), list):
        made["type"] = next((name for name in as_list(made["type"]) if name != "null"), "string")
    for name in ("anyOf", "oneOf"):
        branches = [as_mapping(item) for item in as_list(made.get(name))]
        kept = [item for item in branches if item.get("type") != "null"]
        if len(kept) == 1:  # the form of a value that may be absent
            del made[name]
            made = {**kept[0], **made}
    if "allOf" in made:
        made = _merged(made)
    return made


def _merged(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with the members of its `allOf` as its own."""
    made = {name: inner for name, inner in schema.items() if name != "allOf"}
    for item in as_list(schema["allOf"]):
        part = as_mapping(item)
        properties = {**as_mapping(part.get("properties")), **as_mapping(made.get("properties"))}
        required = [*dict.fromkeys((*as_list(made.get("required")), *as_list(part.get("required"))))]
        made = {**part, **made}
        made |= {"properties": properties} if properties else {}
        made |= {"required": required} if required else {}
    return made


def schema_type(schema: Mapping[str, Any]) -> str:
    """Return the JSON type of a schema's values, "string" if it does not say.

    Args:
        schema: A schema without references.

    Raises:
        ApiDocumentError: The type is none of JSON Schema's.
    """
    given = schema.get("type")
    if given is not None:
        if given not in ("string", "number", "integer", "boolean", "array", "object"):
            raise ApiDocumentError(f"{as_text(given) or given} is no type of JSON Schema")
        return str(given)
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema:
        return "array"
    values = [schema["const"]] if "const" in schema else as_list(schema.get("enum"))
    kinds: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}
    found = {kinds.get(type(cast("object", value)), "string") for value in values if value is not None}
    if len(found) == 1:
        return found.pop()
    branches = [as_mapping(item) for name in ("anyOf", "oneOf") for item in as_list(schema.get(name))]
    return schema_type(branches[0]) if branches else "string"
