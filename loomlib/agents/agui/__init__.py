"""AG-UI, read: typed events, the text, tools and state that they make up, and what they ask a person."""

from .events import EVENT_TYPES, AguiEvent, is_agui, read_event
from .fold import AguiFold
from .inputs import answer_to, run_input
from .json_patch import PatchFailed, apply_patch
from .run import RUN_STATES, AguiRun, Confirmation, Message, ToolUse

__all__ = [
    "EVENT_TYPES",
    "RUN_STATES",
    "AguiEvent",
    "AguiFold",
    "AguiRun",
    "Confirmation",
    "Message",
    "PatchFailed",
    "ToolUse",
    "answer_to",
    "apply_patch",
    "is_agui",
    "read_event",
    "run_input",
]
