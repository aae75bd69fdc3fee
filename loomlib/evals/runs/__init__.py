"""Runs: a target asked a set of cases, answers and scores kept by content, and the run as one may read it."""

from .callables import CallableTarget
from .eval_run import EvalRun, Judgement, TargetName
from .evaluate import aevaluate, arescore, evaluate, rescore
from .ports import Budget, Progress, Target
from .progress import LogLines, Silent, Snapshot

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
