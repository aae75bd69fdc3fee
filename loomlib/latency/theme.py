"""Colours and symbols of the scenarios, the same on every page.

The colours are Okabe and Ito's (Color Universal Design, 2008), which colour-blind readers can tell apart on light and
dark pages; the symbols differ too, so colour never carries meaning alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from .scenarios import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioStyle:
    """Appearance of a scenario: a CSS colour, a plotly symbol, and a character of the same shape for text."""

    colour: str
    symbol: str
    mark: str


SCENARIO_STYLES = {
    Scenario.COLD: ScenarioStyle(colour="#0072B2", symbol="circle", mark="●"),
    Scenario.WARM: ScenarioStyle(colour="#D55E00", symbol="square", mark="■"),
    Scenario.STICKY: ScenarioStyle(colour="#009E73", symbol="diamond", mark="◆"),
}

FAILED_COLOUR = "#8a8f98"
FAILED_SYMBOL = "x"

PART_COLOURS = {"start-up": "#56B4E9", "answer": "#E69F00", "unsplit": "#b5b9c1", "floor": "#9aa3b2"}
PART_PATTERNS = {"start-up": "", "answer": "/", "unsplit": ".", "floor": "x"}
