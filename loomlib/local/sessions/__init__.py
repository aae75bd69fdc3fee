"""Session processes: every runtime session is an operating system process that runs the agent's code."""

from .otel import OtlpTarget
from .pool import SessionPool
from .snapshot import SnapshotError

__all__ = ["OtlpTarget", "SessionPool", "SnapshotError"]
