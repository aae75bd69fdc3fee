"""How agents are doing: invocations, cold starts, errors and costs of a time, with their doubt; from what is stored."""

from .figures import NUMBERS, AgentFigures, Figures, read_figures
from .series import Bin, latency_bins
from .window import Window
from .wording import TITLES, Headline, headlines, said, said_limit, sentence

__all__ = [
    "NUMBERS",
    "TITLES",
    "AgentFigures",
    "Bin",
    "Figures",
    "Headline",
    "Window",
    "headlines",
    "latency_bins",
    "read_figures",
    "said",
    "said_limit",
    "sentence",
]
