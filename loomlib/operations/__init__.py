"""How agents are doing: invocations, cold starts, errors and costs of a time, with their doubt; from what is stored."""

from .figures import NUMBERS, AgentFigures, Figures, read_figures
from .series import Bin, latency_bins
from .window import Window

__all__ = ["NUMBERS", "AgentFigures", "Bin", "Figures", "Window", "latency_bins", "read_figures"]
