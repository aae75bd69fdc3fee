"""The colour, pattern and name of each part of a breakdown, the same on every page.

The colours are Okabe and Ito's (Color Universal Design, 2008); the patterns differ too, so colour never carries meaning
alone.
"""

from __future__ import annotations

PART_COLOURS = {
    "cold_start": "#56B4E9",
    "service_network": "#9aa3b2",
    "agent": "#E69F00",
    "model": "#0072B2",
    "tools": "#009E73",
    "memory": "#CC79A7",
    "garbage_collection": "#F0E442",
    "unknown": "#d0d3d9",
}
PART_PATTERNS = {
    "cold_start": "x",
    "service_network": ".",
    "agent": "/",
    "model": "",
    "tools": "\\",
    "memory": "|",
    "garbage_collection": "+",
    "unknown": "-",
}
PART_NAMES = {
    "cold_start": "cold start",
    "service_network": "service and network",
    "agent": "agent overhead",
    "model": "model",
    "tools": "tools",
    "memory": "memory",
    "garbage_collection": "garbage collection",
    "unknown": "unknown",
}
FAILED_COLOUR = "#D55E00"
