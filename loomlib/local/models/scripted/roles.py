"""Requests with a fixed form: a simulated user, an extractor of long-term memory, a conversation summary."""

from __future__ import annotations

import re
from typing import Final

from ..json_values import JsonObject, as_object
from ..request import ConverseRequest, Tool

_USER_FORM: Final = "UserSays"
_GOAL: Final = re.compile(r"'actor_goal': (?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")")
_STEP: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|[0-9]{1,3}[.)])\s+")
_SPEAKER: Final = re.compile(r"^([A-Z]+): ", re.MULTILINE)
_SUMMARIZE: Final = re.compile(r"\s*please summari[sz]e this conversation\.?\s*", re.IGNORECASE)
_STATED: Final = re.compile(r"^\* The user said: ")
_MOST_LINES: Final = 40
_LONGEST_LINE: Final = 300


def role_call(request: ConverseRequest) -> tuple[Tool, JsonObject] | None:
    """Return the tool and arguments for the request's role; None for a request without such a role."""
    return _users_turn(request) or _extraction(request)


def summary(request: ConverseRequest) -> str | None:
    """Summarize the conversation, if the prompt requests it, by quoting what the user stated."""
    if not _SUMMARIZE.fullmatch(request.turns[request.newest_question].text):
        return None
    users = (turn.text for turn in request.turns[: request.newest_question] if turn.role == "user")
    lines = [_STATED.sub("", line).strip() for text in users for line in text.splitlines()]
    stated = [line[:_LONGEST_LINE] for line in lines if line and not line.startswith("##") and line[-1] != "?"]
    facts = list(dict.fromkeys(stated))[-_MOST_LINES:]
    listed = [f"* The user said: {line}" for line in facts] or ["* The user stated nothing."]
    return "\n".join(["## Conversation Summary", *listed])


def _users_turn(request: ConverseRequest) -> tuple[Tool, JsonObject] | None:
    """Return the next message of the user that strands_evals' ActorSimulator asks for.

    Each message is one sentence of the goal.

    It never stops the conversation: if `stop` were filled in from the agent's last answer, as in other forms, most
    conversations would end because of a word that occurs by chance.
    """
    form = next((tool for tool in request.tools if tool.name == _USER_FORM), None)
    if form is None or not {"message", "stop"} <= set(as_object(form.schema.get("properties"))):
        return None
    goal = _GOAL.search(request.system)
    text = (goal[1] or goal[2] or "") if goal else ""
    text = text.replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')
    steps = [step for part in _STEP.split(text) if (step := _BULLET.sub("", part).strip())] or ["Please go on."]
    step_index = sum(call.name == _USER_FORM for turn in request.turns for call in turn.calls)
    message = (
        steps[step_index] if step_index < len(steps) else f"Could you tell me more? {steps[step_index % len(steps)]}"
    )
    return form, {"reasoning": f"step {step_index + 1} of the goal", "stop": False, "message": message}


def _extraction(request: ConverseRequest) -> tuple[Tool, JsonObject] | None:
    """Return the statements for the extraction of long-term memory, found by the offline extractor's rules."""
    for tool in request.tools:
        item = as_object(as_object(as_object(tool.schema.get("properties")).get("statements")).get("items"))
        if tool.name == request.forced_tool and {"kind", "about", "value", "text"} <= set(
            as_object(item.get("properties"))
        ):
            return tool, {"statements": _statements(request.turns[request.newest_question].text)}
    return None


def _statements(turn: str) -> list[JsonObject]:
    # Imported here because most services never extract with a model.
    from loomlib.local.memory.extraction.rules import extract

    parts = _SPEAKER.split(turn)
    messages = [text for speaker, text in zip(parts[1::2], parts[2::2], strict=True) if speaker == "USER"]
    return [
        {
            "kind": statement.kind,
            "about": statement.slot,
            "value": statement.value,
            "text": statement.text or f"No longer: {statement.slot}.",
            "no_longer": statement.retracts,
        }
        for text in messages
        for statement in extract(text.strip())
    ]
