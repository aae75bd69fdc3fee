"""Whether anybody could ever draw a widget's view of what a cell shows now."""

# pyright: basic

from __future__ import annotations

import os
import sys
from typing import Any


def nobody_draws() -> bool:
    """True in a notebook that is run through from beginning to end (nbconvert, papermill), False where a person looks.

    The kernel is gone before such a notebook is opened, and its export would have a hole where the view belongs.
    Only a front end with a person lets a cell ask for input; Voilà's people watch without it, and it says so.
    """
    # Whoever runs in a kernel has these modules loaded.
    ipython = sys.modules.get("IPython")
    if ipython is None or "ipykernel" not in sys.modules or any(name.startswith("VOILA_") for name in os.environ):
        return False
    shell: Any = ipython.get_ipython()
    kernel = getattr(shell, "kernel", None)
    return kernel is not None and not getattr(kernel, "_allow_stdin", True)
