"""Wait for spans, which can arrive after a lookup has ended on a busy machine."""

from __future__ import annotations

from waiting import wait_until

import loomlib as loom


def traced(inv: loom.Invocation) -> loom.Invocation:
    """Return the invocation once its trace is whole."""
    wait_until(lambda: inv.trace().state == "found", what="the whole trace")
    return inv
