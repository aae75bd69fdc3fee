"""How scenarios look: one colour and one symbol each, the same on every page.

The colours are Okabe and Ito's (Color Universal Design, 2008), told apart by colour-blind readers and on light and dark
pages alike; the symbols differ too, so colour never carries meaning alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from .scenarios import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A scenario's colour (CSS), its plotly symbol, and a character of the same shape for text."""

    colour: str
    symbol: str
    mark: str


LOOKS = {
    Scenario.COLD: Look(colour="#0072B2", symbol="circle", mark="●"),
    Scenario.WARM: Look(colour="#D55E00", symbol="square", mark="■"),
    Scenario.STICKY: Look(colour="#009E73", symbol="diamond", mark="◆"),
}

FAILED_COLOUR = "#8a8f98"
FAILED_SYMBOL = "x"

PART_COLOURS = {"start-up": "#56B4E9", "answer": "#E69F00", "unsplit": "#b5b9c1", "floor": "#9aa3b2"}
PART_PATTERNS = {"start-up": "", "answer": "/", "unsplit": ".", "floor": "x"}
FONT = "var(--jp-ui-font-family,system-ui,-apple-system,'Segoe UI',sans-serif)"
