"""Recall studies: scripted lives told to a memory, and what of them is there when it is asked for."""

from .arms import DEFAULT_ARMS, Arm
from .design import RecallDesign
from .gate import RecallGate
from .generator import make_lives
from .life import Life, Probe, Question, Turn
from .measurements import Asked
from .ports import RecallAgent, RecallBench, RecallMemory
from .result import RecallResult
from .shipped import read_life, shipped_lives
from .study import RecallStudy

__all__ = [
    "DEFAULT_ARMS",
    "Arm",
    "Asked",
    "Life",
    "Probe",
    "Question",
    "RecallAgent",
    "RecallBench",
    "RecallDesign",
    "RecallGate",
    "RecallMemory",
    "RecallResult",
    "RecallStudy",
    "Turn",
    "make_lives",
    "read_life",
    "shipped_lives",
]
