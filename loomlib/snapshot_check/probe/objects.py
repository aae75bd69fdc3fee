"""Walks the objects that the agent's functions can reach."""

from __future__ import annotations

import contextvars
import datetime
import functools
import gc
import itertools
import os
import threading
import time
import types
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .agent_code import AgentCode

SCALARS = (str, bytes, bytearray, int, float, uuid.UUID, datetime.date, datetime.time, time.struct_time)
_DEFINITIONS = (type, types.FunctionType, types.MethodType, functools.partial, staticmethod, classmethod, property)
_LRU = type(functools.lru_cache(len))
_MOST_OBJECTS = 150_000
_MOST_ITEMS = 2_000
_MOST_DEPTH = 12
_WITHIN_S = 10.0

# Objects of these are not entered: they hold no state of the agent's own, or are examined by their type.
_OPAQUE = frozenset(
    {"abc", "ast", "asyncio", "boto3", "botocore", "concurrent", "ctypes", "enum", "httpcore", "importlib", "inspect"}
    | {"jinja2", "logging", "numpy", "opentelemetry", "pandas", "pydantic_core", "random", "re", "s3transfer"}
    | {"selectors", "socket", "sqlite3", "ssl", "threading", "tokenizers", "torch", "typing", "urllib3", "weakref"}
)


@dataclass
class Node:
    """One reachable object.

    Attributes:
        value: The object.
        root: The agent's module and the name in it, such as `("agent", "SETTINGS", "id")`.
        label: What leads to it from its parent, such as `.id` or `['id']`.
        parent: The object that holds it.
        is_own: Whether only containers and objects of the agent's own classes lead to it.
        depth: Its distance from the root.
        is_cached: Whether a cache of functools holds it.
    """

    value: Any
    root: tuple[str, ...]
    label: str
    parent: Node | None
    is_own: bool
    depth: int
    is_cached: bool = False

    def path(self) -> str:
        """Return the expression that leads here, such as `agent.SETTINGS['id']`."""
        labels: list[str] = []
        node: Node | None = self
        while node is not None:
            labels.append(node.label)
            node = node.parent
        return "".join(reversed(labels))[:300]

    def labels(self) -> list[str]:
        """Return the names and keys on the way, the last first."""
        labels: list[str] = []
        node: Node | None = self
        while node is not None:
            labels.append(node.label.strip(".[]'\"").lower())
            node = node.parent
        return labels


class Objects:
    """Yields reachable objects, near ones first; after it, `is_complete` says whether any were left out.

    Args:
        code: The agent's code.
        environment: The variables at the start, so that only changed ones count.
    """

    def __init__(self, code: AgentCode, environment: Mapping[str, str]) -> None:
        self._code, self._environment = code, environment
        self._modules = code.modules()
        self.used: set[str] = set()
        for module in self._modules.values():
            source = code.source(str(module.__file__))
            if source is not None:
                self.used |= source.names_in_functions
        self.is_complete = True
        self._own_classes: dict[type, bool] = {}

    @property
    def modules(self) -> dict[str, types.ModuleType]:
        """The agent's modules by name."""
        return self._modules

    def walk(self) -> Iterator[Node]:
        """Yield each object once."""
        seen_ids: set[int] = set()
        pending: deque[Node] = deque(self._roots())
        deadline, count = time.monotonic() + _WITHIN_S, 0
        while pending:
            node = pending.popleft()
            if isinstance(node.value, SCALARS):
                yield node
                continue
            if id(node.value) in seen_ids or node.value is None:
                continue
            seen_ids.add(id(node.value))
            count += 1
            if count > _MOST_OBJECTS or (count % 1_000 == 0 and time.monotonic() > deadline):
                self.is_complete = False
                return
            yield node
            if node.depth < _MOST_DEPTH:
                pending.extend(self._children(node))

    def _roots(self) -> Iterator[Node]:
        names: set[int] = set()
        for module_name, module in self._modules.items():
            if id(module) in names:
                continue
            names.add(id(module))
            display_name = _module_name(module_name, module)
            for name, value in list(vars(module).items()):
                if name.startswith("__") or isinstance(value, types.ModuleType):
                    continue
                is_definition = isinstance(value, _DEFINITIONS) or type(value) is _LRU
                if is_definition and not self._is_own_definition(value):
                    continue
                if is_definition or name in self.used:
                    yield Node(value, (module_name, name), f"{display_name}.{name}", None, True, 0)
        for name, value in os.environ.items():
            if self._environment.get(name) != value and not name.startswith("LOOM_"):
                yield Node(value, ("os", "environ", name), f"os.environ[{name!r}]", None, True, 0)
        for variable, value in contextvars.copy_context().items():
            yield Node(value, ("", variable.name), f"{variable.name}.get()", None, False, 0)

    def _is_own_definition(self, value: Any) -> bool:
        if isinstance(value, functools.partial):
            return True
        if isinstance(value, types.MethodType):
            return self.is_own_type(type(value.__self__)) or not isinstance(value.__self__, type)
        return getattr(value, "__module__", None) in self._modules

    def is_own_type(self, kind: type) -> bool:
        """Return whether a class is the agent's own, or a plain container."""
        own = self._own_classes.get(kind)
        if own is None:
            own = kind.__module__ in self._modules or kind.__module__ in ("types", "collections")
            own = own or (kind.__module__ == "builtins" and kind is not object)
            own = self._own_classes[kind] = own or kind.__module__ in ("functools", "contextvars")
        return own

    def _children(self, node: Node) -> Iterator[Node]:
        value: Any = node.value
        kind = cast("Any", type(value))
        own = node.is_own and self.is_own_type(kind)
        if own and isinstance(value, dict | list | tuple | set | frozenset | deque) and len(value) > _MOST_ITEMS:  # pyright: ignore
            self.is_complete = False
        for label, child in self._parts(value, kind):
            if child is None or isinstance(child, bool | types.ModuleType | types.CodeType | types.FrameType):
                continue
            root = node.root
            if isinstance(value, type) and node.depth == 0 and label.startswith("."):
                root = (*root, label[1:])
            cached = node.is_cached or kind is _LRU
            yield Node(child, root, label, node, own, node.depth + 1, cached)

    def _parts(self, value: Any, kind: type[Any]) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            pairs: list[tuple[Any, Any]] = list(value.items())  # pyright: ignore
            for at, (key, item) in enumerate(pairs):
                if at >= _MOST_ITEMS:
                    return
                label = repr(key)[:60] if isinstance(key, str | int | float) else kind_name(key)
                if (isinstance(key, SCALARS) and not isinstance(key, str)) or (isinstance(key, str) and len(key) >= 8):
                    yield f"[key {label}]", key
                yield f"[{label}]", item
        elif isinstance(value, list | tuple | set | frozenset | deque):
            items: list[Any] = list(value)[:_MOST_ITEMS]  # pyright: ignore
            if isinstance(value, set | frozenset):
                items = sorted(items, key=repr) if all(isinstance(item, SCALARS) for item in items) else items
            names = [f".{name}" for name in getattr(kind, "_fields", ())] if isinstance(value, tuple) else []
            for at, item in enumerate(items):
                yield (names[at] if at < len(names) else f"[{at}]"), item
        elif isinstance(value, type):
            if value.__module__ in self._modules:
                for name, item in list(vars(value).items()):
                    if not name.startswith("__"):
                        yield f".{name}", item
        elif isinstance(value, types.FunctionType):
            if value.__module__ in self._modules or not value.__module__:
                yield from self._function_parts(value)
            elif value.__closure__:
                yield from self._closure(value)
        elif isinstance(value, types.MethodType):
            yield "", value.__self__
            yield "", value.__func__
        elif isinstance(value, functools.partial):
            yield ".func", value.func
            yield ".args", value.args
            yield ".keywords", value.keywords
        elif isinstance(value, staticmethod | classmethod):
            yield "", value.__func__  # pyright: ignore
        elif isinstance(value, property):
            yield ".fget", value.fget
        elif kind is _LRU:
            yield "", value.__wrapped__
            for child in gc.get_referents(value):
                if child is not value.__wrapped__ and not isinstance(child, type):
                    yield " (cached)", child
        elif isinstance(value, types.GeneratorType):
            if value.gi_frame is not None:
                yield ".gi_frame.f_locals", dict(value.gi_frame.f_locals)
        elif kind is itertools.count:
            yield "", repr(value)  # such as count(1), without a step
        elif kind is threading.local:
            for name, item in cast("dict[str, Any]", vars(value)).items():
                yield f".{name}", item
        elif isinstance(value, contextvars.ContextVar):
            return  # its value is a root
        elif kind.__module__.partition(".")[0] not in _OPAQUE or kind.__module__ in self._modules:
            yield from _attributes(value, kind)

    def _function_parts(self, value: types.FunctionType) -> Iterator[tuple[str, Any]]:
        yield ".__defaults__", value.__defaults__
        yield ".__kwdefaults__", value.__kwdefaults__
        yield ".__dict__", value.__dict__ or None
        yield from self._closure(value)

    @staticmethod
    def _closure(value: types.FunctionType) -> Iterator[tuple[str, Any]]:
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
            try:
                yield f".<closure {name}>", cell.cell_contents
            except ValueError:
                continue


def _attributes(value: Any, kind: type) -> Iterator[tuple[str, Any]]:
    fields: Any
    try:
        fields = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        fields = {}
    if isinstance(fields, dict):
        attributes: list[tuple[Any, Any]] = list(fields.items())  # pyright: ignore
        for name, item in attributes[:_MOST_ITEMS]:
            yield f".{name}", item
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            descriptor = base.__dict__.get(name)
            if isinstance(descriptor, types.MemberDescriptorType):
                try:
                    yield f".{name}", descriptor.__get__(value, kind)
                except AttributeError:
                    continue


def kind_name(value: Any) -> str:
    """Return the name of a value's type."""
    return type(value).__name__


def _module_name(name: str, module: types.ModuleType) -> str:
    if name != "__main__":
        return name
    return os.path.basename(str(module.__file__)).removesuffix(".py")
