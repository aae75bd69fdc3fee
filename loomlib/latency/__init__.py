"""Latency studies: planned repetition, honest statistics, figures and tables."""

from loomlib.statistics.estimates import Estimate

from .design import StudyDesign
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
