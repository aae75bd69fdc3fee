"""Qualified names of the objects that an agent's code imports."""

from __future__ import annotations

import ast
from typing import Final

from .program import CodeScope

_MOST_NAMES: Final = 8


def qualified_name(node: ast.AST, scope: CodeScope, *, depth: int = 0) -> str:
    """Return the qualified name of an imported object, such as `boto3.client`; "" for anything else.

    Args:
        node: The expression.
        scope: The scope that contains it.
        depth: Number of aliases that were followed.
    """
    if isinstance(node, ast.Attribute):
        start = qualified_name(node.value, scope, depth=depth)
        return f"{start}.{node.attr}" if start else ""
    if isinstance(node, ast.Name):
        bindings = scope.find(node.id)
        if not bindings and node.id in ("str", "dict", "getattr", "list", "tuple"):
            return node.id
        if imported := [binding.qualified for binding in bindings if binding.kind == "import"]:
            return imported[0]
        if len(bindings) == 1 and bindings[0].kind == "value" and bindings[0].scope is not None and depth < _MOST_NAMES:
            other = bindings[0].node  # an alias of the object: make = boto3.client
            if isinstance(other, ast.Name | ast.Attribute):
                return qualified_name(other, bindings[0].scope, depth=depth + 1)
    return ""
