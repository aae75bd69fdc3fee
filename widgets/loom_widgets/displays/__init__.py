"""Displays of Loom's objects in notebooks: static HTML, and an interactive view where the front end supports it."""

from .registering import disable, enable

__all__ = ["disable", "enable"]
