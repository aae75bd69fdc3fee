"""Shapes of several agents: the shipped example, a router, and five levels."""

from __future__ import annotations

from loomlib.workbench.bedrock_examples import read_example

from .parts import ORDER_STATUS, agent, collaborator, declaration, functions
from .shape import AgentShape, ShapePrompt

_SHOP = read_example("shop")

SUPERVISOR = AgentShape(
    name="supervisor",
    declaration=_SHOP,
    prompts=tuple(
        ShapePrompt(
            text=prompt["text"],
            contains=tuple(prompt["contains"]),
            tools=tuple(prompt["tools"]),
            results=prompt.get("results", {}),
        )
        for prompt in _SHOP["prompts"]
    ),
    complaint="AWS resources with random names are made while generating; every Lambda function is allowed",
)
FIVE_LEVELS = AgentShape(
    name="five-levels",
    declaration=declaration(
        "five-levels",
        agent("shape-level-5", functions("orders", ORDER_STATUS)),
        *(
            agent(
                f"shape-level-{level}",
                collaborators=[
                    collaborator(
                        f"order_status_level_{level + 1}",
                        f"shape-level-{level + 1}",
                        "Knows the status of every order",
                        relayConversationHistory="TO_COLLABORATOR" if level % 2 else "DISABLED",
                    )
                ],
                agentCollaboration="SUPERVISOR",
            )
            for level in (4, 3, 2, 1)
        ),
    ),
    prompts=(ShapePrompt(text="What is the status of order 4711?", contains=("shipped",), tools=("order_status",)),),
)
_PRICE = {
    "name": "get_price",
    "description": "Returns the price of an article",
    "parameters": {"article": {"type": "string", "description": "The article", "required": True}},
}
ROUTER = AgentShape(
    name="router",
    declaration=declaration(
        "router",
        agent("shape-router-orders", functions("orders", ORDER_STATUS)),
        agent("shape-router-prices", functions("prices", _PRICE)),
        agent(
            "shape-router",
            collaborators=[
                collaborator("order_desk", "shape-router-orders", "Knows the status of every order"),
                collaborator("price_desk", "shape-router-prices", "Knows the price of every article"),
            ],
            agentCollaboration="SUPERVISOR_ROUTER",
        ),
    ),
    prompts=(
        ShapePrompt(text="What is the status of order 4711?", contains=("shipped",), tools=("order_status",)),
        ShapePrompt(text='What is the price of the article "kettle"?', contains=("29 euros",), tools=("get_price",)),
    ),
)

SHAPES = (SUPERVISOR, FIVE_LEVELS, ROUTER)
