"""The door for everything that is added to Loom: an entry-point group, pluggy hooks, and a loader that survives."""

from .hooks import GROUP, HOOKS, Hooks, hookimpl
from .listing import LoadedPlugin, PluginLine
from .loader import find_plugins, load_plugins
from .making import MadePlugin, make_plugin
from .offer import Plugins
from .problems import PluginProblem

__all__ = [
    "GROUP",
    "HOOKS",
    "Hooks",
    "LoadedPlugin",
    "MadePlugin",
    "PluginLine",
    "PluginProblem",
    "Plugins",
    "find_plugins",
    "hookimpl",
    "load_plugins",
    "make_plugin",
]
