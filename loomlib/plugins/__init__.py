"""Plugins: an entry-point group, pluggy hooks, and a loader that isolates broken plugins."""

from .hooks import GROUP, HOOKS, Hooks, hookimpl
from .listing import LoadedPlugin, PluginLine
from .loader import find_plugins, load_plugins
from .problems import PluginProblem
from .registry import Plugins
from .scaffold import PluginProject, make_plugin

__all__ = [
    "GROUP",
    "HOOKS",
    "Hooks",
    "LoadedPlugin",
    "PluginLine",
    "PluginProblem",
    "PluginProject",
    "Plugins",
    "find_plugins",
    "hookimpl",
    "load_plugins",
    "make_plugin",
]
