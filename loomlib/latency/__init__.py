"""Latency studies: planned repetition, honest statistics, figures and tables."""

from .design import StudyDesign
from .estimates import Estimate
from .measurements import Measurement
from .ports import MeasuredAgent, Progress
from .progress import LogLines, Silent, Snapshot
from .result import StudyResult
from .scenarios import Scenario
from .study import LatencyStudy

__all__ = [
    "Estimate",
    "LatencyStudy",
    "LogLines",
    "MeasuredAgent",
    "Measurement",
    "Progress",
    "Scenario",
    "Silent",
    "Snapshot",
    "StudyDesign",
    "StudyResult",
]
