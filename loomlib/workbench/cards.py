"""Cards of the workbench's objects; see `loomlib.presentation.html.card`."""

from __future__ import annotations

from ..presentation.formats import milliseconds
from ..presentation.html import card

__all__ = ["card", "milliseconds"]
