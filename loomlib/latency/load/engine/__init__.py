"""The load engine: one process for each core makes the calls of a step, each at its time, and journals them."""

from .load_engine import LoadEngine
from .results import LoadStep
from .targets import LoadTarget

__all__ = ["LoadEngine", "LoadStep", "LoadTarget"]
