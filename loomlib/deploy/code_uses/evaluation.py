"""Evaluates the expressions of an agent's code that determine which AWS resource a call uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from .code_values import (
    Arguments,
    AwsClient,
    BoundOperation,
    CodeTooLargeError,
    Entries,
    Items,
    OwnFunction,
    OwnObject,
    Value,
    distinct_values,
    optional_value,
    read_with_default,
)
from .library_calls import library_values, method_values
from .program import (
    CodeProgram,
    CodeScope,
    Function,
    NameBinding,
    default_of,
    own_nodes,
    parsed_annotation,
)
from .qualified_names import qualified_name
from .values import COMPUTED, CodeText, VariableRead

_MOST_CALL_ROUNDS: Final = 4
_MOST_ROUNDS: Final = 8
_DEEPEST: Final = 80
"""Deepest nesting of expressions; each level takes about eight frames of the interpreter's stack."""
_MOST_PARTS: Final = 64
"""Largest number of parts of one text: a text that is repeatedly concatenated with itself doubles them each time."""
_MOST_STEPS: Final = 500_000
"""Largest number of name bindings that are followed in one program: a few seconds, far more than agents need."""


class ExpressionEvaluator:
    """Evaluates expressions of a program to the set of their possible values.

    Args:
        program: The modules.
    """

    def __init__(self, program: CodeProgram) -> None:
        self._program = program
        self._running: set[tuple[int, int]] = set()
        self._values_by_place: dict[tuple[int, int], tuple[Value, ...]] = {}
        self._round: dict[tuple[int, int], tuple[Value, ...]] = {}
        self._before: dict[tuple[int, int], tuple[Value, ...]] = {}
        self._is_circular = False
        self._steps = 0
        self._nodes: list[ast.AST] = []  # keeps the objects alive that `_values_by_place` refers to by identity
        self._sites: dict[int, list[tuple[ast.Call, CodeScope]]] = {}
        self._find_call_sites()

    def values(self, node: ast.AST, scope: CodeScope) -> tuple[Value, ...]:
        """Return the values of an expression; `COMPUTED` represents unknown values.

        Args:
            node: The expression.
            scope: The scope that contains it.
        """
        key = (id(node), id(scope))
        if key in self._values_by_place:
            return self._values_by_place[key]
        if self._running:
            return self._in_round(key, node, scope)
        # Values in a cycle depend on each other: they are evaluated again until no value is added.
        self._before = {}
        for _ in range(_MOST_ROUNDS):
            self._round, self._is_circular = {}, False
            self._in_round(key, node, scope)
            if not self._is_circular or self._round == self._before:
                break
            self._before = self._round
        self._values_by_place.update(self._round)
        return self._values_by_place[key]

    def _in_round(self, key: tuple[int, int], node: ast.AST, scope: CodeScope) -> tuple[Value, ...]:
        """Return the values of an expression that this round and the previous one have found."""
        if key in self._round:
            return self._round[key]
        if key in self._running or len(self._running) > _DEEPEST:
            self._is_circular = True
            return self._before.get(key, ())
        self._running.add(key)
        try:
            values = distinct_values(self._evaluate(node, scope))
        finally:
            self._running.discard(key)
        self._round[key] = values
        self._nodes.append(node)
        return values

    def arguments(self, call: ast.Call, scope: CodeScope) -> Arguments:
        """Return the arguments of a call."""
        arguments = Arguments()
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                arguments.is_partial = True
            else:
                arguments.positional.append(self.values(argument, scope))
        for keyword in call.keywords:
            values = self.values(keyword.value, scope)
            if keyword.arg is not None:
                arguments.named[keyword.arg] = values or (COMPUTED,)
            elif len(values) == 1 and isinstance(values[0], Entries):
                arguments.named.update(dict(values[0].items))
            else:
                arguments.is_partial = True
        return arguments

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
                yield from self._values_of_name(node, scope)
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
            if len(parts) > _MOST_PARTS:
                return COMPUTED
        return CodeText(parts=tuple(parts))

    def _either(self, node: ast.BoolOp, scope: CodeScope) -> Iterator[Value]:
        alternatives = [self.values(value, scope) for value in node.values]
        first, rest = alternatives[0], alternatives[1:]
        is_default = isinstance(node.op, ast.Or) and len(first) == 1 and len(rest) == 1 and len(rest[0]) == 1
        if is_default and (read := read_with_default(first[0], rest[0][0])) is not None:
            yield read
            return
        for values in alternatives:
            yield from (optional_value(value) for value in values) if isinstance(node.op, ast.Or) else values

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
        if qualified_name(node.value, scope) == "os.environ":
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
                elif not has_elements:  # an empty dictionary that is filled later has no values itself
                    yield COMPUTED
            elif isinstance(value, Items) and not isinstance(node.slice, ast.Slice):
                yield from value.items  # any of them
            else:
                yield COMPUTED

    def _values_of_name(self, node: ast.Name | ast.Attribute, scope: CodeScope) -> Iterator[Value]:
        if isinstance(node, ast.Name):
            bindings = scope.find(node.id)
            for binding in bindings:
                yield from self._bound(binding)
            if not bindings:
                yield COMPUTED
            return
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and scope.owner is not None:
            owner = scope.owner
            bindings = [*owner.attributes.get(node.attr, ()), *owner.names.get(node.attr, ())]
            for binding in bindings:
                yield from self._bound(binding)
            if bindings:
                return
        if qualified := qualified_name(node, scope):
            yield from self._imported(qualified)
            return
        for value in self.values(node.value, scope):
            if isinstance(value, AwsClient):
                yield BoundOperation(value, node.attr, "method")
            elif isinstance(value, OwnObject):
                bindings = [*value.scope.attributes.get(node.attr, ()), *value.scope.names.get(node.attr, ())]
                for binding in bindings:
                    yield from self._bound(binding)
                if not bindings:
                    yield COMPUTED
            else:
                yield COMPUTED

    def _bound(self, binding: NameBinding) -> Iterator[Value]:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise CodeTooLargeError
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
        bindings = list(self._bindings_of(qualified))
        for binding in bindings:
            yield from self._bound(binding)
        if not bindings:
            yield COMPUTED

    def _bindings_of(self, qualified: str) -> list[NameBinding]:
        """Return the bindings of a name in one of the agent's own modules."""
        module, _, name = qualified.rpartition(".")
        own = self._program.modules.get(module)
        return own.scope.names.get(name, []) if own is not None else []

    def _parameter(self, function: ast.AST, name: str, scope: CodeScope) -> Iterator[Value]:
        """Yield the values that calls in the agent's own code pass for a parameter, and its default."""
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
        default = default_of(arguments, positional, name)
        sites = self._sites.get(id(function), [])
        has_default_use = not sites
        for call, outside in sites:
            call_arguments = self.arguments(call, outside)
            values = call_arguments.get(name, index) if index >= 0 else call_arguments.named.get(name, ())
            if values:
                yield from values
            elif call_arguments.is_partial:
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
            for node in ast.walk(parsed_annotation(argument.annotation)):
                if isinstance(node, ast.Name):
                    for binding in self._named_bindings(node, scope):
                        if binding.kind == "class":
                            yield OwnObject(self._program.scopes[id(binding.node)])

    def _find_call_sites(self) -> None:
        """Find the calls of each of the agent's own functions.

        The called method depends on the object, and the object in a parameter depends on the calls: the search is
        repeated until it finds no further calls.
        """
        site_ids: set[tuple[int, int]] = set()
        for _ in range(_MOST_CALL_ROUNDS):
            before = len(site_ids)
            for module in self._program.modules.values():
                for call, scope in module.calls:
                    try:
                        functions = list(self.functions(call.func, scope))
                    except (RecursionError, CodeTooLargeError):  # the later analysis of this call reports it
                        continue
                    for function in functions:
                        if (id(function), id(call)) not in site_ids:
                            site_ids.add((id(function), id(call)))
                            self._sites.setdefault(id(function), []).append((call, scope))
            self._values_by_place.clear()  # earlier evaluations knew fewer calls
            if len(site_ids) == before:
                return

    def functions(self, node: ast.AST, scope: CodeScope) -> Iterator[Function]:
        """Yield the functions of the agent's own code that a callee refers to; for a class, its `__init__`."""
        for binding in self._named_bindings(node, scope):
            if binding.kind == "function" and isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield binding.node
            elif binding.kind == "class" and binding.node is not None:
                for inner in self._program.scopes[id(binding.node)].names.get("__init__", []):
                    if isinstance(inner.node, ast.FunctionDef):
                        yield inner.node

    def _named_bindings(self, node: ast.AST, scope: CodeScope) -> list[NameBinding]:
        """Return the bindings in the agent's own code that a callee refers to."""
        bindings: list[NameBinding] = []
        if isinstance(node, ast.Name):
            bindings = scope.find(node.id)
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and scope.owner is not None:
                bindings = scope.owner.names.get(node.attr, [])
            elif qualified := qualified_name(node, scope):
                bindings = self._bindings_of(qualified)
            else:
                for value in self.values(node.value, scope):
                    if isinstance(value, OwnObject):
                        bindings = [*bindings, *value.scope.names.get(node.attr, [])]
        imported = [binding for binding in bindings if binding.kind == "import"]
        return [*bindings, *(other for binding in imported for other in self._bindings_of(binding.qualified))]

    def _call(self, node: ast.Call, scope: CodeScope) -> Iterator[Value]:
        qualified = qualified_name(node.func, scope)
        place = (scope.module.file, node.lineno)
        if qualified:
            results = library_values(qualified, self.arguments(node, scope), place)
            if results is not None:
                yield from results
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
            arguments = self.arguments(node, scope)
            for value in self.values(node.func.value, scope):
                yield from method_values(value, node.func.attr, arguments, place)
            return
        for value in self.values(node.func, scope):
            if isinstance(value, OwnFunction):
                yield from self._returned(value.node)
            else:
                yield COMPUTED

    def _returned(self, function: Function) -> Iterator[Value]:
        inside = self._program.scopes[id(function)]
        if isinstance(function, ast.Lambda):
            yield from self.values(function.body, inside)
            return
        for node in own_nodes(function):
            if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                yield from self.values(node.value, inside)
