"""Reads what the probe reports. The probe runs in the agent's process, so its report is untrusted."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, cast

from ..errors import LoomError
from ..presentation.text import one_line
from ..redaction import SECRETS, Redactor
from .finding import KINDS, SnapshotFinding

MOST_BYTES: Final = 8_000_000
_MOST_FINDINGS: Final = 500
_MOST_SOURCE_BYTES: Final = 2_000_000
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of two starts of an agent.

    Attributes:
        findings: The findings, by file and line.
        start_up_s: Seconds that the traced start-up took.
        not_checked: What could not be examined.
    """

    findings: tuple[SnapshotFinding, ...]
    start_up_s: float
    not_checked: tuple[str, ...] = ()


def read_findings(answers: Sequence[bytes], package: bytes) -> Checked:
    """Read the answers of two starts of the same package.

    The agent's own values that differ between the starts are created again at each start, so they are findings too.

    Args:
        answers: The probe's answer of each start.
        package: The agent's package; source lines are taken from it.

    Raises:
        LoomError: An answer is not a report.
    """
    documents = [_document(answer) for answer in answers]
    merged: dict[tuple[str, str, int], SnapshotFinding] = {}
    source = _SourceLines(package)
    for item in [*_items(documents), *_differences(documents)][:_MOST_FINDINGS]:
        kind, file, line = str(item["kind"]), one_line(str(item["file"]), 200), int(item["line"])
        previous = merged.get((kind, file, line))
        paths = tuple(one_line(str(path), 200) for path in item["paths"][:5])
        if previous is not None:
            continue
        merged[kind, file, line] = SnapshotFinding(
            kind=kind,
            file=file,
            line=line,
            source=source.line(file, line),
            made_by=one_line(str(item["made_by"]), 120),
            paths=paths,
            detail=one_line(str(item["detail"]), 200),
        )
    not_checked: list[str] = []
    if not all(document["is_complete"] for document in documents):
        not_checked.append("some of the agent's values: it has more than the check compares")
    if not all(document["is_restored"] for document in documents):
        not_checked.append("random generators of a restored copy: the copy did not answer")
    if not all(document["is_warm"] for document in documents):
        not_checked.append("the warm-up hook: it did not answer with status 2xx, so AgentCore would refuse the version")
    order = sorted(merged.values(), key=lambda finding: (finding.file, finding.line, KINDS.index(finding.kind)))
    return Checked(findings=tuple(order), start_up_s=float(documents[0]["start_up_s"]), not_checked=tuple(not_checked))


def _items(documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [item for document in documents[:1] for item in document["findings"]]


def _differences(documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return findings for the values that differ between the starts and that no other finding has."""
    first, second = documents[0]["leaves"], documents[-1]["leaves"]
    lines = {(item["file"], item["line"]) for item in documents[0]["findings"]}
    findings: list[Mapping[str, Any]] = []
    for path, (digest, kind, file, line, made_by) in first.items():
        other = second.get(path)
        if other is None or other[0] == digest or (file, line) in lines:
            continue
        findings.append(
            {
                "kind": kind,
                "file": file,
                "line": line,
                "paths": [path],
                "made_by": made_by or "a value that differs at each start",
                "detail": "two starts created different values",
            }
        )
    return findings


def _document(answer: bytes) -> Mapping[str, Any]:
    try:
        if len(answer) > MOST_BYTES:
            raise ValueError("it is too large")
        document = json.loads(answer)
        if document["format"] != _FORMAT:
            raise ValueError("its format is unknown")
        for item in document["findings"]:
            if item["kind"] not in KINDS or not isinstance(item["line"], int) or not isinstance(item["paths"], list):
                raise ValueError("a finding is malformed")
            if not all(isinstance(item[name], str) for name in ("file", "made_by", "detail")):
                raise ValueError("a finding is malformed")
        for _digest, kind, file, line, made_by in document["leaves"].values():
            if kind not in KINDS or (type(file), type(line), type(made_by)) != (str, int, str):
                raise ValueError("a value is malformed")
        if not isfinite(document["start_up_s"]):
            raise ValueError("the time of the start-up is not a number")
        document["is_complete"], document["is_restored"], document["is_warm"]  # pyright: ignore[reportUnusedExpression]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise LoomError(
            f"The check's process did not report in the expected form: {one_line(str(error))}",
            on="the agent's process",
            try_="run the agent with `loom invoke`; its log shows whether it starts",
        ) from error
    return cast("Mapping[str, Any]", document)


class _SourceLines:
    """Lines of the package's files, with secrets redacted."""

    def __init__(self, package: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(package))
        self._lines: dict[str, list[str]] = {}
        self._redactor = Redactor(SECRETS)

    def line(self, file: str, line: int) -> str:
        """Return one line, "" when the package does not have it."""
        if file not in self._lines:
            try:
                with self._archive.open(file) as opened:
                    text = opened.read(_MOST_SOURCE_BYTES).decode("utf-8", "replace")
            except (KeyError, OSError, zipfile.BadZipFile, RuntimeError, ValueError):
                text = ""
            self._lines[file] = text.split("\n")
        lines = self._lines[file]
        return one_line(self._redactor.redact(lines[line - 1]).text, 160) if 0 < line <= len(lines) else ""
