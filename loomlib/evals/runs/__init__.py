"""Evaluation runs: send a set of cases to a target, store answers and scores by content hash, read the run back."""

from loomlib.deprecation import renamed_names
from loomlib.experiments import LogLines, Silent

from ..targets import CallableTarget, Target
from ..values.judgement import Judgement
from .eval_run import EvalRun, TargetName
from .evaluate import aevaluate, arescore, evaluate, rescore
from .options import Budget, RunOptions
from .progress import Progress, RunSnapshot

__all__ = [
    "Budget",
    "CallableTarget",
    "EvalRun",
    "Judgement",
    "LogLines",
    "Progress",
    "RunOptions",
    "RunSnapshot",
    "Silent",
    "Target",
    "TargetName",
    "aevaluate",
    "arescore",
    "evaluate",
    "rescore",
]

__getattr__ = renamed_names(__name__, {"Snapshot": "RunSnapshot"})
