"""Long work that can be left and taken up again: a thread of its own, and the lease that only one process holds."""

from .held_lease import Leases, held_lease
from .own_thread import OwnThread, Progress

__all__ = ["Leases", "OwnThread", "Progress", "held_lease"]
