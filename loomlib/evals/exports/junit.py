"""A run as JUnit XML, with one test case per case.

A case that did not pass is a failure; a missing answer or verdict is an error, also of a case that a stopped run never
reached; a case to which no evaluator applies is skipped. A case with repeats fails when one of them does.

The format is the one that Jenkins, GitLab and GitHub Actions read (`testsuites` with one `testsuite`). XML 1.0 allows
neither control characters nor lone surrogates, not even escaped: each becomes U+FFFD.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from loomlib.jobs import whole_file
from loomlib.presentation.formats import number, plural

from ..compare import GateVerdict
from ..runs.case_results import case_results
from ..runs.eval_run import EvalRun
from ..values.case_states import FAILED, NOT_ANSWERED, NOT_APPLICABLE, NOT_JUDGED, CaseResult
from ..values.cases import EvalCase
from .case_text import describe, headline

_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""https://www.w3.org/TR/xml/#charsets"""
_ELEMENTS: Final = {FAILED: "failure", NOT_ANSWERED: "error", NOT_JUDGED: "error", NOT_APPLICABLE: "skipped"}


def junit_xml(run: EvalRun, gates: Sequence[GateVerdict] = ()) -> str:
    """Return the document as text.

    Args:
        run: The run.
        gates: Gates to include as test cases: a missed gate fails, an unclear one is skipped.
    """
    counted: Counter[str] = Counter()
    cases: list[str] = []
    suite = f"{run.evalset.name} · {run.target.name}"
    seconds = 0.0
    unasked_cases = {case.id: case for case in run.evalset.cases}
    for result in case_results(run):
        del unasked_cases[result.case.id]
        element = _ELEMENTS.get(result.state, "")
        took = sum(judgement.answer.duration_ms or 0.0 for judgement in result.judgements) / 1000
        seconds += took
        unasked_repeats = run.repeats - len(result.judgements)
        if unasked_repeats and not element:
            element, why = "error", f"{number(unasked_repeats, 0)} of {plural(run.repeats, 'repeat')} not asked"
            cases.append(_unasked(run, result.case, took, why))
        else:
            cases.append(_case(result, element, took, run.target.name))
        counted[element] += 1
    cases += [_unasked(run, case, 0.0, "not asked") for case in unasked_cases.values()]
    counted["error"] += len(unasked_cases)
    for gate in gates:
        element = {"missed": "failure", "unclear": "skipped"}.get(gate.outcome, "")
        counted[element] += 1
        name = f"gate: {gate.evaluator}"
        cases.append(_testcase(name, "loom.gates", 0.0, element, gate.outcome, gate.sentence(), gate.sentence()))
    numbers = (
        f'tests="{counted.total()}" failures="{counted["failure"]}" errors="{counted["error"]}" '
        f'skipped="{counted["skipped"]}" time="{seconds:.3f}"'
    )
    facts = _properties(
        [("run", run.id), ("state", run.state), ("target", run.target.key), ("set", run.evalset.digest)]
        + [("label", label) for label in run.labels]
    )
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuites {numbers}>",
            f"<testsuite name={_attribute(suite)} {numbers}>",
            facts,
            *cases,
            "</testsuite>",
            "</testsuites>",
            "",
        ]
    )


def write_junit(run: EvalRun, path: str | PathLike[str], gates: Sequence[GateVerdict] = ()) -> Path:
    """Write the document to a file.

    Args:
        run: The run.
        path: The file; missing folders are created.
        gates: Gates to include.

    Returns:
        The file.
    """
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file("The JUnit file", file, private=False) as opened:
        opened.write(junit_xml(run, gates))
    return file


def _case(result: CaseResult, element: str, took: float, target: str) -> str:
    message, text = (headline(result), describe(result)) if element else ("", "")
    facts = [("tag", tag) for tag in result.case.tags]
    return _testcase(result.case.id, f"loom.{target}", took, element, result.state, message, text, facts)


def _unasked(run: EvalRun, case: EvalCase, took: float, why: str) -> str:
    message = f"{why}: {run.reason}" if run.reason else why
    text = f"{message}\nrun_id={run.id!r} resumes the run." if run.state != "complete" else message
    facts = [("tag", tag) for tag in case.tags]
    return _testcase(case.id, f"loom.{run.target.name}", took, "error", NOT_ANSWERED, message, text, facts)


def _testcase(
    name: str,
    classname: str,
    took: float,
    element: str,
    kind: str,
    message: str,
    text: str,
    facts: Iterable[tuple[str, str]] = (),
) -> str:
    head = f'<testcase name={_attribute(name)} classname={_attribute(classname)} time="{took:.3f}"'
    inside = _properties(facts)
    if element == "skipped":
        inside += f"<skipped message={_attribute(message)}/>"
    elif element:
        inside += f"<{element} type={_attribute(kind)} message={_attribute(message)}>{_text(text)}</{element}>"
    return f"{head}>{inside}</testcase>" if inside else f"{head}/>"


def _properties(facts: Iterable[tuple[str, str]]) -> str:
    properties = "".join(f"<property name={_attribute(name)} value={_attribute(value)}/>" for name, value in facts)
    return f"<properties>{properties}</properties>" if properties else ""


def _attribute(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _text(text: str) -> str:
    return escape(_clean(text), {"\r": "&#13;"})


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
