"""Long work that can be left and taken up again: a thread of its own, and the lease that only one process holds; files
that are there whole or not at all; and the output of a notebook that says how far it is."""

from .held_lease import Holding, Leases, held_lease
from .in_place import InPlace, is_watched_notebook
from .own_thread import OwnThread, Progress
from .written import whole_file, written

__all__ = [
    "Holding",
    "InPlace",
    "Leases",
    "OwnThread",
    "Progress",
    "held_lease",
    "is_watched_notebook",
    "whole_file",
    "written",
]
