"""Reads which operations of AWS an agent's code calls, and on what."""

from .find import find_uses
from .values import COMPUTED, SIGNED_REQUEST, UNSEEN_CALLS, CodeText, CodeUse, CodeUses, UnresolvedUse, VariableRead

__all__ = [
    "COMPUTED",
    "SIGNED_REQUEST",
    "UNSEEN_CALLS",
    "CodeText",
    "CodeUse",
    "CodeUses",
    "UnresolvedUse",
    "VariableRead",
    "find_uses",
]
