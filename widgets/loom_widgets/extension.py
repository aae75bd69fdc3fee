"""`%load_ext loom_widgets` and `%unload_ext loom_widgets`."""

# pyright: basic

from __future__ import annotations

from typing import TYPE_CHECKING

from .displays import disable, enable

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%%agent` and the interactive views of Loom's objects."""
    from .magic import AgentMagics

    shell.register_magics(AgentMagics)
    enable(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Unregister `%%agent` and the interactive views, and close the workbench that the magic opened."""
    disable()
    manager = shell.magics_manager
    magics = manager.registry.pop("AgentMagics", None)
    manager.magics["cell"].pop("agent", None)
    if magics is not None:
        magics.close()
