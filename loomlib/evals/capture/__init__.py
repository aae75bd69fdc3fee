"""Cases created from real conversations: captured one by one, or sampled from production."""

from .capturing import capture
from .case_making import asked_key, case_of
from .collecting import Collected, Collection, collect_cases
from .conversation import Capturable, CapturedTurn, Conversation, conversation_of
from .into_file import CapturedInto, capture_into

__all__ = [
    "Capturable",
    "CapturedInto",
    "CapturedTurn",
    "Collected",
    "Collection",
    "Conversation",
    "asked_key",
    "capture",
    "capture_into",
    "case_of",
    "collect_cases",
    "conversation_of",
]
