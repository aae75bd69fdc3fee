"""Values of the intermediate model as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from loomlib.errors import LoomError
from loomlib.json_values import mapping_or_none

from ..model import ImportedAgent

Value = TypeVar("Value")


class SnapshotFormatError(LoomError):
    """A file of a snapshot is not in the form that Loom writes."""


def encode(value: object) -> Any:
    """Return a value as JSON; members with default values are left out.

    Args:
        value: A value of the intermediate model.
    """
    if is_dataclass(value) and not isinstance(value, type):
        members: dict[str, Any] = {}
        for member in fields(value):
            inner = getattr(value, member.name)
            default = member.default if member.default_factory is MISSING else member.default_factory()
            if default is MISSING or inner != default or type(inner) is not type(default):
                members[member.name] = encode(inner)
        return members
    if isinstance(value, tuple | list):
        return [encode(item) for item in cast("tuple[object, ...]", value)]
    if (mapping := mapping_or_none(value)) is not None:
        return {str(name): encode(item) for name, item in mapping.items()}
    return value


def decode_agent(value: object) -> ImportedAgent:
    """Decode an agent from a JSON value.

    Args:
        value: The result of `encode` for an agent.

    Raises:
        SnapshotFormatError: It is not in that form.
    """
    return _decoded(ImportedAgent, value, "agent")


def decode_text(value: object, where: str) -> str:
    """Return a JSON value that must be a string.

    Args:
        value: The value.
        where: Its designation, for the error.

    Raises:
        SnapshotFormatError: It is not a string.
    """
    if not isinstance(value, str):
        raise SnapshotFormatError(f"{where} is not a string")
    return value


def _decoded(kind: type[Value], value: object, where: str) -> Value:
    return cast("Value", _of(kind, value, where))


def _of(kind: Any, value: object, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        return _of(next(item for item in arguments if item is not NoneType), value, where)
    if origin is Literal:
        if value not in arguments:
            raise SnapshotFormatError(f"{where} is {str(value)[:60]!r}, not one of {', '.join(map(str, arguments))}")
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise SnapshotFormatError(f"{where} is not a list")
        return tuple(_of(arguments[0], item, f"{where}[{at}]") for at, item in enumerate(cast("list[Any]", value)))
    if origin is Mapping:
        members = _members(value, where)
        return {name: _of(arguments[1], item, f"{where}.{name}") for name, item in members.items()}
    if is_dataclass(kind):
        return _instance(cast("type[Any]", kind), _members(value, where), where)
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise SnapshotFormatError(f"{where} is not of type {kind.__name__}")
    return value


def _instance(kind: type[Any], members: Mapping[str, Any], where: str) -> Any:
    hints = _hints(kind)
    if unknown := members.keys() - hints.keys():
        raise SnapshotFormatError(f"{where} has the unknown member {min(unknown)}")
    arguments = {name: _of(hints[name], item, f"{where}.{name}") for name, item in members.items()}
    try:
        return kind(**arguments)
    except TypeError as error:
        raise SnapshotFormatError(f"{where} is incomplete: {error}") from error


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _members(value: object, where: str) -> Mapping[str, Any]:
    if (members := mapping_or_none(value)) is None:
        raise SnapshotFormatError(f"{where} is not an object")
    return members
