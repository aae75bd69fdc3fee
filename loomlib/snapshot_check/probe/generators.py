"""Random number generators whose state every restored session would share."""

from __future__ import annotations

import ast
import hashlib
import importlib
import random
import sys
from typing import Any, cast

from .agent_code import AgentCode
from .findings import Findings
from .objects import Node, Objects
from .sources import SEED
from .tracing import CallTracer, SourceLine

_NUMPY = frozenset({"Generator", "RandomState", "PCG64", "MT19937", "Philox", "SFC64", "PCG64DXSM"})
_UNCHANGING = frozenset({"seed", "getstate", "setstate", "get_state", "set_state", "default_rng"})


class Generators:
    """Finds generators that the agent keeps, and functions that draw from a library's own one.

    Args:
        code: The agent's code.
        tracer: What was traced.
        objects: The reachable objects.
    """

    def __init__(self, code: AgentCode, tracer: CallTracer, objects: Objects) -> None:
        self._code, self._tracer, self._objects = code, tracer, objects
        self._generators: dict[str, tuple[Any, SourceLine, str, str]] = {}
        self._examined_ids: set[int] = set()

    def examine(self, node: Node, line: SourceLine) -> None:
        """Keep an object if it is a generator."""
        if (
            node.is_own
            and is_generator(node.value)
            and id(node.value) not in self._examined_ids
            and not _is_shared(node.value)
        ):
            self._examined_ids.add(id(node.value))
            kind = cast("Any", type(node.value))
            name = f"{kind.__module__}.{kind.__name__}"
            self._generators[str(len(self._generators))] = (node.value, line, node.path(), name)

    def examine_code(self) -> None:
        """Find functions of the agent that draw from the shared generators of `random` and `numpy.random`."""
        uses: list[tuple[Any, SourceLine, str]] = []
        reseeded: set[int] = set()
        for module in self._objects.modules.values():
            path = str(module.__file__)
            source = self._code.source(path)
            if source is None:
                continue
            for function, names, call in source.calls_in_functions():
                target = self._resolve(vars(module), names, source.imports(function))
                generator = getattr(target, "__self__", None)
                if generator is None or not is_generator(generator) or id(generator) in self._examined_ids:
                    continue
                if names[-1] == "seed" or getattr(target, "__name__", "") == "seed":
                    if not call.args or not isinstance(call.args[0], ast.Constant):
                        reseeded.add(id(generator))
                elif getattr(target, "__name__", "") not in _UNCHANGING and not self._only_at_start(path, function):
                    uses.append((generator, (path, call.lineno), ".".join(names)))
        for generator, line, name in uses:
            if id(generator) not in reseeded:
                self._generators[str(len(self._generators))] = (generator, line, "", name)
        if id(_shared()) in {id(generator) for generator, _, _ in uses} - reseeded:
            for event in self._tracer.events.values():
                if event.source.kind == SEED and event.is_direct:
                    self._generators[str(len(self._generators))] = (_shared(), event.line, "", "random.seed")

    def draws(self) -> dict[str, str]:
        """Return a digest of the next numbers of each generator; this advances them."""
        return {key: _draw(generator) for key, (generator, *_) in self._generators.items()}

    def report(self, findings: Findings, draws: list[dict[str, str]]) -> None:
        """Report the generators that drew the same numbers in all copies."""
        for key, (_, line, path, name) in self._generators.items():
            if len({copy.get(key, "") for copy in draws}) == 1:
                findings.add("random", line, path=path, made_by=name, detail="both copies draw the same numbers")

    def _only_at_start(self, path: str, function: ast.AST) -> bool:
        """Return whether a function ran at start-up, and no function refers to it."""
        name = getattr(function, "name", "")
        if not name or getattr(function, "decorator_list", None) or name in self._objects.used:
            return False
        first, last = cast("Any", function).lineno, cast("Any", function).end_lineno or 0
        return any(
            event.line[0] == path and first <= event.line[1] <= last and event.root is not None
            for event in self._tracer.events.values()
        )

    @staticmethod
    def _resolve(names: dict[str, Any], dotted: tuple[str, ...], imported: dict[str, str]) -> Any:
        if dotted[0] in imported:
            path = imported[dotted[0]]
            if path.partition(".")[0] not in ("random", "numpy"):
                return None
            value: Any = _import(path)
        elif dotted[0] in names:
            value = names[dotted[0]]
        else:
            return None
        for name in dotted[1:]:
            if not (isinstance(value, type(sys)) or is_generator(value)):
                return None
            value = getattr(value, name, None)
        return value


def _shared() -> random.Random:
    """Return the generator of the functions of `random`."""
    return random.random.__self__  # type: ignore[attr-defined]


def _is_shared(generator: Any) -> bool:
    """Return whether a generator is that of the functions of `random` or `numpy.random`."""
    numpy = sys.modules.get("numpy.random.mtrand")
    return generator is _shared() or (numpy is not None and generator is getattr(numpy, "_rand", None))


def is_generator(value: Any) -> bool:
    """Return whether a value draws numbers that its state determines."""
    if isinstance(value, random.Random):
        return not isinstance(value, random.SystemRandom)
    kind = cast("Any", type(value))
    return (kind.__name__ in _NUMPY and kind.__module__.startswith("numpy.random")) or (
        kind.__name__ == "Generator" and kind.__module__.partition(".")[0] == "torch"
    )


def _draw(generator: Any) -> str:
    try:
        if isinstance(generator, random.Random):
            state: object = [generator.getrandbits(64) for _ in range(4)]
        elif hasattr(generator, "bytes"):
            state = generator.bytes(32)
        elif hasattr(generator, "random_raw"):
            state = [int(generator.random_raw()) for _ in range(4)]
        else:
            state = bytes(generator.get_state().tolist())
    except Exception as error:  # noqa: BLE001 (foreign code)
        state = repr(error)
    return hashlib.sha256(repr(state).encode()).hexdigest()


def _import(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ImportError:
        try:
            return getattr(importlib.import_module(module), name, None) if module else None
        except ImportError:
            return None
