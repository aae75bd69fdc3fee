"""Session starts on platforms V1 and V2: the cost of a new session, in parts, for the same agent on both."""

from loomlib.dispatch import register
from loomlib.experiments import register_result

from .design import StartUpDesign
from .result import StartedSession, StartUpResult
from .study import StartUpStudy

register_result("StartUpResult", "loomlib.latency.start_up.analysis")
register("StartUpResult.gate", "loomlib.latency.start_up.analysis:judge")

__all__ = ["StartUpDesign", "StartUpResult", "StartUpStudy", "StartedSession"]
