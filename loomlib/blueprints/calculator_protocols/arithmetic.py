"""Arithmetic, worked out exactly."""

import ast
import operator

LARGEST_POWER = 1_000  # so that 9**9**9 is refused instead of computed for hours
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def evaluate(node: ast.AST) -> int | float:
    """Compute the value of a parsed expression that holds numbers, operators and brackets only."""
    match node:
        case ast.Expression(body=body):
            return evaluate(body)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return OPERATORS[type(op)](evaluate(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            first, second = evaluate(left), evaluate(right)
            if isinstance(op, ast.Pow) and (abs(second) > LARGEST_POWER or abs(first) > 1e100):
                raise ValueError(f"{first} ** {second} is too large for this calculator")
            return OPERATORS[type(op)](first, second)
    raise ValueError("only numbers, + - * / // % ** and brackets are understood")


def calculated(expression: str) -> str:
    """Return the value of an expression as text."""
    value = evaluate(ast.parse(expression.strip(), mode="eval"))
    return str(int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value)
