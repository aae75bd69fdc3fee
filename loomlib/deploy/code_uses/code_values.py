"""Possible values of an expression in an agent's code: AWS clients, SDK objects, strings, dictionaries and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from .program import CodeScope, Function
from .sdk_classes import SdkCallable
from .values import COMPUTED, CodeText, VariableRead

_MOST_VALUES: Final = 16
_LARGEST_VALUE: Final = 2_000
"""Largest number of values inside one list or dictionary: each is compared with others as a whole."""


class CodeTooLargeError(Exception):
    """Analyzing the code takes too long, for example when thousands of lines assign and read the same name."""


@dataclass(frozen=True, slots=True)
class AwsClient:
    """A client or resource of boto3.

    Attributes:
        service: The service; "" if it is chosen at run time.
        place: Where it is created: the file and line.
        is_resource: Whether it is a boto3 resource object.
        path: The path of resource objects that leads to it, such as `("Table",)`.
        bound: The parameters that these objects determine.
    """

    service: str
    place: tuple[str, int]
    is_resource: bool = False
    path: tuple[str, ...] = ()
    bound: tuple[tuple[str, CodeText], ...] = ()


@dataclass(frozen=True, slots=True)
class AwsSession:
    """A session of boto3."""


@dataclass(frozen=True, slots=True)
class BoundOperation:
    """A paginator, a waiter, or a method of a client that is not called yet; `kind` distinguishes them."""

    client: AwsClient
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class OwnObject:
    """An object of a class in the agent's own code; `scope` is the scope of the class body."""

    scope: CodeScope


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """A function in the agent's own code, or a lambda, that is passed as a value."""

    node: Function


@dataclass(frozen=True, slots=True)
class SdkObject:
    """The object that an SDK class or function returns, with the arguments of the call."""

    sdk: SdkCallable
    arguments: tuple[tuple[str, tuple[CodeText, ...]], ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """A dictionary with known keys; `size` is the number of values in it, at any depth."""

    items: tuple[tuple[str, tuple[Value, ...]], ...]
    size: int = field(init=False, compare=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(_size(value) for _, values in self.items for value in values))


@dataclass(frozen=True, slots=True)
class Items:
    """A list or tuple; `size` is the number of values in it, at any depth."""

    items: tuple[Value, ...]
    size: int = field(init=False, compare=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(map(_size, self.items)))


Value = CodeText | AwsClient | AwsSession | BoundOperation | OwnObject | OwnFunction | SdkObject | Entries | Items


@dataclass(slots=True)
class Arguments:
    """The arguments of a call.

    Attributes:
        named: By name.
        positional: By position.
        is_partial: Whether `*` or `**` may pass further arguments.
    """

    named: dict[str, tuple[Value, ...]] = field(default_factory=dict[str, tuple[Value, ...]])
    positional: list[tuple[Value, ...]] = field(default_factory=list[tuple[Value, ...]])
    is_partial: bool = False

    def get(self, name: str, position: int) -> tuple[Value, ...]:
        """Return the values of an argument by its name or position; empty if it is not given."""
        return self.named.get(name) or (self.positional[position] if position < len(self.positional) else ())


def texts_of(values: Sequence[Value]) -> tuple[CodeText, ...]:
    """Return the strings among values; other values become `COMPUTED`."""
    texts = [value if isinstance(value, CodeText) else COMPUTED for value in values]
    return tuple(dict.fromkeys(texts))


def read_with_default(read: Value, other: Value) -> CodeText | None:
    """Return the value of `read or other` if one environment variable is read and `other` is a string; else None.

    Args:
        read: The value before `or`.
        other: The value after `or`.
    """
    if isinstance(read, CodeText) and isinstance(other, CodeText) and len(read.parts) == 1 == len(other.parts):
        part, default = read.parts[0], other.parts[0]
        if isinstance(part, VariableRead) and not part.default and isinstance(default, str):
            return CodeText(parts=(VariableRead(name=part.name, default=default),))
    return None


def optional_value(value: Value) -> Value:
    """Return a value in which environment variables that may be unset have the default ""."""
    if not isinstance(value, CodeText):
        return value
    parts = (
        VariableRead(name=part.name, default="")
        if isinstance(part, VariableRead) and part.default is None and not part.is_required
        else part
        for part in value.parts
    )
    return CodeText(parts=tuple(parts))


def distinct_values(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return distinct values; of too many, only the first ones and `COMPUTED`, which also replaces large values."""
    unique_values = tuple(dict.fromkeys(value if _size(value) <= _LARGEST_VALUE else COMPUTED for value in values))
    return unique_values if len(unique_values) <= _MOST_VALUES else (*unique_values[:_MOST_VALUES], COMPUTED)


def _size(value: Value) -> int:
    return 1 + value.size if isinstance(value, Items | Entries) else 1
