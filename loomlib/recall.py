"""Deprecated name of `loomlib.memory_study`, kept for one release."""

from .deprecation import moved_module

__getattr__ = moved_module(__name__, "loomlib.memory_study")
