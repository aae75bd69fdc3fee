"""The command line: parse, call one function, print, exit code."""

from .main import main

__all__ = ["main"]
