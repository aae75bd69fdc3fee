"""Deprecated name of `loomlib.metrics`, kept for one release."""

from .deprecation import moved_module

__getattr__ = moved_module(__name__, "loomlib.metrics")
