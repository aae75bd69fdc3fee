"""The built-in span source, CloudWatch Logs, registered through the same hook as a plugin's."""

from __future__ import annotations

from collections.abc import Callable

from loomlib.plugins import hookimpl

from .span_sources import CloudWatchSpans


def _cloudwatch() -> CloudWatchSpans:
    return CloudWatchSpans()


@hookimpl
def loom_span_sources() -> dict[str, Callable[[], CloudWatchSpans]]:
    """Register CloudWatch Logs, the default source."""
    return {"cloudwatch": _cloudwatch}
