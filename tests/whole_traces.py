"""Wait for spans: on a busy machine they can come later than one lookup waits for them."""

from __future__ import annotations

from waiting import wait_until

import loomlib as loom


def traced(inv: loom.Invocation) -> loom.Invocation:
    """Return the invocation once its trace is whole."""
    wait_until(lambda: inv.trace().state == "found", what="the whole trace")
    return inv
