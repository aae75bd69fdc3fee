"""Metrics of stored invocations over a time window: counts, cold starts, errors, durations and costs."""

from .figures import NUMBERS, AgentFigures, Figures, read_figures
from .series import Bin, latency_bins
from .text import TITLES, Headline, headlines, limit_text, sentence, value_text
from .window import Window

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
    "limit_text",
    "read_figures",
    "sentence",
    "value_text",
]
