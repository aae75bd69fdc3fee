"""Memory studies: scripted conversations are written to a memory, and later questions test what it recalls."""

from loomlib.deprecation import renamed_names
from loomlib.dispatch import register
from loomlib.experiments import register_result

from .arms import DEFAULT_ARMS, Arm
from .design import MemoryDesign
from .generator import make_conversations
from .measurements import AskedQuestion
from .renamed import RecallStudy as RecallStudy
from .result import MemoryResult
from .script import (
    Probe,
    ScriptedConversation,
    ScriptedQuestion,
    ScriptedTurn,
    read_conversation,
    shipped_conversations,
)
from .study import MemoryStudy
from .subjects import MemoryBench, PromptedAgent, StudiedMemory

register_result("MemoryResult", "loomlib.memory_study.analysis")
register("MemoryResult.by_age", "loomlib.memory_study.tables:by_age_frame")
register("MemoryResult.differences", "loomlib.memory_study.tables:differences_frame")
register("MemoryResult.questions", "loomlib.memory_study.tables:questions_frame")
register("MemoryResult.gate", "loomlib.memory_study.gate:judge")

__getattr__ = renamed_names(
    __name__,
    {
        "RecallResult": "MemoryResult",
        "make_lives": "make_conversations",
        "read_life": "read_conversation",
        "shipped_lives": "shipped_conversations",
        "Life": "ScriptedConversation",
    },
)

__all__ = [
    "DEFAULT_ARMS",
    "Arm",
    "AskedQuestion",
    "MemoryBench",
    "MemoryDesign",
    "MemoryResult",
    "MemoryStudy",
    "Probe",
    "PromptedAgent",
    "ScriptedConversation",
    "ScriptedQuestion",
    "ScriptedTurn",
    "StudiedMemory",
    "make_conversations",
    "read_conversation",
    "shipped_conversations",
]
