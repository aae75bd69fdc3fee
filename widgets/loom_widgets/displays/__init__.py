"""What a notebook shows of Loom's objects: their static faces, and beside them a view where somebody can draw it."""

from .registering import disable, enable

__all__ = ["disable", "enable"]
