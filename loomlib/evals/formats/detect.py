"""Detect the format of a file or a text by its content, and by the file extension where the content is ambiguous."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, cast

from .csv_text import delimiter_of
from .native import MARK
from .problems import Problems
from .rows import canonical
from .source import Source

LOOM, ADK, STRANDS, AGENTCORE, JSONL, CSV, ROWS = "loom", "adk", "strands", "agentcore", "jsonl", "csv", "rows"

_KEYS: Final = (
    (MARK, LOOM), ("eval_cases", ADK), ("evalCases", ADK), ("eval_set_id", ADK), ("evalSetId", ADK),
    ("scenarios", AGENTCORE), ("data", ADK),
)  # fmt: skip

_NOT_SETS: Final = (
    ("criteria", "this is a test_config.json of ADK", "read the eval set beside it: its criteria are read with it"),
    ("evaluationInput", "this is a request to AgentCore's Evaluate", "read the dataset that it was created from"),
    ("overall_score", "this is a report of strands_evals", "read the experiment that it reports on"),
    ("traces", "this is a session of strands_evals", "capture it as a case instead"),
    ("resourceSpans", "these are spans", "capture their trace as a case instead"),
    ("eval_set_result_id", "this is a result of ADK", "read the eval set that was evaluated"),
)
_FIX: Final = "read a Loom, ADK, strands_evals or AgentCore file, JSON lines, or a CSV table with a prompt column"


def form_of_lines(source: Source) -> str:
    """Return `jsonl` or `csv` by the first lines, "" for one document or an unknown format."""
    if source.path is not None and source.path.is_dir():
        raise IsADirectoryError(source.label)
    lines = source.lines(Problems(""))
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip()[:1] == "{":
        return JSONL if _is_json_line(first, lines, source.label) else ""
    if first.lstrip()[:1] == "[":
        return ""
    columns = [name.strip().strip('"') for name in first.strip().split(delimiter_of(first))]
    has_prompt = "prompt" in canonical(columns).values()
    return CSV if has_prompt or source.label.endswith((".csv", ".tsv")) else ""


def _is_json_line(first: str, rest: Iterator[str], label: str) -> bool:
    is_named_so = label.endswith((".jsonl", ".ndjson"))
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        # Either a document over several lines, or a broken first line; in that case the second line is a whole object.
        second = next((line for line in rest if line.strip()), "")
        return _is_object(second) or (is_named_so and second.lstrip()[:1] in ("", "{"))
    if any(line.strip() for line in chain(rest)):
        return True
    return is_named_so or not (value.keys() & {"cases", "eval_cases", "evalCases", "scenarios", "data", *_not_sets()})


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _not_sets() -> set[str]:
    return {key for key, _, _ in _NOT_SETS}


def form_of_document(document: object, problems: Problems) -> str:
    """Return the format of a parsed JSON document; "" after adding a problem when it is unknown."""
    if isinstance(document, (list, tuple)):
        return _form_of_list(cast("Sequence[object]", document), problems)
    if isinstance(document, Mapping):
        values = cast("Mapping[str, Any]", document)
        for key, problem, fix in _NOT_SETS:
            if key in values:
                problems.add((), problem, fix)
                return ""
        for key, form in _KEYS:
            if key in values:
                return form
        if "cases" in values:
            return STRANDS if "evaluators" in values or _has_input(values["cases"]) else LOOM
    problems.add((), "this is not an eval set in a known format", _FIX)
    return ""


def _form_of_list(values: Sequence[object], problems: Problems) -> str:
    first: Mapping[str, Any] = {}
    if values and isinstance(values[0], Mapping):
        first = cast("Mapping[str, Any]", values[0])
    if "data" in first or ("query" in first and first.keys() & {"expected_tool_use", "reference"}):
        return ADK
    if "prompt" in canonical(first).values():
        return ROWS
    problems.add((), "this is a list, but not one of cases", _FIX)
    return ""


def _has_input(cases: object) -> bool:
    members = cast("Sequence[object]", cases) if isinstance(cases, (list, tuple)) else ()
    return any(isinstance(case, Mapping) and "input" in case for case in members)
