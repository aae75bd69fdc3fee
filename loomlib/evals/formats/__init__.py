"""Eval sets in files and tables: Loom's formats, CSV, and those of ADK, strands_evals and AgentCore."""

from ..values.losses import Loss, Losses
from .files import FORMATS, Rendered, format_of_path, read, render, shipped_sets, write
from .frames import from_frame, from_rows, to_frame
from .problems import Problem

__all__ = [
    "FORMATS",
    "Loss",
    "Losses",
    "Problem",
    "Rendered",
    "format_of_path",
    "from_frame",
    "from_rows",
    "read",
    "render",
    "shipped_sets",
    "to_frame",
    "write",
]
