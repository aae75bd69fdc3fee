"""Runs: a target asked a set of cases, answers and scores kept by content, and the run as one may read it."""

from .callables import CallableTarget
from .eval_run import EvalRun, Judgement, TargetName
from .evaluate import aevaluate, evaluate
from .ports import Budget, Progress, Target
from .progress import LogLines, Silent, Snapshot
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
