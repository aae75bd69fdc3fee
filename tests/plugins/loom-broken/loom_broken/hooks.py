"""Hooks that raise, leave, and give what is not a dict."""

from __future__ import annotations

import sys
from typing import Any

from loomlib.plugins import hookimpl


class Unprintable(BaseException):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@hookimpl
def loom_evaluators() -> Any:
    raise Unprintable


@hookimpl
def loom_models() -> Any:
    sys.exit(3)


@hookimpl
def loom_panels() -> Any:
    return ["a list"]


@hookimpl
def loom_gadgets() -> Any:
    return {}
