"""Waits for spans that come later than one lookup waits for them, as they can on a busy machine."""

from __future__ import annotations

from waiting import wait_until

import loomlib as loom


def wait_for_trace(inv: loom.Invocation) -> loom.Invocation:
    """Return the invocation once its trace is whole."""
    wait_until(lambda: inv.trace().state == "found", what="the whole trace")
    return inv
