"""Properties of this process that Linux keeps: whether others may look into it, and whether it adopts orphans."""

from __future__ import annotations

import ctypes
import sys

# prctl(2)
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def close_to_others() -> None:
    """Make this process's memory, environment and descriptors unreadable to other processes of the same user.

    A process with root's capabilities can still read them.
    """
    _prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> bool:
    """Make this process the parent of every descendant whose own parent ends; return whether the system can."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> bool:
    return sys.platform == "linux" and ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0
