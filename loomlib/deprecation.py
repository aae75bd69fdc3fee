"""Keep old public names for one release: each use works and issues a `DeprecationWarning` that names the new one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Issue the `DeprecationWarning` for a use of `old`.

    Args:
        old: The name that was used.
        new: The name to use instead.
        stacklevel: Frames between the user's line and this function, as in `warnings.warn`.
    """
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=stacklevel)


def warn_unused(function: str, parameter: str, *, stacklevel: int = 3) -> None:
    """Issue the `DeprecationWarning` for an argument that no longer has an effect.

    Args:
        function: The function that was called.
        parameter: The name of its parameter.
        stacklevel: Frames between the user's line and this function, as in `warnings.warn`.
    """
    message = f"{function}({parameter}=) is deprecated: it has no effect; leave it out"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)


def renamed_parameter(old: str, new: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator of a function whose parameter was renamed: the old keyword still works.

    Args:
        old: The parameter's old name.
        new: Its new name.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"{function.__qualname__}() got both {new!r} and its old name {old!r}")
                warn_renamed(f"{function.__qualname__}({old}=)", f"{new}=")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return wrapper

    return decorate


def moved_module(old: str, new: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that moved: every name is read from the module `new`.

    Args:
        old: The dotted name of the old module.
        new: The dotted name of the module that replaces it.
    """

    def getattr_(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        value = getattr(import_module(new), name)
        warn_renamed(f"{old}.{name}", f"{new}.{name}")
        return value

    return getattr_


def renamed_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module in which some public names were renamed.

    Args:
        module: The dotted name of the module, usually `__name__`.
        names: New names by old names. A new name with a dot is the dotted path of a name in another module.
    """

    def getattr_(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new = names[name].rpartition(".")
        value = getattr(import_module(home or module), new)
        warn_renamed(f"{module}.{name}", f"{home or module}.{new}")
        return value

    return getattr_


def renamed_members(object: Any, names: Mapping[str, str], name: str) -> Any:
    """Resolve an old attribute of an object; call it from the class's `__getattr__`.

    Args:
        object: The object whose attribute was requested.
        names: New attribute paths by old names, such as `{"memory_records": "memories.records"}`.
        name: The requested attribute.

    Raises:
        AttributeError: `name` is not an old name of the class.
    """
    kind = type(object).__name__
    if name not in names:
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")
    warn_renamed(f"{kind}.{name}", f"{kind}.{names[name]}")
    value = object
    for part in names[name].split("."):
        value = getattr(value, part)
    return value
