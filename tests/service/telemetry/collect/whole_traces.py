"""The trace of an invocation once it is whole: on a busy machine spans can come later than one lookup waits."""

from __future__ import annotations

from waiting import wait_until

import loomlib as loom
from loomlib.workbench.trace_view import TraceView


def whole_trace(inv: loom.Invocation) -> TraceView:
    """Look the trace up until it is found."""
    view = wait_until(lambda: found if (found := inv.trace()).state == "found" else None, what="the whole trace")
    assert view is not None
    return view
