"""A notebook output that is updated in place. It is not a widget, so it remains after export and without a kernel."""

from __future__ import annotations

import sys
import uuid
from importlib import import_module
from typing import Any

from ..presentation.html import status_line


def is_interactive_notebook() -> bool:
    """Return whether this kernel's front end can prompt its user for input (an interactive notebook).

    JupyterLab allows a cell to ask for input; nbclient (papermill, nbconvert) does not, and a kernel has no other way
    to distinguish them.
    """
    # A kernel has these modules loaded; importing them to find out would cost a script 100 ms.
    ipython = sys.modules.get("IPython")
    if ipython is None or "ipykernel" not in sys.modules:
        return False
    shell: Any = ipython.get_ipython()
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))


class InPlace:
    """A notebook output that is shown once, then updated in place."""

    def __init__(self) -> None:
        self._id = f"loom-{uuid.uuid4().hex}"
        self._is_displayed = False

    def show(self, text: str, html: str) -> None:
        """Show new content.

        Args:
            text: The content as plain text.
            html: The content as HTML.
        """
        # IPython's own annotations are incomplete; the kernel has the module loaded.
        display: Any = vars(import_module("IPython.display"))["display"]
        display({"text/plain": text, "text/html": html}, raw=True, display_id=self._id, update=self._is_displayed)
        self._is_displayed = True

    def show_line(self, line: str) -> None:
        """Show a line of text."""
        self.show(line, str(status_line(line)))
