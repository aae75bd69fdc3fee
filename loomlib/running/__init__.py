"""Long work that can be left and taken up again: a thread of its own, and the lease that only one process holds; and
files that are there whole or not at all."""

from .held_lease import Holding, Leases, held_lease
from .own_thread import OwnThread, Progress
from .written import whole_file, written

__all__ = ["Holding", "Leases", "OwnThread", "Progress", "held_lease", "whole_file", "written"]
