"""Evaluates the expressions of an agent's code that decide which resource of AWS a call is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from .code_values import (
    Arguments,
    AwsClient,
    AwsSession,
    BoundOperation,
    Entries,
    Items,
    OwnFunction,
    OwnObject,
    SdkObject,
    Value,
    texts_of,
)
from .program import CodeModule, CodeProgram, CodeScope, Function, NameBinding
from .sdk_classes import SdkCallable, find_sdk_callable
from .values import COMPUTED, CodeText, VariableRead

_MOST_VALUES: Final = 16
_MOST_NAMES: Final = 8
_MOST_CALL_ROUNDS: Final = 4
_MOST_ROUNDS: Final = 8
_DEEPEST: Final = 80
"""Expressions inside one another; each takes about eight frames of the interpreter's stack."""
_UNCHANGED: Final = frozenset({"contextlib.closing", "typing.cast", "str", "contextlib.aclosing", "json.dumps"})
_SESSIONS: Final = frozenset({"boto3.Session", "boto3.session.Session", "aioboto3.Session"})
_BOTO3: Final = frozenset({"boto3", "aioboto3"})


class ExpressionEvaluator:
    """Evaluates expressions of a program to all values that they can have.

    Args:
        program: The modules.
    """

    def __init__(self, program: CodeProgram) -> None:
        self._program = program
        self._running: set[tuple[int, int]] = set()
        self._known: dict[tuple[int, int], tuple[Value, ...]] = {}
        self._round: dict[tuple[int, int], tuple[Value, ...]] = {}
        self._before: dict[tuple[int, int], tuple[Value, ...]] = {}
        self._is_circular = False
        self._nodes: list[ast.AST] = []  # keeps alive what `_known` names by identity
        self._sites: dict[int, list[tuple[ast.Call, CodeScope]]] = {}
        self._find_call_sites()

    def values(self, node: ast.AST, scope: CodeScope) -> tuple[Value, ...]:
        """Return the values of an expression; `COMPUTED` stands for those that are not known.

        Args:
            node: The expression.
            scope: Where it stands.
        """
        key = (id(node), id(scope))
        if key in self._known:
            return self._known[key]
        if self._running:
            return self._in_round(key, node, scope)
        # Values in a circle depend on each other: they are evaluated again until nothing is added.
        self._before = {}
        for _ in range(_MOST_ROUNDS):
            self._round, self._is_circular = {}, False
            self._in_round(key, node, scope)
            if not self._is_circular or self._round == self._before:
                break
            self._before = self._round
        self._known.update(self._round)
        return self._known[key]

    def _in_round(self, key: tuple[int, int], node: ast.AST, scope: CodeScope) -> tuple[Value, ...]:
        """Return the values of an expression as far as this round and the one before know them."""
        if key in self._round:
            return self._round[key]
        if key in self._running or len(self._running) > _DEEPEST:
            self._is_circular = True
            return self._before.get(key, ())
        self._running.add(key)
        try:
            found = _distinct(self._evaluate(node, scope))
        finally:
            self._running.discard(key)
        self._round[key] = found
        self._nodes.append(node)
        return found

    def qualified(self, node: ast.AST, scope: CodeScope, *, depth: int = 0) -> str:
        """Return the qualified name of an imported object, such as `boto3.client`; "" for anything else.

        Args:
            node: The expression.
            scope: Where it stands.
            depth: How many other names of the object were followed.
        """
        if isinstance(node, ast.Attribute):
            start = self.qualified(node.value, scope, depth=depth)
            return f"{start}.{node.attr}" if start else ""
        if isinstance(node, ast.Name):
            found = scope.find(node.id)
            if not found and node.id in ("str", "dict", "getattr", "list", "tuple"):
                return node.id
            if imported := [binding.qualified for binding in found if binding.kind == "import"]:
                return imported[0]
            if len(found) == 1 and found[0].kind == "value" and found[0].scope is not None and depth < _MOST_NAMES:
                other = found[0].node  # another name of the object: make = boto3.client
                if isinstance(other, ast.Name | ast.Attribute):
                    return self.qualified(other, found[0].scope, depth=depth + 1)
        return ""

    def arguments(self, call: ast.Call, scope: CodeScope) -> Arguments:
        """Return the arguments of a call."""
        found = Arguments()
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                found.is_partial = True
            else:
                found.positional.append(self.values(argument, scope))
        for keyword in call.keywords:
            values = self.values(keyword.value, scope)
            if keyword.arg is not None:
                found.named[keyword.arg] = values or (COMPUTED,)
            elif len(values) == 1 and isinstance(values[0], Entries):
                found.named.update(dict(values[0].items))
            else:
                found.is_partial = True
        return found

    def _evaluate(self, node: ast.AST, scope: CodeScope) -> Iterator[Value]:
        match node:
            case ast.Constant(value=str() as text):
                yield CodeText(parts=(text,))
            case ast.Constant(value=None):
                return
            case ast.JoinedStr():
                yield self._joined(node.values, scope)
            case ast.BinOp(op=ast.Add()):
                yield self._joined([node.left, node.right], scope)
            case ast.Name() | ast.Attribute():
                yield from self._named(node, scope)
            case ast.Subscript():
                yield from self._subscript(node, scope)
            case ast.Call():
                yield from self._call(node, scope)
            case ast.IfExp():
                yield from (*self.values(node.body, scope), *self.values(node.orelse, scope))
            case ast.BoolOp():
                yield from self._either(node, scope)
            case ast.Await() | ast.NamedExpr() | ast.Starred():
                yield from self.values(node.value, scope)
            case ast.Dict():
                yield self._entries(node, scope)
            case ast.Lambda():
                yield OwnFunction(node)
            case ast.List() | ast.Tuple() | ast.Set():
                yield Items(tuple(value for item in node.elts for value in self.values(item, scope)))
            case _:
                yield COMPUTED

    def _joined(self, nodes: Sequence[ast.AST], scope: CodeScope) -> CodeText:
        parts: list[str | VariableRead | None] = []
        for node in nodes:
            inner = node.value if isinstance(node, ast.FormattedValue) else node
            values = self.values(inner, scope)
            only = values[0] if len(values) == 1 else COMPUTED
            parts += only.parts if isinstance(only, CodeText) else (None,)
        return CodeText(parts=tuple(parts))

    def _either(self, node: ast.BoolOp, scope: CodeScope) -> Iterator[Value]:
        alternatives = [self.values(value, scope) for value in node.values]
        first, rest = alternatives[0], alternatives[1:]
        if isinstance(node.op, ast.Or) and len(first) == 1 and len(rest) == 1 and len(rest[0]) == 1:
            read, other = first[0], rest[0][0]
            if isinstance(read, CodeText) and isinstance(other, CodeText) and len(read.parts) == 1 == len(other.parts):
                part, default = read.parts[0], other.parts[0]
                if isinstance(part, VariableRead) and not part.default and isinstance(default, str):
                    yield CodeText(parts=(VariableRead(name=part.name, default=default),))
                    return
        for values in alternatives:
            yield from (_optional(value) for value in values) if isinstance(node.op, ast.Or) else values

    def _entries(self, node: ast.Dict, scope: CodeScope) -> Value:
        items: list[tuple[str, tuple[Value, ...]]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                merged = self.values(value, scope)
                if len(merged) != 1 or not isinstance(merged[0], Entries):
                    return COMPUTED
                items += merged[0].items
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                items.append((key.value, self.values(value, scope)))
        return Entries(tuple(items))

    def _subscript(self, node: ast.Subscript, scope: CodeScope) -> Iterator[Value]:
        keys = self.values(node.slice, scope)
        key = keys[0].parts[0] if len(keys) == 1 and isinstance(keys[0], CodeText) and len(keys[0].parts) == 1 else None
        if self.qualified(node.value, scope) == "os.environ":
            read = CodeText(parts=(VariableRead(name=key, is_required=True),)) if isinstance(key, str) else COMPUTED
            yield read
            return
        values = self.values(node.value, scope)
        has_elements = any(isinstance(value, Items) for value in values)
        for value in values:
            if isinstance(value, Entries):
                chosen = dict(value.items)
                if isinstance(key, str) and key in chosen:
                    yield from chosen[key]
                elif not has_elements:  # an empty dictionary that something is put into has nothing itself
                    yield COMPUTED
            elif isinstance(value, Items) and not isinstance(node.slice, ast.Slice):
                yield from value.items  # any of them
            else:
                yield COMPUTED

    def _named(self, node: ast.Name | ast.Attribute, scope: CodeScope) -> Iterator[Value]:
        if isinstance(node, ast.Name):
            found = scope.find(node.id)
            for binding in found:
                yield from self._bound(binding)
            if not found:
                yield COMPUTED
            return
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and scope.owner is not None:
            owner = scope.owner
            found = [*owner.attributes.get(node.attr, ()), *owner.names.get(node.attr, ())]
            for binding in found:
                yield from self._bound(binding)
            if found:
                return
        if qualified := self.qualified(node, scope):
            yield from self._imported(qualified)
            return
        for value in self.values(node.value, scope):
            if isinstance(value, AwsClient):
                yield BoundOperation(value, node.attr, "method")
            elif isinstance(value, OwnObject):
                found = [*value.scope.attributes.get(node.attr, ()), *value.scope.names.get(node.attr, ())]
                for binding in found:
                    yield from self._bound(binding)
                if not found:
                    yield COMPUTED
            else:
                yield COMPUTED

    def _bound(self, binding: NameBinding) -> Iterator[Value]:
        if binding.kind == "import":
            yield from self._imported(binding.qualified)
        elif binding.kind == "parameter" and binding.node is not None and binding.scope is not None:
            yield from self._parameter(binding.node, binding.qualified, binding.scope)
        elif binding.kind == "function" and isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield OwnFunction(binding.node)
        elif binding.kind == "element" and binding.node is not None and binding.scope is not None:
            yield Items(self.values(binding.node, binding.scope))
        elif binding.kind in ("value", "item") and binding.node is not None and binding.scope is not None:
            for value in self.values(binding.node, binding.scope):
                if binding.kind == "value":
                    yield value
                else:
                    yield from value.items if isinstance(value, Items) else (COMPUTED,)
        else:
            yield COMPUTED

    def _imported(self, qualified: str) -> Iterator[Value]:
        found = list(self._bindings_of(qualified))
        for binding in found:
            yield from self._bound(binding)
        if not found:
            yield COMPUTED

    def _bindings_of(self, qualified: str) -> list[NameBinding]:
        """Return the meanings of a name of one of the agent's own modules."""
        module, _, name = qualified.rpartition(".")
        own = self._program.modules.get(module)
        return own.scope.names.get(name, []) if own is not None else []

    def _parameter(self, function: ast.AST, name: str, scope: CodeScope) -> Iterator[Value]:
        """Yield what the calls in the agent's own code give a parameter, and its default."""
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield COMPUTED
            return
        arguments = function.args
        positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        index = positional.index(name) if name in positional else -1
        if scope.owner is scope and index >= 0 and positional[:1] in (["self"], ["cls"]):
            index -= 1  # the object is not among the arguments of a call
        if annotated := list(self._annotated(arguments, name, scope)):
            yield from annotated
            return
        default = _default(arguments, positional, name)
        sites = self._sites.get(id(function), [])
        has_default_use = not sites
        for call, outside in sites:
            given = self.arguments(call, outside)
            values = given.get(name, index) if index >= 0 else given.named.get(name, ())
            if values:
                yield from values
            elif given.is_partial:
                yield COMPUTED
            else:
                has_default_use = True
        if has_default_use:
            if default is None:
                yield COMPUTED
            else:
                yield from self.values(default, scope)

    def _annotated(self, arguments: ast.arguments, name: str, scope: CodeScope) -> Iterator[Value]:
        """Yield objects of the agent's own classes that a parameter's annotation names."""
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.arg != name or argument.annotation is None:
                continue
            for node in ast.walk(_parsed(argument.annotation)):
                if isinstance(node, ast.Name):
                    for binding in self._named_bindings(node, scope):
                        if binding.kind == "class":
                            yield OwnObject(self._program.scopes[id(binding.node)])

    def _find_call_sites(self) -> None:
        """Find the calls of each of the agent's own functions.

        Which method a call is of depends on the object, and which object a parameter is on the calls: it is repeated
        until nothing more is found.
        """
        seen: set[tuple[int, int]] = set()
        for _ in range(_MOST_CALL_ROUNDS):
            before = len(seen)
            for module in self._program.modules.values():
                for call, scope in module.calls:
                    for function in self.functions(call.func, scope):
                        if (id(function), id(call)) not in seen:
                            seen.add((id(function), id(call)))
                            self._sites.setdefault(id(function), []).append((call, scope))
            self._known.clear()  # what was evaluated knew fewer calls
            if len(seen) == before:
                return

    def functions(self, node: ast.AST, scope: CodeScope) -> Iterator[Function]:
        """Yield the functions of the agent's own code that a callee names; of a class, its `__init__`."""
        for binding in self._named_bindings(node, scope):
            if binding.kind == "function" and isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield binding.node
            elif binding.kind == "class" and binding.node is not None:
                for inner in self._program.scopes[id(binding.node)].names.get("__init__", []):
                    if isinstance(inner.node, ast.FunctionDef):
                        yield inner.node

    def _named_bindings(self, node: ast.AST, scope: CodeScope) -> list[NameBinding]:
        """Return what a callee names in the agent's own code."""
        bindings: list[NameBinding] = []
        if isinstance(node, ast.Name):
            bindings = scope.find(node.id)
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and scope.owner is not None:
                bindings = scope.owner.names.get(node.attr, [])
            elif qualified := self.qualified(node, scope):
                bindings = self._bindings_of(qualified)
            else:
                for value in self.values(node.value, scope):
                    if isinstance(value, OwnObject):
                        bindings = [*bindings, *value.scope.names.get(node.attr, [])]
        imported = [binding for binding in bindings if binding.kind == "import"]
        return [*bindings, *(other for binding in imported for other in self._bindings_of(binding.qualified))]

    def _call(self, node: ast.Call, scope: CodeScope) -> Iterator[Value]:
        qualified = self.qualified(node.func, scope)
        if qualified and (made := self._of_library(qualified, node, scope)) is not None:
            yield from made
            return
        classes = [binding for binding in self._named_bindings(node.func, scope) if binding.kind == "class"]
        if classes:
            for binding in classes:
                yield OwnObject(self._program.scopes[id(binding.node)])
            return
        own = [function for function in self.functions(node.func, scope) if not isinstance(function, ast.Lambda)]
        if own and not any(function.name == "__init__" for function in own):
            for function in own:
                yield from self._returned(function)
            return
        if isinstance(node.func, ast.Attribute):
            yield from self._method(node, node.func, scope)
            return
        for value in self.values(node.func, scope):
            if isinstance(value, OwnFunction):
                yield from self._returned(value.node)
            else:
                yield COMPUTED

    def _of_library(self, qualified: str, node: ast.Call, scope: CodeScope) -> list[Value] | None:
        """Return what a call of a known function of a library returns; None if it is not known."""
        arguments = self.arguments(node, scope)
        if qualified in ("os.getenv", "os.environ.get", "os.environ.setdefault"):
            return [_variable(arguments)]
        if qualified in _SESSIONS:
            return [AwsSession()]
        package, _, name = qualified.rpartition(".")
        if package in _BOTO3 and name in ("client", "resource"):
            return [*self._clients(arguments, name, node, scope.module)]
        if qualified in _UNCHANGED:
            return [*(arguments.positional[-1] if arguments.positional else ())]
        if qualified == "dict":
            return [Entries(tuple(arguments.named.items()))] if not arguments.is_partial else [COMPUTED]
        if qualified == "getattr":
            return [*_attribute(arguments)]
        if (sdk := find_sdk_callable(qualified)) is not None:
            return [_sdk_object(sdk, arguments)]
        return None

    def _clients(self, arguments: Arguments, kind: str, node: ast.AST, module: CodeModule) -> Iterator[Value]:
        place = (module.file, getattr(node, "lineno", 0))
        for value in arguments.get("service_name", 0) or (COMPUTED,):
            text = value.resolved({}) if isinstance(value, CodeText) else None
            yield AwsClient(text or "", place, is_resource=kind == "resource")

    def _method(self, node: ast.Call, callee: ast.Attribute, scope: CodeScope) -> Iterator[Value]:
        arguments = self.arguments(node, scope)
        for value in self.values(callee.value, scope):
            if isinstance(value, AwsSession) and callee.attr in ("client", "resource"):
                yield from self._clients(arguments, callee.attr, node, scope.module)
            elif isinstance(value, AwsClient) and callee.attr in ("get_paginator", "get_waiter"):
                names = arguments.get("operation_name", 0) or arguments.get("waiter_name", 0) or (COMPUTED,)
                for name in names:
                    text = name.resolved({}) if isinstance(name, CodeText) else None
                    yield BoundOperation(value, text or "", callee.attr.removeprefix("get_"))
            elif isinstance(value, AwsClient) and value.is_resource and callee.attr[:1].isupper():
                given = [values[0] if len(values) == 1 else COMPUTED for values in arguments.positional]
                given += [values[0] if len(values) == 1 else COMPUTED for values in arguments.named.values()]
                texts = [text if isinstance(text, CodeText) else COMPUTED for text in given]
                names = (f"{callee.attr}.{index}" for index in range(len(texts)))
                bound = (*value.bound, *zip(names, texts, strict=True))
                yield AwsClient(value.service, value.place, True, (*value.path, callee.attr), bound)
            elif isinstance(value, SdkObject) and callee.attr in value.sdk.makes:
                yield value
            elif isinstance(value, CodeText) and callee.attr in ("strip", "rstrip", "lstrip", "format"):
                yield value if callee.attr != "format" else COMPUTED
            elif isinstance(value, Entries) and callee.attr == "get":
                yield from self._got(value, arguments)
            else:
                yield COMPUTED

    def _got(self, value: Entries, arguments: Arguments) -> Iterator[Value]:
        keys = arguments.positional[0] if arguments.positional else ()
        name = keys[0].resolved({}) if len(keys) == 1 and isinstance(keys[0], CodeText) else None
        known = dict(value.items)
        if name in known:
            yield from known[name]
        else:  # any of them, or the default
            for values in (*(known.values() if name is None else ()), *arguments.positional[1:]):
                yield from values

    def _returned(self, function: Function) -> Iterator[Value]:
        inside = self._program.scopes[id(function)]
        if isinstance(function, ast.Lambda):
            yield from self.values(function.body, inside)
            return
        for node in _own_nodes(function):
            if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                yield from self.values(node.value, inside)


def _parsed(annotation: ast.expr) -> ast.AST:
    """Return an annotation as an expression, also when it is written as a text."""
    if not isinstance(annotation, ast.Constant) or not isinstance(annotation.value, str):
        return annotation
    try:
        return ast.parse(annotation.value, mode="eval")
    except SyntaxError:
        return annotation


def _optional(value: Value) -> Value:
    """Return a value with "" for variables without a value: another one is used in its place."""
    if not isinstance(value, CodeText):
        return value
    parts = (
        VariableRead(name=part.name, default="")
        if isinstance(part, VariableRead) and part.default is None and not part.is_required
        else part
        for part in value.parts
    )
    return CodeText(parts=tuple(parts))


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of the functions inside it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield child
            yield from _own_nodes(child)


def _default(arguments: ast.arguments, positional: list[str], name: str) -> ast.expr | None:
    if name in positional:
        behind = positional.index(name) - len(positional) + len(arguments.defaults)
        return arguments.defaults[behind] if behind >= 0 else None
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if argument.arg == name:
            return default
    return None


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
    given: dict[str, tuple[CodeText, ...]] = {}
    for index, values in enumerate(arguments.positional[: len(sdk.positional)]):
        given[sdk.positional[index]] = texts_of(values)
    for name, values in arguments.named.items():
        if name in sdk.parameters:
            given[name] = texts_of(values)
    return SdkObject(sdk, tuple((sdk.parameters[name], texts) for name, texts in given.items() if texts))


def _distinct(values: Iterator[Value]) -> tuple[Value, ...]:
    found = tuple(dict.fromkeys(values))
    return found if len(found) <= _MOST_VALUES else (*found[:_MOST_VALUES], COMPUTED)
