"""The measurements of the parallel-tools study, and published measurements for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TOOL_MS = 100.0
"""How long each tool of the blueprint waits, in milliseconds."""

PUBLISHED: Mapping[int, tuple[float, float, float, int]] = {
    5: (7_600, 3_480, 4_070, 16_393),
    10: (8_700, 3_480, 4_670, 17_076),
    25: (15_700, 4_750, 9_850, 19_213),
    50: (22_800, 5_370, 15_410, 22_407),
    100: (40_300, 4_320, 31_660, 29_128),
}
"""By number of tools: milliseconds in all, of the first and the second model call, and tokens read.

One run each on AgentCore Runtime with Claude Sonnet 4 (field note "I Ran 100 Parallel Tool Calls on AgentCore"); with
100 tools, the tools took about 2 s on six threads.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRun:
    """One invocation; times in milliseconds.

    Attributes:
        asked: How many tools were requested.
        ran: How many tools ran.
        total_ms: The whole invocation.
        first_ms: The first model call.
        second_ms: The later model calls.
        tools_ms: The tools.
        open_at_once: How many tool spans were open at once.
        threads: How many threads ran the tools; None when their results do not say.
        tokens_read: The tokens that the model read.
        state: The state of the trace.
    """

    asked: int
    ran: int
    total_ms: float
    first_ms: float
    second_ms: float
    tools_ms: float
    open_at_once: int
    threads: int | None
    tokens_read: int | None
    state: str
