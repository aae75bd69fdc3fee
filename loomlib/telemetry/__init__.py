"""Telemetry: an agent's log lines, and when the agent started according to them."""

from .cold_start import START_STATES, AgentStart, afind_agent_start, find_agent_start
from .log_events import LogEvent, parse_line
from .logs import LogPage, LogReader, LogSource
from .skew import SkewBound
from .start_lines import StartLine, choose_start, parse_start, parse_start_time, start_lines

__all__ = [
    "START_STATES",
    "AgentStart",
    "LogEvent",
    "LogPage",
    "LogReader",
    "LogSource",
    "SkewBound",
    "StartLine",
    "afind_agent_start",
    "choose_start",
    "find_agent_start",
    "parse_line",
    "parse_start",
    "parse_start_time",
    "start_lines",
]
