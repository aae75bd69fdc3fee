"""Shapes of several agents: the shipped example, and five levels."""

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

SHAPES = (SUPERVISOR, FIVE_LEVELS)
