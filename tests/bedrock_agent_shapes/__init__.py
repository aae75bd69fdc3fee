"""Bedrock agents of many shapes, as declarations that a local service can create and answer.

Each shape is a value: what it consists of, the prompts to ask, what a good answer contains and which tools it calls.
Names are deterministic, so that creating a shape twice makes nothing twice.

    from tests.bedrock_agent_shapes import SHAPES, SHAPES_BY_NAME, ask_shape, clients_of, create_shape

    clients = clients_of(state)  # of the `service` fixture; a workbench has them as bench.clients
    shape = SHAPES_BY_NAME["supervisor"]
    created = create_shape(clients, shape)
    created.root  # the agent to ask; created.aliases has the ids of aliases by agent
    answer = ask_shape(clients, created, shape.prompts[0])
    answer.text, answer.tools, answer.trace

`shape.complaint` is what users of other importers complain about and this shape shows. `shape.needs_you` is what an
importer can only report. Shapes whose `runs_here` is False can be read, but the local Bedrock Agents do not run them.
"""

from __future__ import annotations

from . import action_groups, knowledge, steps, supervisors, unreadable
from .shape import AgentShape, ShapeAnswer, ShapePrompt, ask_shape, clients_of, create_shape

SHAPES: tuple[AgentShape, ...] = (
    *action_groups.SHAPES,
    *knowledge.SHAPES,
    *steps.SHAPES,
    *supervisors.SHAPES,
    *unreadable.SHAPES,
)
SHAPES_BY_NAME = {shape.name: shape for shape in SHAPES}

__all__ = [
    "SHAPES",
    "SHAPES_BY_NAME",
    "AgentShape",
    "ShapeAnswer",
    "ShapePrompt",
    "ask_shape",
    "clients_of",
    "create_shape",
]
