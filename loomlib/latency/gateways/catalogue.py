"""Catalogues of tools with questions that each ask for one tool, generated from a seed.

A tool does one action to one kind of thing: "cancel_invoice". `catalogue.toml` has the actions and the things; every
pair of them is a tool, and a smaller catalogue is the beginning of a larger one of the same seed. Each action has four
phrasings of a question: two with the words of the tool's description and two with other words for the same.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

PHRASINGS: Final = 4
"""Questions that can be asked for one tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueTool:
    """A tool of a generated catalogue.

    Attributes:
        name: Its name, such as "cancel_invoice".
        description: What it does.
        schema: JSON schema of its arguments.
        questions: The phrasings of a question for it.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    questions: tuple[str, ...]

    def definition(self) -> dict[str, Any]:
        """Return the tool as an MCP server lists it."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.schema)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolQuestion:
    """A question for a tool.

    Attributes:
        text: The question.
        tool: The name of the tool that it asks for.
        is_reworded: Whether it avoids the words of the tool's description.
    """

    text: str
    tool: str
    is_reworded: bool


def generate_catalogue(tools: int, *, seed: int = 0) -> tuple[CatalogueTool, ...]:
    """Return a catalogue; the same arguments always give the same one.

    Args:
        tools: Number of tools; at most `largest_catalogue()`.
        seed: Seed of their choice.

    Raises:
        ValueError: The number of tools is below 1 or above `largest_catalogue()`.
    """
    actions, entities = _data()
    pairs = [(action, entity) for action in actions for entity in entities]
    if not 1 <= tools <= len(pairs):
        raise ValueError(f"a catalogue has 1 to {len(pairs)} tools, not {tools}")
    shuffler = random.Random(seed)  # noqa: S311 - an order, not a secret
    shuffler.shuffle(pairs)
    return tuple(_tool(action, entity, 1000 + place) for place, (action, entity) in enumerate(pairs[:tools]))


def generate_questions(tools: Sequence[CatalogueTool], count: int) -> tuple[ToolQuestion, ...]:
    """Return one question for each tool, then further phrasings of them.

    The first questions for two catalogues of one seed are the same, up to the size of the smaller one.

    Args:
        tools: The catalogue.
        count: Number of questions; fewer are returned when every phrasing of every tool is used.
    """
    questions: list[ToolQuestion] = []
    for number in range(min(count, PHRASINGS * len(tools))):
        turn, place = divmod(number, len(tools))
        phrasing = (place + turn) % PHRASINGS
        tool = tools[place]
        questions.append(
            ToolQuestion(text=tool.questions[phrasing], tool=tool.name, is_reworded=phrasing >= PHRASINGS // 2)
        )
    return tuple(questions)


def largest_catalogue() -> int:
    """Return the largest number of tools that can be generated."""
    actions, entities = _data()
    return len(actions) * len(entities)


@cache
def _data() -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    data = tomllib.loads(files("loomlib.latency.gateways").joinpath("catalogue.toml").read_text("utf-8"))
    return data["actions"], data["things"]


def _tool(action: Mapping[str, Any], entity: Mapping[str, str], number: int) -> CatalogueTool:
    article = "an" if entity["noun"][0] in "aeiou" else "a"
    words = {**entity, "a_noun": f"{article} {entity['noun']}", "reference": f"REF-{number}"}
    properties: dict[str, Any] = {
        "reference": {"type": "string", "description": f"Reference of the {entity['noun']}, such as REF-{number}"}
    }
    for name, described in action.get("parameters", {}).items():
        properties[name] = {"type": "string", "description": described}
    return CatalogueTool(
        name=f"{action['name']}_{entity['name']}",
        description=action["description"].format(**words),
        schema={"type": "object", "properties": properties, "required": ["reference"]},
        questions=tuple(question.format(**words) for question in action["questions"]),
    )
