"""Operations on a value that a higher package implements, such as the HTML page of an eval set.

A value must not import the packages that read, write or draw it. The package's `__init__` registers the implementation
by its dotted path, and the value's method calls it by the operation's name. It is imported at the first call.

    # loomlib/evals/__init__.py
    register("EvalSet.html", "loomlib.evals.views.sets:eval_set_html")

    # loomlib/evals/values/eval_set.py
    def _repr_html_(self) -> str:
        return call("EvalSet.html", self)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_paths: dict[str, str] = {}


def register(operation: str, path: str) -> None:
    """Register the implementation of an operation.

    Args:
        operation: The operation's name, `Class.method`.
        path: Its implementation, as `package.module:function`.

    Raises:
        ValueError: The operation already has another implementation.
    """
    if _paths.setdefault(operation, path) != path:
        raise ValueError(f"{operation} is already implemented by {_paths[operation]}")


def call(operation: str, *args: Any, **kwargs: Any) -> Any:
    """Call the implementation of an operation and return its result.

    Raises:
        KeyError: The operation has no implementation.
    """
    module, _, function = _paths[operation].partition(":")
    return getattr(import_module(module), function)(*args, **kwargs)


def names_on_use(package: str, homes: Mapping[str, str], other: Callable[[str], Any] | None = None) -> Any:
    """Return the `__getattr__` of a package whose public names are imported when they are first used.

        __getattr__ = names_on_use(__name__, {"workbench": "Agent Workbench connect"})

    Args:
        package: The package, usually `__name__`.
        homes: Space-separated names by the submodule that defines them.
        other: Called with a name that no submodule defines; by default an `AttributeError` is raised.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def getattr_(name: str) -> Any:
        if name in home_of:
            value = getattr(import_module(f".{home_of[name]}", package), name)
            vars(import_module(package))[name] = value
            return value
        if other is not None:
            return other(name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return getattr_
