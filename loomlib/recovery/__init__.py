"""Damaged files: detected, set aside under a name that says so, and replaced by what could be read of them."""

from .files import DamagedFile, damaged_files, set_aside
from .sqlite import find_damage, is_damage, is_marked, mark_damaged, recover_if_damaged

__all__ = [
    "DamagedFile",
    "damaged_files",
    "find_damage",
    "is_damage",
    "is_marked",
    "mark_damaged",
    "recover_if_damaged",
    "set_aside",
]
