"""Eval sets as JSON Lines: one case per line, in Loom's format, after a line with the set's own fields.

    {"loom_evalset":1,"name":"orders"}
    {"id":"status","turns":[{"prompt":"Where is order 7?","expected_answer":"It is shipped."}]}

The first line may be left out. A line may also be a simple row ({"prompt": …, "expected": …}; see `rows`) or an
AgentCore scenario. Lines are read one at a time, so a long file needs no more memory than its cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, cast

from ..values.cases import EvalCase
from ..values.eval_set import EvalSet
from . import agentcore
from .fields import Fields
from .json_text import dump, parse
from .native import MARK, case_fields, read_case, read_head, set_fields
from .problems import Problems, display_value
from .rows import case_documents


def write_lines(evalset: EvalSet) -> Iterator[str]:
    """Yield the lines of the set, each with its line end."""
    yield dump(set_fields(evalset)) + "\n"
    for case in evalset.cases:
        yield dump(case_fields(case)) + "\n"


def read_lines(lines: Iterable[str], name: str, problems: Problems) -> EvalSet | None:
    """Return the set in JSON Lines; None when `problems` has an entry.

    Args:
        lines: The lines.
        name: The set's name unless the lines have one.
        problems: Collects the problems.
    """
    head: dict[str, Any] = {"name": name}
    documents = _documents(lines, problems)
    cases: list[EvalCase] = []
    ids: dict[str, int] = {}
    for line, document in _cases_of(documents, head, problems):
        before = len(problems.items)
        read = agentcore.read_scenario if agentcore.is_scenario(document) else read_case
        case = read(document, (), problems)
        _give_lines(problems, before, line)
        if case is None:
            continue
        if case.id in ids:
            problem = f"the id {display_value(case.id)} is already used in line {ids[case.id]}"
            problems.add(("id",), problem, "give every case its own id", line=line)
        else:
            ids[case.id] = line or 0
            cases.append(case)
    return None if problems.count else EvalSet(cases=tuple(cases), **head)


def _documents(lines: Iterable[str], problems: Problems) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        before = problems.count
        value = parse(text, problems, line=number)
        if isinstance(value, Mapping):
            yield number, cast("Mapping[str, Any]", value)
        elif problems.count == before:
            problems.add((), f"this is {display_value(value)}", "put one case on each line: {…}", line=number)


def _cases_of(
    documents: Iterator[tuple[int, Mapping[str, Any]]], head: dict[str, Any], problems: Problems
) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    """Yield documents of cases in the order of the lines, also from simple rows."""
    count = 0
    for kind, group in groupby(documents, key=lambda pair: _kind(pair[1])):
        if kind == "rows":
            for line, document in case_documents(group, problems, start=count):
                count += 1
                yield line, document
        elif kind == "case":
            for line, document in group:
                count += 1
                yield line, document
        else:
            for line, document in group:
                before = len(problems.items)
                fields = Fields(document, (), problems)
                head.update(read_head(fields, head["name"]))
                fields.nothing_else()
                _give_lines(problems, before, line)


def _kind(document: Mapping[str, Any]) -> str:
    if MARK in document:
        return "head"
    return "case" if "turns" in document or "scenario" in document or agentcore.is_scenario(document) else "rows"


def _give_lines(problems: Problems, start: int, line: int | None) -> None:
    for n in range(start, len(problems.items)):
        problem = problems.items[n]
        if problem.line is None:
            problems.items[n] = type(problem)(path=problem.path, what=problem.what, fix=problem.fix, line=line)
