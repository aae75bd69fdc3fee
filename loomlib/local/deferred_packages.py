"""Packages whose initialisers run when one of their names is first used, not when a submodule is imported.

moto's initialisers load its patches of boto3 for tests, and uvicorn's loads its command line and its supervisors: a
tenth of the processor time that the service needs to start, for names that it does not use.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

from .state import ACCOUNT_ID

_lock = threading.RLock()
_running: set[str] = set()


class _DeferredPackage(ModuleType):
    """A package whose initialiser has not run yet; afterwards it is a plain module."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            with _lock:
                if type(self) is _DeferredPackage and self.__name__ not in _running:
                    _run_initialiser(self)
                if name in vars(self):
                    return vars(self)[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)


def defer_service_packages() -> None:
    """Defer the initialisers that the service does not need; its own process calls this before it imports them."""
    defer_initialiser("moto")
    defer_initialiser("moto.core", DEFAULT_ACCOUNT_ID=ACCOUNT_ID)
    defer_initialiser("uvicorn")


def defer_initialiser(name: str, **values: object) -> None:
    """Make a package's submodules importable without its initialiser; do nothing when it has run already.

    Call it before the process has a second thread.

    Args:
        name: The package. Those that contain it must be deferred before it.
        values: Values of names that are available without running the initialiser.

    Raises:
        ModuleNotFoundError: The package does not exist.
    """
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = importlib.util.module_from_spec(spec)
    module.__class__ = _DeferredPackage
    vars(module).update(values)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)


def _run_initialiser(module: ModuleType) -> None:
    spec = module.__spec__
    assert spec is not None
    assert spec.loader is not None
    _running.add(module.__name__)
    try:
        spec.loader.exec_module(module)
    finally:
        _running.discard(module.__name__)
    module.__class__ = ModuleType
