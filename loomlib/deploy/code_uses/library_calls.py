"""Return values of library calls: boto3 clients, environment variables, SDK objects, strings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .code_values import (
    Arguments,
    AwsClient,
    AwsSession,
    BoundOperation,
    Entries,
    SdkObject,
    Value,
    texts_of,
)
from .sdk_classes import SdkCallable, find_sdk_callable
from .values import COMPUTED, CodeText, VariableRead

_UNCHANGED: Final = frozenset({"contextlib.closing", "typing.cast", "str", "contextlib.aclosing", "json.dumps"})
_SESSIONS: Final = frozenset({"boto3.Session", "boto3.session.Session", "aioboto3.Session"})
_BOTO3: Final = frozenset({"boto3", "aioboto3"})

Place = tuple[str, int]
"""The file and the line of a call."""


def library_values(qualified: str, arguments: Arguments, place: Place) -> tuple[Value, ...] | None:
    """Return the values of a call of a known library function; None if the function is not known.

    Args:
        qualified: The function's qualified name.
        arguments: The arguments.
        place: Where the call is.
    """
    if qualified in ("os.getenv", "os.environ.get", "os.environ.setdefault"):
        return (_variable(arguments),)
    if qualified in _SESSIONS:
        return (AwsSession(),)
    package, _, name = qualified.rpartition(".")
    if package in _BOTO3 and name in ("client", "resource"):
        return tuple(_clients(arguments, name, place))
    if qualified in _UNCHANGED:
        return arguments.positional[-1] if arguments.positional else ()
    if qualified == "dict":
        return (Entries(tuple(arguments.named.items())),) if not arguments.is_partial else (COMPUTED,)
    if qualified == "getattr":
        return tuple(_attribute(arguments))
    if (sdk := find_sdk_callable(qualified)) is not None:
        return (_sdk_object(sdk, arguments),)
    return None


def method_values(value: Value, name: str, arguments: Arguments, place: Place) -> Iterator[Value]:
    """Yield the values that a method of a value returns.

    Args:
        value: The value.
        name: The method.
        arguments: The arguments.
        place: Where the call is.
    """
    if isinstance(value, AwsSession) and name in ("client", "resource"):
        yield from _clients(arguments, name, place)
    elif isinstance(value, AwsClient) and name in ("get_paginator", "get_waiter"):
        for operation in arguments.get("operation_name", 0) or arguments.get("waiter_name", 0) or (COMPUTED,):
            text = operation.resolved({}) if isinstance(operation, CodeText) else None
            yield BoundOperation(value, text or "", name.removeprefix("get_"))
    elif isinstance(value, AwsClient) and value.is_resource and name[:1].isupper():
        argument_values = [*arguments.positional, *arguments.named.values()]
        only = [values[0] if len(values) == 1 else COMPUTED for values in argument_values]
        texts = [text if isinstance(text, CodeText) else COMPUTED for text in only]
        names = (f"{name}.{index}" for index in range(len(texts)))
        bound = (*value.bound, *zip(names, texts, strict=True))
        yield AwsClient(value.service, value.place, True, (*value.path, name), bound)
    elif (isinstance(value, CodeText) and name in ("strip", "rstrip", "lstrip")) or (
        isinstance(value, SdkObject) and name in value.sdk.makes
    ):
        yield value
    elif isinstance(value, Entries) and name == "get":
        yield from _values_of_get(value, arguments)
    else:
        yield COMPUTED


def _clients(arguments: Arguments, kind: str, place: Place) -> Iterator[Value]:
    for value in arguments.get("service_name", 0) or (COMPUTED,):
        text = value.resolved({}) if isinstance(value, CodeText) else None
        yield AwsClient(text or "", place, is_resource=kind == "resource")


def _values_of_get(value: Entries, arguments: Arguments) -> Iterator[Value]:
    keys = arguments.positional[0] if arguments.positional else ()
    name = keys[0].resolved({}) if len(keys) == 1 and isinstance(keys[0], CodeText) else None
    entries = dict(value.items)
    if name in entries:
        yield from entries[name]
    else:  # any of them, or the default
        for values in (*(entries.values() if name is None else ()), *arguments.positional[1:]):
            yield from values


def _variable(arguments: Arguments) -> Value:
    names, defaults = arguments.get("key", 0), arguments.get("default", 1)
    name = names[0].resolved({}) if len(names) == 1 and isinstance(names[0], CodeText) else None
    if not name:
        return COMPUTED
    default = defaults[0].resolved({}) if len(defaults) == 1 and isinstance(defaults[0], CodeText) else None
    return CodeText(parts=(VariableRead(name=name, default=default),))


def _attribute(arguments: Arguments) -> Iterator[Value]:
    names = arguments.positional[1] if len(arguments.positional) > 1 else ()
    for value in arguments.positional[0] if arguments.positional else ():
        for name in names or (COMPUTED,):
            text = name.resolved({}) if isinstance(name, CodeText) else None
            yield BoundOperation(value, text or "", "method") if isinstance(value, AwsClient) else COMPUTED


def _sdk_object(sdk: SdkCallable, arguments: Arguments) -> SdkObject:
    texts_by_parameter: dict[str, tuple[CodeText, ...]] = {}
    for index, values in enumerate(arguments.positional[: len(sdk.positional)]):
        texts_by_parameter[sdk.positional[index]] = texts_of(values)
    for name, values in arguments.named.items():
        if name in sdk.parameters:
            texts_by_parameter[name] = texts_of(values)
    return SdkObject(sdk, tuple((sdk.parameters[name], texts) for name, texts in texts_by_parameter.items() if texts))
