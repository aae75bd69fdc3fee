"""Long-running work: threads, leases, atomic files, and a notebook output that is updated in place."""

from loomlib.deprecation import renamed_names

from .held_lease import Holding, LeaseStore, held_lease
from .in_place import InPlace, is_interactive_notebook
from .output_files import file_errors, whole_file
from .own_thread import OwnThread, Progress

__all__ = [
    "Holding",
    "InPlace",
    "LeaseStore",
    "OwnThread",
    "Progress",
    "file_errors",
    "held_lease",
    "is_interactive_notebook",
    "whole_file",
]

__getattr__ = renamed_names(__name__, {"Leases": "LeaseStore", "is_watched_notebook": "is_interactive_notebook"})
