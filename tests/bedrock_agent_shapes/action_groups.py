"""Shapes of action groups: functions, OpenAPI in all its forms, returns of control, confirmations, user input."""

from __future__ import annotations

import json

from .parts import BY_CALLER, ORDER, ORDER_STATUS, agent, declaration, functions, operations
from .shape import AgentShape, ShapePrompt

_STATUS = ShapePrompt(text="What is the status of order 4711?", contains=("shipped",), tools=("order_status",))
_CANCEL = {"name": "cancel_order", "description": "Cancels an order", "parameters": ORDER}
_PRICE = {
    "name": "get_price",
    "description": "Returns the price of an article",
    "parameters": {"article": {"type": "string", "description": "The article", "required": True}},
}

ORDERS_API = {
    "openapi": "3.0.0",
    "info": {"title": "Orders", "version": "1"},
    "paths": {
        "/orders/{orderId}": {
            "get": {
                "operationId": "getOrder",
                "description": "Returns the status of an order",
                "parameters": [
                    {
                        "name": "orderId",
                        "in": "path",
                        "required": True,
                        "description": "Number of the order",
                        "schema": {"type": "string"},
                    }
                ],
                "responses": {"200": {"description": "The order"}},
            }
        }
    },
}

BEARER_API = r"""
openapi: 3.0.1
info:
  title: "Notes \u2013 Kundenb\u00fcro"
  version: "1"
servers:
  - url: https://orders.example.com/v1
security:
  - bearerAuth: []
paths:
  /orders/{orderId}/notes:
    post:
      operationId: addNote
      description: "Adds a note to an order (Notiz hinzuf\u00fcgen, \u6ce8\u6587)"
      parameters:
        - name: orderId
          in: path
          required: true
          description: Number of the order
          schema: {type: integer}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              $ref: "#/components/schemas/Note"
      responses:
        "200": {description: The note}
components:
  securitySchemes:
    bearerAuth:
      type: http
      scheme: bearer
      bearerFormat: JWT
  schemas:
    Note:
      type: object
      properties:
        note: {type: string, description: The note}
        urgent: {type: boolean, description: "Whether it is urgent \u26a0"}
        tags: {type: array, items: {type: string}}
        author:
          type: object
          properties: {name: {type: string}, language: {type: string, enum: [de, en]}}
      required: [note]
"""

_WEATHER_API = {
    "openapi": "3.0.0",
    "info": {"title": "Weather", "version": "1"},
    "paths": {
        "/weather": {
            "get": {
                "operationId": "getWeather",
                "description": "Returns the weather in a city",
                "parameters": [
                    {
                        "name": "city",
                        "in": "query",
                        "required": True,
                        "description": "The city",
                        "schema": {"type": "string"},
                    }
                ],
                "responses": {"200": {"description": "The weather"}},
            }
        }
    },
}

FUNCTION_SCHEMA = AgentShape(
    name="function-schema",
    declaration=declaration("function-schema", agent("shape-function-schema", functions("orders", ORDER_STATUS))),
    prompts=(
        _STATUS,
        ShapePrompt(text="What is the status of order 4712?", contains=("warehouse",), tools=("order_status",)),
    ),
    complaint="the generated code has no app.run(), streaming and right imports",
)
OPENAPI_INLINE = AgentShape(
    name="openapi-inline",
    declaration=declaration(
        "openapi-inline", agent("shape-openapi-inline", operations("orders", {"payload": json.dumps(ORDERS_API)}))
    ),
    prompts=(
        ShapePrompt(text="What is the status of order 4711?", contains=("shipped",), tools=("GET /orders/{orderId}",)),
    ),
    complaint="a gateway's target is made before the Lambda function that it calls",
)
OPENAPI_S3_BEARER = AgentShape(
    name="openapi-s3-bearer",
    declaration=declaration(
        "openapi-s3-bearer",
        agent(
            "shape-openapi-s3-bearer",
            operations("notes", {"s3": {"s3BucketName": "@bucket", "s3ObjectKey": "notes.yaml"}}),
        ),
        objects={"notes.yaml": BEARER_API},
    ),
    prompts=(
        ShapePrompt(
            text='Add the note "call back" to order 4711',
            contains=("call back",),
            tools=("POST /orders/{orderId}/notes",),
        ),
    ),
    complaint="bearer schemes and Unicode escapes break reading; OpenAPI is squeezed into Lambda schemas",
)
TWO_STRING_SCHEMAS = AgentShape(
    name="two-string-schemas",
    declaration=declaration(
        "two-string-schemas",
        agent(
            "shape-two-string-schemas",
            operations("orders", {"payload": json.dumps(ORDERS_API)}),
            operations("weather", {"payload": json.dumps(_WEATHER_API)}),
        ),
    ),
    prompts=(
        ShapePrompt(text="What is the status of order 4711?", contains=("shipped",), tools=("GET /orders/{orderId}",)),
        ShapePrompt(text="What is the weather in Paris?", contains=("sunny",), tools=("GET /weather",)),
    ),
    complaint="a string as apiSchema crashes with several action groups",
)
RETURN_OF_CONTROL = AgentShape(
    name="return-of-control",
    declaration=declaration(
        "return-of-control",
        agent("shape-return-of-control", functions("orders", ORDER_STATUS, _CANCEL, executor=BY_CALLER)),
    ),
    prompts=(
        ShapePrompt(
            text="What is the status of order 4711?",
            contains=("on a lorry",),
            tools=("order_status",),
            results={"order_status": "The order 4711 is on a lorry."},
        ),
    ),
    complaint="a call that comes back to the caller becomes input() on a server",
)
CONFIRMATION = AgentShape(
    name="confirmation",
    declaration=declaration(
        "confirmation",
        agent("shape-confirmation", functions("orders", ORDER_STATUS, {**_CANCEL, "requireConfirmation": "ENABLED"})),
    ),
    prompts=(
        ShapePrompt(text="Cancel order 4711", contains=("cancelled",), tools=("cancel_order",)),
        ShapePrompt(text="Cancel order 4712", contains=("denied",), tools=("cancel_order",), confirms=False),
    ),
    complaint="a call that comes back to the caller becomes input() on a server",
)
USER_INPUT = AgentShape(
    name="user-input",
    declaration=declaration(
        "user-input",
        agent(
            "shape-user-input",
            functions("prices", _PRICE),
            {"actionGroupName": "ask", "parentActionGroupSignature": "AMAZON.UserInput"},
        ),
    ),
    prompts=(
        ShapePrompt(
            text='Use user__askuser with the question "Which article?"', contains=("Which article?",), session="one"
        ),
        ShapePrompt(
            text='What is the price of the article "kettle"?',
            contains=("29 euros",),
            tools=("get_price",),
            session="one",
        ),
    ),
    complaint="a question to the user becomes input() on a server",
)
DISABLED_GROUP = AgentShape(
    name="disabled-group",
    declaration=declaration(
        "disabled-group",
        agent(
            "shape-disabled-group",
            functions("orders", ORDER_STATUS),
            {**functions("cancellations", _CANCEL), "actionGroupState": "DISABLED"},
        ),
    ),
    prompts=(_STATUS,),
    complaint="every Lambda function of the account is allowed, or one that is not used",
)

SHAPES = (
    FUNCTION_SCHEMA,
    OPENAPI_INLINE,
    OPENAPI_S3_BEARER,
    TWO_STRING_SCHEMAS,
    RETURN_OF_CONTROL,
    CONFIRMATION,
    USER_INPUT,
    DISABLED_GROUP,
)
