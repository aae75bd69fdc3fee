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

from importlib import import_module
from typing import Any

_paths: dict[str, str] = {}


def register(operation: str, path: str) -> None:
    """Name the implementation of an operation.

    Args:
        operation: The operation's name, `Class.method`.
        path: Where its implementation is, as `package.module:function`.

    Raises:
        ValueError: The operation has another implementation already.
    """
    if _paths.setdefault(operation, path) != path:
        raise ValueError(f"{operation} is implemented by {_paths[operation]} already")


def call(operation: str, *args: Any, **kwargs: Any) -> Any:
    """Call the implementation of an operation and return its result.

    Raises:
        KeyError: Nobody registered the operation.
    """
    module, _, function = _paths[operation].partition(":")
    return getattr(import_module(module), function)(*args, **kwargs)
