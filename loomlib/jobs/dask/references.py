"""Objects that a worker creates itself, given as an importable function and JSON values: no code or secret is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from loomlib.errors import ClusterError


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReference:
    """A function that every worker can import, and the arguments to call it with.

    Attributes:
        factory: The function as `package.module:name`.
        arguments: JSON values. They reach the scheduler and its logs, so they never hold a secret; the worker takes
            credentials from its own environment.
    """

    factory: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def stored(self) -> dict[str, Any]:
        """Return the reference as JSON-ready values."""
        return {"factory": self.factory, "arguments": dict(self.arguments)}


def resolve_reference(stored: Mapping[str, Any]) -> Any:
    """Return what the factory of a stored reference returns, on a worker.

    Args:
        stored: What `WorkerReference.stored` returned.
    """
    return load_object(stored["factory"])(**stored["arguments"])


def load_object(path: str) -> Any:
    """Return the object at `package.module:name`.

    Args:
        path: The object's path.
    """
    module, _, name = path.partition(":")
    value: Any = import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def function_reference(function: Callable[..., Any]) -> str:
    """Return the path of a function that workers can import.

    Args:
        function: The function.

    Raises:
        ClusterError: It is defined in a notebook or inside another function. Sending its code would also send what it
            refers to, such as an open connection or a key.
    """
    module, name = getattr(function, "__module__", "") or "", getattr(function, "__qualname__", "") or ""
    try:
        is_importable = module != "__main__" and load_object(f"{module}:{name}") is function
    except (ImportError, AttributeError, ValueError):
        is_importable = False
    if not is_importable:
        raise ClusterError(
            "Workers cannot import this function",
            on=f"{module or 'unknown module'}:{name or function!r}",
            try_="define it at the top level of a module that is installed on every worker",
        )
    return f"{module}:{name}"
