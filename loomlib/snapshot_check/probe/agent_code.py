"""The agent's own source: which files are its own, what a line assigns, and which names its functions use."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NAMES = (ast.Name, ast.Attribute)
_MOST_BYTES = 2_000_000


class AgentCode:
    """The files of the package without the libraries that it brings along.

    Args:
        root: The package's folder.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._prefixes = tuple({self.root + os.sep, os.path.realpath(self.root) + os.sep})
        self._libraries = _vendored(self.root)
        self._is_agent_code: dict[str, bool] = {}
        self._sources: dict[str, SourceFile | None] = {}

    def has(self, path: str) -> bool:
        """Return whether a file belongs to the agent itself."""
        is_own = self._is_agent_code.get(path)
        if is_own is None:
            inside = self.relative(path)
            top = inside.partition(os.sep)[0]
            is_own = self._is_agent_code[path] = bool(inside) and not (
                top.startswith(("_loom_", ".")) or top.removesuffix(".py") in self._libraries or "-packages" in inside
            )
        return is_own

    def relative(self, path: str) -> str:
        """Return a path relative to the package, or an empty text for one outside of it."""
        for prefix in self._prefixes:
            if path.startswith(prefix):
                return path[len(prefix) :]
        return ""

    def modules(self) -> dict[str, ModuleType]:
        """Return the agent's loaded modules by name."""
        loaded = list(sys.modules.items())
        return {
            name: module
            for name, module in loaded
            if isinstance(path := getattr(module, "__file__", None), str) and self.has(path)
        }

    def source(self, path: str) -> SourceFile | None:
        """Return a file of the agent, or None when it cannot be read."""
        if path not in self._sources:
            try:
                with open(path, "rb") as file:
                    self._sources[path] = SourceFile(ast.parse(file.read(_MOST_BYTES)))
            except (OSError, SyntaxError, ValueError, RecursionError):
                self._sources[path] = None
        return self._sources[path]

    def is_return(self, path: str, line: int) -> bool:
        """Return whether a line belongs to a return statement or the body of a lambda."""
        source = self.source(path)
        return source is not None and line in source.returning_lines


class SourceFile:
    """One parsed file."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree

    def assigned(self, line: int) -> list[tuple[str, ...]]:
        """Return the names, such as `("Settings", "id")`, that the module's or class's statement at a line assigns."""
        return [names for first, last, names in self._assignments if first <= line <= last]

    def line_of(self, names: tuple[str, ...]) -> int:
        """Return the line that assigns a name or defines it, 0 for none."""
        for first, _, assigned in reversed(self._assignments):
            if assigned == names:
                return first
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == names[0]:
                return node.lineno
        return 0

    def line_in_function(self, name: str) -> int:
        """Return a line of a function that assigns a name or an attribute of that name, 0 for none."""
        for function in self.functions():
            for node in _body_nodes(function):
                is_named = name in (getattr(node, "id", None), getattr(node, "attr", None))
                if is_named and isinstance(getattr(node, "ctx", None), ast.Store):
                    return int(getattr(node, "lineno", 0))
        return 0

    def attribute_line(self, name: str) -> int:
        """Return the line that assigns an attribute of that name, 0 for none."""
        nodes = (node for node in ast.walk(self._tree) if isinstance(node, ast.Attribute) and node.attr == name)
        return next((node.lineno for node in nodes if isinstance(node.ctx, ast.Store)), 0)

    def assigns(self, line: int, name: str) -> bool:
        """Return whether a line assigns a name, or an attribute of that name such as `self.NAME`."""
        return any(
            name in (getattr(node, "attr", None), getattr(node, "id", None))
            and isinstance(getattr(node, "ctx", None), ast.Store)
            for node in ast.walk(self._tree)
            if getattr(node, "lineno", 0) == line
        )

    def statement(self, line: int) -> ast.stmt | None:
        """Return the smallest statement of the module or a class at a line."""
        return next((node for node in self._statements if node.lineno <= line <= (node.end_lineno or 0)), None)

    def names_at(self, line: int) -> set[str]:
        """Return the names and attributes that the statement at a line uses."""
        statement = self.statement(line)
        nodes = ast.walk(statement) if statement is not None else ()
        return {node.id if isinstance(node, ast.Name) else node.attr for node in nodes if isinstance(node, _NAMES)}

    @cached_property
    def names_in_functions(self) -> set[str]:
        """Names and attributes that the bodies of functions use."""
        names: set[str] = set()
        for function in self.functions():
            for node in _body_nodes(function):
                if isinstance(node, ast.Name):
                    names.add(node.id)
                elif isinstance(node, ast.Attribute):
                    names.add(node.attr)
        return names

    @cached_property
    def returning_lines(self) -> set[int]:
        """The lines of return statements and lambdas."""
        lines: set[int] = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Return | ast.Lambda | ast.Yield):
                lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return lines

    def functions(self) -> Iterator[ast.AST]:
        """Yield all functions, also nested ones."""
        return (node for node in ast.walk(self._tree) if isinstance(node, _FUNCTIONS))

    def calls_in_functions(self) -> Iterator[tuple[ast.AST, tuple[str, ...], ast.Call]]:
        """Yield each call in a function with the dotted name that it calls."""
        for function in self.functions():
            for node in _body_nodes(function):
                if isinstance(node, ast.Call) and (names := _dotted(node.func)):
                    yield function, names, node

    def imports(self, function: ast.AST) -> dict[str, str]:
        """Return the names that a function imports itself, with the dotted names that they stand for."""
        names: dict[str, str] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    names[alias.asname or name] = name
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return names

    @cached_property
    def _statements(self) -> list[ast.stmt]:
        statements: list[ast.stmt] = []

        def visit(body: list[ast.stmt]) -> None:
            for node in body:
                for name in ("body", "orelse", "finalbody"):
                    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                        visit(getattr(node, name, []))
                for handler in getattr(node, "handlers", []):
                    visit(handler.body)
                statements.append(node)

        visit(self._tree.body)
        return statements

    @cached_property
    def _assignments(self) -> list[tuple[int, int, tuple[str, ...]]]:
        assignments: list[tuple[int, int, tuple[str, ...]]] = []

        def visit(body: list[ast.stmt], prefix: tuple[str, ...]) -> None:
            for node in body:
                span = node.lineno, node.end_lineno or node.lineno
                if isinstance(node, ast.Assign):
                    targets = node.targets
                elif isinstance(node, ast.AnnAssign | ast.AugAssign):
                    targets = [node.target]
                elif isinstance(node, ast.With | ast.AsyncWith):
                    targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
                    span = node.lineno, node.body[0].lineno - 1
                else:
                    targets = []
                for target in targets:
                    assignments.extend((*span, (*prefix, name)) for name in _target_names(target))
                for walrus in ast.walk(node) if not prefix and not hasattr(node, "body") else ():
                    if isinstance(walrus, ast.NamedExpr):
                        assignments.append((*span, (walrus.target.id,)))
                if isinstance(node, ast.ClassDef):
                    visit(node.body, (*prefix, node.name))
                elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    for name in ("body", "orelse", "finalbody"):
                        visit(getattr(node, name, []), prefix)
                    for handler in getattr(node, "handlers", []):
                        visit(handler.body, prefix)

        visit(self._tree.body, ())
        return assignments


def _target_names(target: ast.AST) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            yield node.id
            if isinstance(target, ast.Subscript | ast.Attribute):
                return


def _body_nodes(function: Any) -> Iterator[ast.AST]:
    body: Any = function.body
    statements: list[ast.AST] = body if isinstance(body, list) else [body]  # pyright: ignore[reportUnknownVariableType]
    for statement in statements:
        yield from ast.walk(statement)


def _dotted(node: ast.AST) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()


def _vendored(root: str) -> frozenset[str]:
    """Return the top-level names of the distributions that are installed in the package's folder."""
    names: set[str] = set()
    try:
        folders = [entry for entry in os.listdir(root) if entry.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return frozenset()
    for folder in folders:
        for file in ("RECORD", "top_level.txt"):
            try:
                with open(os.path.join(root, folder, file), encoding="utf-8") as lines:
                    for line in lines:
                        top = line.partition(",")[0].strip().partition("/")[0]
                        names.add(top.removesuffix(".py"))
            except (OSError, UnicodeDecodeError):
                continue
    return frozenset(names - {"", "..", "__pycache__"})
