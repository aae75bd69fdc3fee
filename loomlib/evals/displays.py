"""Deprecated: `loomlib.evals.views` replaces this module."""

from loomlib.deprecation import moved_module

__getattr__ = moved_module(__name__, "loomlib.evals.views")
