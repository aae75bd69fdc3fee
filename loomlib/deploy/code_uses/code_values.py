"""What an expression of an agent's code can be: clients of AWS, objects of SDKs, texts, dictionaries and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from .program import CodeScope, Function
from .sdk_classes import SdkCallable
from .values import COMPUTED, CodeText, VariableRead

_MOST_VALUES: Final = 16
_LARGEST_VALUE: Final = 2_000
"""Values inside one list or dictionary at most: each is compared with others as a whole."""


class CodeTooLargeError(Exception):
    """Following the code takes too long, as when thousands of lines give one name a meaning and read it."""


@dataclass(frozen=True, slots=True)
class AwsClient:
    """A client or resource of boto3.

    Attributes:
        service: The service; "" if it is chosen at run time.
        place: Where it is made: the file and line.
        is_resource: Whether it is an object of boto3's resources.
        path: The objects of the resource that lead to it, such as `("Table",)`.
        bound: The parameters that these objects fix.
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
    """A paginator, a waiter, or a method of a client that is not called yet; `kind` says which."""

    client: AwsClient
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class OwnObject:
    """An object of a class of the agent's own code; `scope` is the inside of the class."""

    scope: CodeScope


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """A function of the agent's own code, or a lambda, that is passed on."""

    node: Function


@dataclass(frozen=True, slots=True)
class SdkObject:
    """What a class or function of an SDK returns, with the arguments of the call."""

    sdk: SdkCallable
    arguments: tuple[tuple[str, tuple[CodeText, ...]], ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """A dictionary with known keys; `size` is how many values it has inside, at any depth."""

    items: tuple[tuple[str, tuple[Value, ...]], ...]
    size: int = field(init=False, compare=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(_size(value) for _, values in self.items for value in values))


@dataclass(frozen=True, slots=True)
class Items:
    """A list or tuple; `size` is how many values it has inside, at any depth."""

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
        is_partial: Whether more may be given by `*` or `**`.
    """

    named: dict[str, tuple[Value, ...]] = field(default_factory=dict[str, tuple[Value, ...]])
    positional: list[tuple[Value, ...]] = field(default_factory=list[tuple[Value, ...]])
    is_partial: bool = False

    def get(self, name: str, position: int) -> tuple[Value, ...]:
        """Return the values of an argument by its name or position; empty where it is not given."""
        return self.named.get(name) or (self.positional[position] if position < len(self.positional) else ())


def texts_of(values: Sequence[Value]) -> tuple[CodeText, ...]:
    """Return the texts among values; what is no text is `COMPUTED`."""
    texts = [value if isinstance(value, CodeText) else COMPUTED for value in values]
    return tuple(dict.fromkeys(texts))


def read_with_default(read: Value, other: Value) -> CodeText | None:
    """Return `read or other` where one variable of the environment is read and the other is a text; else None.

    Args:
        read: The value before `or`.
        other: The value behind it.
    """
    if isinstance(read, CodeText) and isinstance(other, CodeText) and len(read.parts) == 1 == len(other.parts):
        part, default = read.parts[0], other.parts[0]
        if isinstance(part, VariableRead) and not part.default and isinstance(default, str):
            return CodeText(parts=(VariableRead(name=part.name, default=default),))
    return None


def optional_value(value: Value) -> Value:
    """Return a value with "" for variables without a value: another one is used in its place."""
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
    """Return values without repetitions; of too many only the first, and `COMPUTED`, which stands for large ones."""
    unique_values = tuple(dict.fromkeys(value if _size(value) <= _LARGEST_VALUE else COMPUTED for value in values))
    return unique_values if len(unique_values) <= _MOST_VALUES else (*unique_values[:_MOST_VALUES], COMPUTED)


def _size(value: Value) -> int:
    return 1 + value.size if isinstance(value, Items | Entries) else 1
