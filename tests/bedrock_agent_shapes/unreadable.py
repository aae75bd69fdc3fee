"""Shapes that an importer cannot move without a person: a schema that is gone, and an orchestration of one's own."""

from __future__ import annotations

import json

from .action_groups import ORDERS_API
from .parts import FUNCTION, ORDER_STATUS, agent, declaration, functions, operations
from .shape import AgentShape, ShapePrompt

_WEATHER = {
    "name": "get_weather",
    "description": "Returns the weather in a city",
    "parameters": {"city": {"type": "string", "description": "The city", "required": True}},
}

MISSING_SCHEMA = AgentShape(
    name="missing-schema",
    declaration=declaration(
        "missing-schema",
        agent(
            "shape-missing-schema",
            operations("orders", {"s3": {"s3BucketName": "@bucket", "s3ObjectKey": "orders.json"}}),
            functions("weather", _WEATHER),
        ),
        objects={"orders.json": json.dumps(ORDERS_API)},
    ),
    removed_objects=("orders.json",),
    prompts=(
        ShapePrompt(  # a prepared version keeps the schema that it had
            text="What is the status of order 4711?", contains=("shipped",), tools=("GET /orders/{orderId}",)
        ),
        ShapePrompt(text="What is the weather in Paris?", contains=("sunny",), tools=("get_weather",)),
    ),
    complaint="a schema that cannot be read ends the import with a traceback",
    needs_you="the API schema of the action group orders is no longer in S3",
)
CUSTOM_ORCHESTRATION = AgentShape(
    name="custom-orchestration",
    declaration=declaration(
        "custom-orchestration",
        agent(
            "shape-custom-orchestration",
            functions("orders", ORDER_STATUS),
            orchestrationType="CUSTOM_ORCHESTRATION",
            customOrchestration={"executor": {"lambda": f"@function:{FUNCTION}"}},
        ),
    ),
    needs_you="a Lambda function orchestrates",
    runs_here=False,
)

SHAPES = (MISSING_SCHEMA, CUSTOM_ORCHESTRATION)
