"""The shapes of a Smithy model: their JSON schemas, and the serialization of their values in requests."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self, cast

from .tools import TargetError

_DEEPEST: Final = 30
_MOST_VALUES: Final = 100_000
_MOST_FORMS: Final = 500_000
_SHOWN_CHARACTERS: Final = 500
_TAG: Final = re.compile(r"<[^>]*>")
_PRELUDE: Final = "smithy.api#"
_TIME_FORMATS: Final = ("date-time", "http-date", "epoch-seconds")
_TIME_FORMAT: Final = "smithy.api#timestampFormat"
_COMPOSITE: Final = ("structure", "union", "list", "set", "map")
_JSON_TYPES: Final = {
    "string": "string",
    "enum": "string",
    "boolean": "boolean",
    "byte": "integer",
    "short": "integer",
    "integer": "integer",
    "long": "integer",
    "intEnum": "integer",
    "bigInteger": "integer",
    "float": "number",
    "double": "number",
    "bigDecimal": "number",
}
_BOUNDS: Final = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems")}

Shape = Mapping[str, Any]


class SmithyShapes:
    """The shapes of one model.

    Args:
        shapes: The shapes by their ids.
    """

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        self._shapes, self._shapes_left = shapes, _MOST_VALUES

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a model in Smithy's JSON form.

        Raises:
            TargetError: It is not a Smithy model.
        """
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TargetError(
                "The Smithy model is not JSON; provide its JSON form (`smithy ast`), not its IDL"
            ) from error
        shapes = object_of(object_of(document).get("shapes"))
        if "smithy" not in object_of(document) or not shapes:
            raise TargetError("The Smithy model has no shapes")
        return cls(shapes)

    def service(self) -> tuple[str, Shape]:
        """Return the id and the shape of the model's only service.

        Raises:
            TargetError: It has no service, or several.
        """
        services = [(name, shape) for name, shape in self._shapes.items() if object_of(shape).get("type") == "service"]
        if len(services) != 1:
            names = ", ".join(name for name, _ in services) or "none"
            raise TargetError(f"The Smithy model must have exactly one service, but has {names}")
        return services[0]

    def shape(self, shape_id: str) -> Shape:
        """Return a shape of the model.

        Raises:
            TargetError: The model does not have it.
        """
        shape = object_of(self._shapes.get(shape_id))
        if not shape:
            raise TargetError(f"The Smithy model has no shape {shape_id or 'where one is named'}")
        return shape

    def kind(self, shape_id: str) -> str:
        """Return the type of a shape, including Smithy's own shapes: "string", "structure", …."""
        if shape_id.startswith(_PRELUDE):
            name = shape_id.removeprefix(_PRELUDE).removeprefix("Primitive")
            return name[:1].lower() + name[1:]
        return str(self.shape(shape_id).get("type"))

    def members(self, shape_id: str, depth: int = 0) -> dict[str, Shape]:
        """Return the members of a structure or a union, with those of its mixins."""
        if not shape_id or shape_id.startswith(_PRELUDE):
            return {}
        shape, mixin_members = self.shape(shape_id), dict[str, Shape]()
        for mixin in list_of(shape.get("mixins")):
            if depth < _DEEPEST:
                mixin_members |= self.members(target_of(mixin), depth + 1)
        return mixin_members | {name: object_of(member) for name, member in object_of(shape.get("members")).items()}

    def description(self, shape: Shape, *, most: int = _SHOWN_CHARACTERS) -> str:
        """Return the documentation of a shape as plain text."""
        text = _TAG.sub(" ", str(traits_of(shape).get("smithy.api#documentation") or ""))
        return " ".join(html.unescape(text).split())[:most]

    def schema(self, shape_id: str, within: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Return the JSON schema of a shape; a recursive shape accepts any value at the recursion.

        Raises:
            TargetError: A shape is missing, or the schemas would be too large.
        """
        self._shapes_left -= 1
        if self._shapes_left < 0:
            raise TargetError(f"The schemas of the Smithy model have more than {_MOST_VALUES:,} values")
        if shape_id in within or len(within) > _DEEPEST:
            return {}
        kind, below = self.kind(shape_id), within | {shape_id}
        shape: Shape = {} if shape_id.startswith(_PRELUDE) else self.shape(shape_id)
        if kind in ("structure", "union"):
            return self._object_schema(shape_id, kind, below)
        if kind in ("list", "set"):
            return self._bounded(
                {"type": "array", "items": self._member_schema(object_of(shape.get("member")), below)}, shape
            )
        if kind == "map":
            return {"type": "object", "additionalProperties": self._member_schema(object_of(shape.get("value")), below)}
        if kind == "timestamp":
            return {"type": "string", "format": "date-time"}
        if kind == "blob":
            return {"type": "string", "contentEncoding": "base64"}
        if kind not in _JSON_TYPES:
            return {}
        schema: dict[str, Any] = {"type": _JSON_TYPES[kind]}
        if values := self._values(shape_id, shape, kind):
            schema["enum"] = values
        return self._bounded(schema, shape)

    def _object_schema(self, shape_id: str, kind: str, within: frozenset[str]) -> dict[str, Any]:
        members = self.members(shape_id)
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: self._member_schema(member, within) for name, member in members.items()},
        }
        if kind == "union":
            return schema | {"minProperties": 1, "maxProperties": 1}
        required = [
            name
            for name, member in members.items()
            if "smithy.api#required" in traits_of(member) and "smithy.api#idempotencyToken" not in traits_of(member)
        ]
        return schema | ({"required": required} if required else {})

    def _member_schema(self, member: Shape, within: frozenset[str]) -> dict[str, Any]:
        schema = self.schema(target_of(member), within)
        text = self.description(member)
        return {**schema, "description": text} if text else schema

    def _values(self, shape_id: str, shape: Shape, kind: str) -> list[Any]:
        """Return the values of an enumeration of Smithy 2 or 1; empty for another shape."""
        if kind in ("enum", "intEnum"):
            members = self.members(shape_id)
            return [traits_of(member).get("smithy.api#enumValue", name) for name, member in members.items()]
        entries = list_of(traits_of(shape).get("smithy.api#enum"))
        return [object_of(entry)["value"] for entry in entries if "value" in object_of(entry)]

    def _bounded(self, schema: dict[str, Any], shape: Shape) -> dict[str, Any]:
        traits = traits_of(shape)
        names = _BOUNDS.get(schema["type"])
        if names:
            bounds = object_of(traits.get("smithy.api#length"))
        else:
            names, bounds = ("minimum", "maximum"), object_of(traits.get("smithy.api#range"))
        limits = zip(names, (bounds.get("min"), bounds.get("max")), strict=True)
        return schema | {name: limit for name, limit in limits if isinstance(limit, int | float)}


def member_form(shapes: SmithyShapes, member: Shape, *, place: str = "body") -> dict[str, str] | None:
    """Return the serialization of a member: a timestamp format, or the form of its shape; None for unchanged values.

    Args:
        shapes: The model.
        member: The member.
        place: Its place in the request, which decides the default format of timestamps.
    """
    target = target_of(member)
    kind = shapes.kind(target)
    if kind == "timestamp":
        shape_traits: Shape = {} if target.startswith(_PRELUDE) else traits_of(shapes.shape(target))
        default = {"header": "http-date", "body": "epoch-seconds", "payload": "epoch-seconds"}.get(place, "date-time")
        time_format = traits_of(member).get(_TIME_FORMAT) or shape_traits.get(_TIME_FORMAT)
        return {"time": time_format if time_format in _TIME_FORMATS else default}
    return {"shape": target} if kind in _COMPOSITE and not target.startswith(_PRELUDE) else None


class WireForms:
    """The forms of the shapes in the inputs of operations, only for values that are not sent unchanged.

    Args:
        shapes: The model.
        roots: The ids of shapes of the inputs' members.
        is_rest: Whether the protocol is restJson1, which has separate names for JSON members.
    """

    def __init__(self, shapes: SmithyShapes, roots: Iterable[str], *, is_rest: bool) -> None:
        forms: dict[str, dict[str, Any]] = {}
        users: dict[str, list[str]] = {}
        changing: list[str] = []
        waiting = list(roots)
        while waiting:
            shape_id = waiting.pop()
            if shape_id.startswith(_PRELUDE) or shape_id in forms or shapes.kind(shape_id) not in _COMPOSITE:
                continue
            forms[shape_id] = _form(shapes, shape_id, is_rest=is_rest)
            for name, below in _entries(forms[shape_id]):
                if below.get("shape"):
                    users.setdefault(below["shape"], []).append(shape_id)
                    waiting.append(below["shape"])
                if "time" in below or below["wire"] != name:
                    changing.append(shape_id)
        self._forms: dict[str, dict[str, Any]] = {}
        self._shapes_left = _MOST_FORMS
        while changing:
            shape_id = changing.pop()
            if shape_id not in self._forms:
                self._forms[shape_id] = forms[shape_id]
                changing += users.get(shape_id, [])

    def below(self, members: Mapping[str, Shape]) -> dict[str, Any]:
        """Return the forms that the members of one operation's input need.

        Raises:
            TargetError: The operations of the model need too many forms.
        """
        pending_ids, forms = [target_of(member) for member in members.values()], dict[str, Any]()
        while pending_ids:
            shape_id = pending_ids.pop()
            if shape_id in forms or shape_id not in self._forms:
                continue
            forms[shape_id] = self._forms[shape_id]
            fields = _entries(forms[shape_id])
            self._shapes_left -= len(fields)
            if self._shapes_left < 0:
                raise TargetError(f"The inputs of the Smithy model have more than {_MOST_FORMS:,} members")
            pending_ids += [below["shape"] for _, below in fields if below.get("shape")]
        return forms


def _entries(form: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """Return the members of a form: for each name, its name in the request and its form."""
    members: Mapping[str, Mapping[str, Any]] = form["members"]
    return [(name, {"wire": entry["wire"], **(entry["form"] or {})}) for name, entry in members.items()]


def _form(shapes: SmithyShapes, shape_id: str, *, is_rest: bool) -> dict[str, Any]:
    kind, shape = shapes.kind(shape_id), shapes.shape(shape_id)
    if kind in ("list", "set"):
        members = {"member": object_of(shape.get("member"))}
    elif kind == "map":
        members = {"value": object_of(shape.get("value"))}
    else:
        members = shapes.members(shape_id)
    fields: dict[str, Any] = {
        name: {
            "wire": str(traits_of(member).get("smithy.api#jsonName", name)) if is_rest else name,
            "form": member_form(shapes, member),
        }
        for name, member in members.items()
    }
    return {"kind": {"set": "list", "union": "structure"}.get(kind, kind), "members": fields}


def traits_of(shape: Shape) -> Mapping[str, Any]:
    """Return the traits of a shape or a member."""
    return object_of(shape.get("traits"))


def target_of(reference: Any) -> str:
    """Return the id of the shape that a member or a reference names."""
    return str(object_of(reference).get("target", ""))


def object_of(value: Any) -> dict[str, Any]:
    """Return a value if it is an object, otherwise an empty object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return a value if it is a list, otherwise an empty list."""
    return cast("list[Any]", value) if isinstance(value, list) else []
