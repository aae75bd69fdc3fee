"""The Memory panel's parts: reading what a memory holds, and keeping it in order."""

from .keeping import Keeping
from .reading import Reading

__all__ = ["Keeping", "Reading"]
