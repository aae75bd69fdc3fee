"""What the Evaluate panel shows: what is asked for, a run's cases, a comparison, a captured case, as plain values."""

from .asking import Wish, connect_line
from .capturing import captured_told, invocation_rows
from .cases import case_rows, case_told, head_told
from .comparing import comparison_code, comparison_told
from .stored import run_rows, set_choices

__all__ = [
    "Wish",
    "captured_told",
    "case_rows",
    "case_told",
    "comparison_code",
    "comparison_told",
    "connect_line",
    "head_told",
    "invocation_rows",
    "run_rows",
    "set_choices",
]
