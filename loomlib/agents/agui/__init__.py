"""AG-UI: typed events, and the text, tools, state and confirmations that they add up to."""

from .events import EVENT_TYPES, AguiEvent, is_agui, read_event
from .fold import AguiFold
from .history import conversation_of, tool_answer
from .inputs import answer_to, run_input
from .json_patch import JsonDocument, PatchError, apply_patch
from .run import RUN_STATES, Activity, AguiMessage, AguiRun, AguiToolUse, Confirmation, Subagent

__all__ = [
    "EVENT_TYPES",
    "RUN_STATES",
    "Activity",
    "AguiEvent",
    "AguiFold",
    "AguiMessage",
    "AguiRun",
    "AguiToolUse",
    "Confirmation",
    "JsonDocument",
    "PatchError",
    "Subagent",
    "answer_to",
    "apply_patch",
    "conversation_of",
    "is_agui",
    "read_event",
    "run_input",
    "tool_answer",
]
