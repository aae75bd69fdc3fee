"""What the Evaluate panel shows: what is asked for, a run's cases, a comparison, a captured case, as plain values."""

from .asking import RunRequest, Watch, set_told
from .capture_actions import CaptureActions
from .cases import case_rows, case_told, head_sentence, head_told
from .compare_actions import CompareActions
from .stored import run_rows, set_choices

__all__ = [
    "CaptureActions",
    "CompareActions",
    "RunRequest",
    "Watch",
    "case_rows",
    "case_told",
    "head_sentence",
    "head_told",
    "run_rows",
    "set_choices",
    "set_told",
]
