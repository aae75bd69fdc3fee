"""Which parts of a large agent the snapshot check does not compare, and that it says so."""

from __future__ import annotations

import importlib
import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

from loomlib.snapshot_check.probe.agent_code import AgentCode
from loomlib.snapshot_check.probe.findings import Findings
from loomlib.snapshot_check.probe.objects import Objects
from loomlib.snapshot_check.probe.tracing import CallTracer
from loomlib.snapshot_check.probe.values import Values
from loomlib.snapshot_check.reading import read_findings


def is_complete(folder: Path, monkeypatch: pytest.MonkeyPatch, table: str) -> bool:
    (folder / "large_agent.py").write_text(f"TABLE = {table}\n\n\ndef used():\n    return TABLE\n")
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    try:
        importlib.import_module("large_agent")
        code = AgentCode(str(folder))
        objects = Objects(code, {})
        values = Values(code, CallTracer(code), objects, Findings(code))
        for node in objects.walk():
            values.examine(node)
    finally:
        sys.modules.pop("large_agent", None)
    return objects.is_complete and values.is_complete


@pytest.mark.parametrize(
    ("table", "complete"),
    [
        ("[f'row {n}' for n in range(2_000)]", True),
        ("[f'row {n}' for n in range(2_001)]", False),
        ("[[f'row {n}' for n in range(1_800)] for _ in range(3)]", False),
    ],
)
def test_the_probe_reports_whether_it_compares_all_values(
    table: str, complete: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_complete(tmp_path, monkeypatch, table) is complete


def test_a_check_of_a_part_and_the_line_of_a_finding_are_reported_as_they_are() -> None:
    finding = {
        "kind": "id",
        "file": "agent.py",
        "line": 2,
        "paths": ["agent.RUN"],
        "made_by": "uuid.uuid4",
        "detail": "",
    }
    answer = {
        "format": 1, "findings": [finding], "leaves": {}, "start_up_s": 0.1, "is_complete": False, "is_restored": True,
        "is_warm": True,
    }  # fmt: skip
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("agent.py", "TEXT = 'a\x0cb\u2028c'\nRUN = uuid.uuid4()\r\n")
    checked = read_findings([json.dumps(answer).encode()] * 2, package.getvalue())
    assert checked.not_checked == ("some of the agent's values: it has more than the check compares",)
    assert checked.findings[0].source == "RUN = uuid.uuid4()"
