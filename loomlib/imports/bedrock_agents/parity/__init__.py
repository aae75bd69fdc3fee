"""Measure on the same cases whether an imported agent behaves like the Bedrock agent that it replaces."""

from .agent_parity import AgentParity
from .alike_gate import AlikeShare
from .changes import PairedChange
from .golden import AnswerSource, golden_set
from .judged_pairs import JudgedPair
from .measuring import ParitySubject, judge_recorded, measure_parity
from .names import ToolNames
from .pairs import AnswerPair
from .returned_calls import GivenResults
from .rule import AlikeRule
from .shadow_pairs import ShadowPair

__all__ = [
    "AgentParity",
    "AlikeRule",
    "AlikeShare",
    "AnswerPair",
    "AnswerSource",
    "GivenResults",
    "JudgedPair",
    "PairedChange",
    "ParitySubject",
    "ShadowPair",
    "ToolNames",
    "golden_set",
    "judge_recorded",
    "measure_parity",
]
