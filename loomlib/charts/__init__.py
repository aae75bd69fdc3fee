"""What all of Loom's charts have in common: their layout, ink and palette."""

from .layout import GRID, INK, PALETTE, PLOT_FONT, SYMBOLS, plain, shown, styled

__all__ = ["GRID", "INK", "PALETTE", "PLOT_FONT", "SYMBOLS", "plain", "shown", "styled"]
