"""What of an agent's requirements the local AgentCore has to install."""

from __future__ import annotations

from pathlib import Path

from loomlib.local.runtimes.requirements import lacking


def test_the_recorder_of_spans_on_aws_is_not_installed_here(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("boto3>=1.0\nAWS_OpenTelemetry.distro>=0.21\nno-such-package>=1\n")
    assert lacking(tmp_path) == ["no-such-package>=1"]
    assert "AWS_OpenTelemetry.distro>=0.21" in lacking(tmp_path, of_workbench=False)
