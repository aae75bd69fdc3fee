"""Minimal parameters of any AWS operation, generated from botocore's service model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from botocore.model import OperationModel, Shape

_TEXTS = ("loom-example", "example", "Example1", "123456789012", "aB3", "arn:aws:iam::123456789012:role/example", "1")


def minimal_parameters(operation: OperationModel) -> dict[str, Any]:
    """Return the required parameters of an operation, each with the plainest value that botocore accepts."""
    return _value(operation.input_shape, ()) if operation.input_shape is not None else {}


def _value(shape: Shape, above: tuple[str, ...]) -> Any:
    match shape.type_name:
        case "structure":
            if getattr(shape, "is_document_type", False):
                return {}
            names = list(shape.required_members)
            if getattr(shape, "is_tagged_union", False) and not names:
                names = list(shape.members)[:1]
            above = (*above, shape.name)
            return {name: _value(shape.members[name], above) for name in names if shape.members[name].name not in above}
        case "list":
            least = int(shape.metadata.get("min", 0))
            return [_value(shape.member, above) for _ in range(min(least, 3))]
        case "map":
            return {}
        case "integer" | "long":
            return int(shape.metadata.get("min", 1))
        case "float" | "double" | "bigdecimal":
            return float(shape.metadata.get("min", 1.0))
        case "boolean":
            return False
        case "timestamp":
            return datetime(2026, 1, 1, tzinfo=UTC)
        case "blob":
            return b"x" * max(1, int(shape.metadata.get("min", 1)))
        case _:
            return _text(shape)


def _text(shape: Shape) -> str:
    if choices := shape.metadata.get("enum"):
        return choices[0]
    least, most = int(shape.metadata.get("min", 1)), int(shape.metadata.get("max", 10**6))
    text = "arn:aws:iam::123456789012:role/example" if shape.name.lower().endswith("arn") else "loom-example"
    return text.ljust(least, "x")[:most]
