"""A conversation with an agent as the test panel shows it."""

from .deciding import Deciding
from .figures import bar_rows, figures_of, tools_of
from .frames import Frames
from .turns import LONGEST_SHOWN, Turn
from .words import well_formed

__all__ = ["LONGEST_SHOWN", "Deciding", "Frames", "Turn", "bar_rows", "figures_of", "tools_of", "well_formed"]
