"""Runs: a target asked a set of cases, answers and scores kept by content, and the run as one may read it."""

from ..targets import Target
from ..targets.functions import CallableTarget
from ..values.judgement import Judgement
from .eval_run import EvalRun, TargetName
from .evaluate import aevaluate, evaluate
from .options import Budget
from .progress import LogLines, Progress, Silent, Snapshot
from .rescoring import arescore, rescore

__all__ = [
    "Budget",
    "CallableTarget",
    "EvalRun",
    "Judgement",
    "LogLines",
    "Progress",
    "Silent",
    "Snapshot",
    "Target",
    "TargetName",
    "aevaluate",
    "arescore",
    "evaluate",
    "rescore",
]
