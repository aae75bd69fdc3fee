"""Determines which AWS operations an agent's code calls, and on which resources."""

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
