"""Long work: a thread of its own, the lease that one process holds, whole files, and a notebook output in place."""

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
