"""Evaluation runs: ask a target a set of cases, store answers and scores by content, read the run back."""

from loomlib.experiments import LogLines, Silent

from ..targets import CallableTarget, Target
from ..values.judgement import Judgement
from .eval_run import EvalRun, TargetName
from .evaluate import aevaluate, arescore, evaluate, rescore
from .options import Budget, RunOptions
from .progress import Progress, Snapshot

__all__ = [
    "Budget",
    "CallableTarget",
    "EvalRun",
    "Judgement",
    "LogLines",
    "Progress",
    "RunOptions",
    "Silent",
    "Snapshot",
    "Target",
    "TargetName",
    "aevaluate",
    "arescore",
    "evaluate",
    "rescore",
]
