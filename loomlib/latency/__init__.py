"""Latency studies: how long an agent takes to answer in new, warm and long-lived sessions, with intervals."""

from loomlib.dispatch import register
from loomlib.experiments import LogLines, Silent, register_result
from loomlib.statistics.estimates import Estimate

from .advice import CallsAdvice
from .design import StudyDesign
from .measured_agent import AgentWithStudyTarget, MeasuredAgent
from .measurements import Measurement
from .result import StudyResult
from .scenarios import Scenario
from .study import LatencyStudy

register_result("StudyResult", "loomlib.latency.analysis")
register("StudyResult.measurements", "loomlib.latency.tables:measurements_frame")
register("StudyResult.inside", "loomlib.latency.scenario_parts:split_scenarios")
register("StudyResult.compare", "loomlib.latency.study_changes:find_changes")
register("StudyResult.gate", "loomlib.latency.gate:judge")

__all__ = [
    "AgentWithStudyTarget",
    "CallsAdvice",
    "Estimate",
    "LatencyStudy",
    "LogLines",
    "MeasuredAgent",
    "Measurement",
    "Scenario",
    "Silent",
    "StudyDesign",
    "StudyResult",
]
