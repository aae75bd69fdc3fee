"""How a notebook displays Loom's objects: as static HTML, with an interactive view where the front end can draw one."""

from .registering import disable, enable

__all__ = ["disable", "enable"]
