"""The scripted model as an extractor of long-term memory: it calls the extraction's tool with what rules find.

This proves how extraction by a model is wired; what it finds is what the offline extractor finds, and it is simulated.
"""

from __future__ import annotations

import re

from loomlib.local.models.json_values import JsonObject, as_object
from loomlib.local.models.request import ConverseRequest, Tool

_SPEAKER = re.compile(r"^([A-Z]+): ", re.MULTILINE)


def extraction_reply(request: ConverseRequest) -> tuple[Tool, JsonObject] | None:
    """The tool and its arguments, where a tool that takes `statements` of kind, about and value must be called."""
    for tool in request.tools:
        if tool.name == request.forced_tool and _takes_statements(tool):
            return tool, {"statements": _statements(request.turns[request.newest_question].text)}
    return None


def _takes_statements(tool: Tool) -> bool:
    properties = as_object(tool.schema.get("properties"))
    item = as_object(as_object(properties.get("statements")).get("items"))
    return {"kind", "about", "value", "text"} <= set(as_object(item.get("properties")))


def _statements(turn: str) -> list[JsonObject]:
    # Imported here because a model that is never asked to extract needs none of the rules.
    from loomlib.local.memory.extraction.rules import extract

    parts = _SPEAKER.split(turn)
    said = [text for speaker, text in zip(parts[1::2], parts[2::2], strict=True) if speaker == "USER"]
    return [
        {
            "kind": each.kind,
            "about": each.slot,
            "value": each.value,
            "text": each.text or f"No longer: {each.slot}.",
            "no_longer": each.retracts,
        }
        for text in said
        for each in extract(text.strip())
    ]
