"""The door for everything that is added to Loom: an entry-point group, pluggy hooks, and a loader that survives."""

from .hooks import GROUP, HOOKS, Hooks, hookimpl
from .loader import load_plugins
from .offer import LoadedPlugin, Plugins
from .problems import PluginProblem

__all__ = [
    "GROUP",
    "HOOKS",
    "Hooks",
    "LoadedPlugin",
    "PluginProblem",
    "Plugins",
    "hookimpl",
    "load_plugins",
]
