"""The scripted model as somebody's user: it says its goal sentence by sentence, and never that it has had enough.

strands_evals' ActorSimulator asks for what its user says next in a form with `message` and `stop`; a goal stands in the
profile of the system prompt. Reading these fields out of the agent's last answer, as other forms are filled in, would
end most conversations by a word that happened to fall.
"""

from __future__ import annotations

import re
from typing import Final

from loomlib.local.models.json_values import JsonObject, as_object
from loomlib.local.models.request import ConverseRequest, Tool

_NAME: Final = "UserSays"
_GOAL: Final = re.compile(r"'actor_goal': (?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|[0-9]{1,3}[.)])\s+")


def users_reply(request: ConverseRequest) -> tuple[Tool, JsonObject] | None:
    """The form and what the user says in it; None when nobody asks for a user."""
    form = next((tool for tool in request.tools if tool.name == _NAME), None)
    if form is None or not {"message", "stop"} <= set(as_object(form.schema.get("properties"))):
        return None
    steps = _steps(_GOAL.search(request.system))
    said = sum(call.name == _NAME for turn in request.turns for call in turn.calls)
    message = steps[said] if said < len(steps) else f"Could you tell me more? {steps[said % len(steps)]}"
    return form, {"reasoning": f"step {said + 1} of the goal", "stop": False, "message": message}


def _steps(goal: re.Match[str] | None) -> list[str]:
    text = (goal[1] or goal[2] or "") if goal is not None else ""
    text = text.replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')
    steps = [_BULLET.sub("", each).strip() for each in _SENTENCE.split(text)]
    return [each for each in steps if each] or ["Please go on."]
