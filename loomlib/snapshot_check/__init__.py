"""Snapshot safety: what an agent creates at start-up that sessions restored from one snapshot must not share."""

from .finding import KINDS, SnapshotFinding
from .package import with_probe
from .reading import read_findings
from .report import SnapshotReport

__all__ = ["KINDS", "SnapshotFinding", "SnapshotReport", "read_findings", "with_probe"]
