"""A conversation with an agent as the test panel shows it."""

from .figures import bar_rows, figures_of, tools_of
from .turns import LONGEST_SHOWN, Turn

__all__ = ["LONGEST_SHOWN", "Turn", "bar_rows", "figures_of", "tools_of"]
