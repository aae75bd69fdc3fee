"""Check whether a front end can draw a widget that a cell displays."""

# pyright: basic

from __future__ import annotations

import os
import sys
from typing import Any


def cannot_draw() -> bool:
    """Return whether the notebook is executed without a user (nbconvert, papermill).

    The kernel has ended before such a notebook is opened, and its export would have an empty space in place of the
    view.

    Only a front end with a user lets a cell ask for input. Voilà does not, although it has users; it is recognized by
    its environment variables.
    """
    # Code that runs in a kernel has these modules loaded.
    ipython = sys.modules.get("IPython")
    if ipython is None or "ipykernel" not in sys.modules or any(name.startswith("VOILA_") for name in os.environ):
        return False
    shell: Any = ipython.get_ipython()
    kernel = getattr(shell, "kernel", None)
    return kernel is not None and not getattr(kernel, "_allow_stdin", True)
