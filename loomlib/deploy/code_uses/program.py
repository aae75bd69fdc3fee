"""The modules of an agent: the bindings of names in each scope, and the calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_SKIPPED: Final = frozenset({"tests", "test", "__pycache__", "node_modules", "site-packages", "venv", "build", "dist"})
_LARGEST_BYTES: Final = 1_000_000

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, kw_only=True)
class NameBinding:
    """One binding of a name.

    Attributes:
        kind: "value" of an expression, "item" of one (loops), "element" that is added to the named object, "import" of
            a qualified name, "function", "class", "parameter", or "opaque" for other constructs.
        node: The expression, function or class.
        scope: Where `node` is evaluated.
        qualified: The imported name.
    """

    kind: str
    node: ast.AST | None = None
    scope: CodeScope | None = None
    qualified: str = ""


@dataclass(eq=False, slots=True)
class CodeScope:
    """The names of a module, class or function.

    Attributes:
        module: The module.
        parent: The scope in which missing names are looked up.
        owner: The class that a method belongs to.
        names: The bindings of each name.
        attributes: For a class: the values that its methods assign to attributes of `self`.
        function: The function, if the scope is a function body.
    """

    module: CodeModule
    parent: CodeScope | None = None
    owner: CodeScope | None = None
    names: dict[str, list[NameBinding]] = field(default_factory=dict[str, list[NameBinding]])
    attributes: dict[str, list[NameBinding]] = field(default_factory=dict[str, list[NameBinding]])
    function: Function | None = None

    def bind(self, name: str, binding: NameBinding) -> None:
        """Add a binding of a name."""
        self.names.setdefault(name, []).append(binding)

    def find(self, name: str) -> list[NameBinding]:
        """Return the bindings of a name, from the innermost scope that has one."""
        scope: CodeScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return []


@dataclass(eq=False, slots=True)
class CodeModule:
    """A module of the agent.

    Attributes:
        name: Its name.
        file: Its file, relative to the folder.
        scope: Its names.
        calls: Its calls, each with the scope that contains it.
        attributes: Reads of an object's attribute `meta`, which boto3 clients have.
    """

    name: str
    file: str
    scope: CodeScope = field(init=False)
    calls: list[tuple[ast.Call, CodeScope]] = field(default_factory=list[tuple[ast.Call, CodeScope]])

    attributes: list[tuple[ast.Attribute, CodeScope]] = field(default_factory=list[tuple[ast.Attribute, CodeScope]])

    def __post_init__(self) -> None:
        self.scope = CodeScope(self)


@dataclass(frozen=True, slots=True)
class CodeProgram:
    """The modules of an agent by their names, and the files that could not be read, each with the reason."""

    modules: dict[str, CodeModule]
    unread: tuple[tuple[str, str], ...]
    others: tuple[str, ...]
    scopes: dict[int, CodeScope]
    """The inner scope of each function and class, by the identity of its node."""


def read_program(folder: Path) -> CodeProgram:
    """Read the Python files of an agent, without those of its tests.

    Args:
        folder: The agent's folder, or its only file.
    """
    modules: dict[str, CodeModule] = {}
    unread: list[tuple[str, str]] = []
    scopes: dict[int, CodeScope] = {}
    others: list[str] = []
    root = folder if folder.is_dir() else folder.parent
    for file in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        inside = file.relative_to(root)
        if not file.is_file() or not _is_read(inside) or not file.resolve().is_relative_to(root.resolve()):
            continue
        if file.suffix in (".js", ".mjs", ".ts"):
            others.append(inside.as_posix())
        if file.suffix != ".py":
            continue
        try:
            if file.stat().st_size > _LARGEST_BYTES:
                raise ValueError("it is larger than 1 MB")
            tree = ast.parse(file.read_bytes(), str(inside))
            parts = inside.with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            module = CodeModule(name, inside.as_posix())
            _Reader(module, scopes, is_package=parts[-1] == "__init__").read(tree.body, module.scope)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OSError) as error:
            unread.append((inside.as_posix(), str(error)))
            continue
        modules[name] = module
    return CodeProgram(modules, tuple(unread), tuple(others), scopes)


def _is_read(inside: Path) -> bool:
    name = inside.name
    is_test = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    return not is_test and not any(part in _SKIPPED or part.startswith(".") for part in inside.parts[:-1])


class _Reader:
    """Reads the statements of a module into its scopes."""

    def __init__(self, module: CodeModule, scopes: dict[int, CodeScope], *, is_package: bool) -> None:
        self._module, self._scopes, self._is_package = module, scopes, is_package

    def read(self, body: list[ast.stmt], scope: CodeScope) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: CodeScope) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    scope.bind(name, NameBinding(kind="import", qualified=alias.name if alias.asname else name))
            case ast.ImportFrom():
                source = self._source(node)
                for alias in node.names:
                    qualified = f"{source}.{alias.name}".lstrip(".")
                    scope.bind(alias.asname or alias.name, NameBinding(kind="import", qualified=qualified))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                scope.bind(node.name, NameBinding(kind="function", node=node, scope=scope))
                for expression in (*node.decorator_list, *_defaults(node.args)):
                    self._expression(expression, scope)
                self.read(node.body, self._function(node, scope))
            case ast.ClassDef():
                scope.bind(node.name, NameBinding(kind="class", node=node, scope=scope))
                for expression in (*node.decorator_list, *node.bases):
                    self._expression(expression, scope)
                inside = self._scopes[id(node)] = CodeScope(self._module, parent=scope)
                inside.owner = inside
                self.read(node.body, inside)
            case _:
                self._simple(node, scope)

    def _simple(self, node: ast.stmt, scope: CodeScope) -> None:
        match node:
            case ast.Assign():
                for target in node.targets:
                    self._assign(target, node.value, scope)
            case ast.AnnAssign():
                if node.value is not None:
                    self._assign(node.target, node.value, scope)
                if scope.owner is scope:  # a field: its value may come from the creator of the object
                    self._opaque(node.target, scope)
            case ast.AugAssign():
                self._opaque(node.target, scope)
            case ast.For() | ast.AsyncFor():
                self._assign(node.target, node.iter, scope, kind="item")
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    if item.optional_vars is not None:
                        self._assign(item.optional_vars, item.context_expr, scope)
            case _:
                pass
        for child in ast.iter_child_nodes(node):
            self._child(child, scope)

    def _child(self, child: ast.AST, scope: CodeScope) -> None:
        if isinstance(child, ast.stmt):
            self._statement(child, scope)
        elif isinstance(child, ast.expr):
            self._expression(child, scope)
        else:  # handlers of exceptions, cases of match, items of with, keywords
            for inner in ast.iter_child_nodes(child):
                self._child(inner, scope)

    def _expression(self, node: ast.AST, scope: CodeScope) -> None:
        if isinstance(node, ast.Lambda):
            self._expression(node.body, self._function(node, scope))
            return
        if isinstance(node, ast.Call):
            self._module.calls.append((node, scope))
        elif isinstance(node, ast.Attribute) and node.attr == "meta":
            self._module.attributes.append((node, scope))
        elif isinstance(node, ast.NamedExpr):
            self._assign(node.target, node.value, scope)
        elif isinstance(node, ast.comprehension):
            self._assign(node.target, node.iter, scope, kind="item")
        for child in ast.iter_child_nodes(node):
            self._expression(child, scope)

    def _function(self, node: Function, scope: CodeScope) -> CodeScope:
        is_method = scope.owner is scope and not isinstance(node, ast.Lambda)
        parent = scope.parent if scope.owner is scope else scope
        inside = self._scopes[id(node)] = CodeScope(
            self._module, parent=parent, owner=scope if is_method else scope.owner, function=node
        )
        for argument in _parameters(node.args):
            inside.bind(argument.arg, NameBinding(kind="parameter", node=node, scope=scope, qualified=argument.arg))
        for rest in (node.args.vararg, node.args.kwarg):
            if rest is not None:
                inside.bind(rest.arg, NameBinding(kind="opaque"))
        return inside

    def _assign(self, target: ast.expr, value: ast.expr, scope: CodeScope, kind: str = "value") -> None:
        match target:
            case ast.Name():
                scope.bind(target.id, NameBinding(kind=kind, node=value, scope=scope))
            case ast.Attribute(value=ast.Name(id="self" | "cls")) if scope.owner is not None:
                binding = NameBinding(kind=kind, node=value, scope=scope)
                scope.owner.attributes.setdefault(target.attr, []).append(binding)
            case ast.Subscript(value=ast.Name() | ast.Attribute()):
                self._assign(target.value, value, scope, kind="element")
            case ast.Tuple() | ast.List():
                pairs = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
                for index, item in enumerate(target.elts):
                    if pairs and kind == "value" and isinstance(value, ast.Tuple | ast.List):
                        self._assign(item, value.elts[index], scope)
                    else:
                        self._opaque(item, scope)
            case _:
                pass

    def _opaque(self, target: ast.expr, scope: CodeScope) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                scope.bind(node.id, NameBinding(kind="opaque"))

    def _source(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self._module.name.split(".") if self._module.name else []
        keep = len(parts) - node.level + (1 if self._is_package else 0)
        return ".".join([*parts[: max(keep, 0)], *([node.module] if node.module else [])])


def _parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)


def _defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    yield from arguments.defaults
    yield from (default for default in arguments.kw_defaults if default is not None)


def default_of(arguments: ast.arguments, positional: list[str], name: str) -> ast.expr | None:
    """Return the default of a parameter; None without one.

    Args:
        arguments: The function's parameters.
        positional: The names of the positional parameters.
        name: The parameter.
    """
    if name in positional:
        behind = positional.index(name) - len(positional) + len(arguments.defaults)
        return arguments.defaults[behind] if behind >= 0 else None
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if argument.arg == name:
            return default
    return None


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of nested functions."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield child
            yield from own_nodes(child)


def parsed_annotation(annotation: ast.expr) -> ast.AST:
    """Return an annotation as an expression, even if it is written as a string."""
    if not isinstance(annotation, ast.Constant) or not isinstance(annotation.value, str):
        return annotation
    try:
        return ast.parse(annotation.value, mode="eval")
    except SyntaxError:
        return annotation
