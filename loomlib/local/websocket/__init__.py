"""WebSockets of deployed runtimes, at `/runtimes/{arn}/ws`."""

from .answering import WebSockets

__all__ = ["WebSockets"]
