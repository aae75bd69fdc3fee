"""A conversation with an agent as the test panel shows it."""

from .code import agent_line, asking_code
from .deciding import Deciding
from .figures import bar_rows, figures_of
from .frames import Frames
from .looking import Looking
from .turns import LONGEST_SHOWN, Turn
from .words import well_formed

__all__ = [
    "LONGEST_SHOWN",
    "Deciding",
    "Frames",
    "Looking",
    "Turn",
    "agent_line",
    "asking_code",
    "bar_rows",
    "figures_of",
    "well_formed",
]
