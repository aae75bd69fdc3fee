"""Damaged files: detected, set aside under a name that says so, and replaced by files with their readable content.

Full disks are recognized here too.
"""

from .files import DamagedFile, damaged_files, set_aside
from .full_disk import DISK_IS_FULL, full_disk_message, is_full_disk
from .sqlite import find_damage, is_damage, is_marked, mark_damaged, recover_if_damaged

__all__ = [
    "DISK_IS_FULL",
    "DamagedFile",
    "damaged_files",
    "find_damage",
    "full_disk_message",
    "is_damage",
    "is_full_disk",
    "is_marked",
    "mark_damaged",
    "recover_if_damaged",
    "set_aside",
]
