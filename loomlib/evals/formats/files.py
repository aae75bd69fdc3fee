"""Reading and writing eval sets: recognizes the format, reads all or nothing, writes whole files and reports losses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Final, cast

from loomlib.errors import InvalidEvalSetError, LoomError
from loomlib.jobs import whole_file

from ..values.cases import EvalCase
from ..values.eval_set import EvalSet
from ..values.losses import Losses
from . import adk, adk_config, adk_write, agentcore, csv_text, jsonl, native, strands
from .detect import ADK, AGENTCORE, CSV, JSONL, LOOM, ROWS, STRANDS, form_of_document, form_of_lines
from .fields import report_duplicates
from .json_text import lines_of, parse
from .losses import measure
from .native import read_case
from .problems import Problems
from .rows import case_documents
from .shipped import shipped_names, shipped_path, suggest_set
from .source import Source, stem_of

FORMATS: Final = (LOOM, JSONL, CSV, ADK, STRANDS, AGENTCORE)
"""The names of the formats: Loom's JSON and JSON Lines, CSV, and those of other tools."""

_READERS: Final[Mapping[str, Callable[[Any, str, Problems], EvalSet | None]]] = {
    LOOM: native.read_document,
    ADK: adk.read_document,
    STRANDS: strands.read_document,
    AGENTCORE: agentcore.read_document,
}
_WRITERS: Final[Mapping[str, tuple[Callable[[EvalSet], str], Mapping[str, str]]]] = {
    ADK: (adk_write.write_text, adk_write.REASONS),
    STRANDS: (strands.write_text, strands.REASONS),
    AGENTCORE: (agentcore.write_text, agentcore.REASONS),
    CSV: (
        csv_text.write_text,
        {
            f"set.{name}": "a table contains only cases"
            for name in ("name", "version", "description", "evaluators", "metadata")
        },
    ),
}
_SUFFIXES: Final = {".evalset.json": ADK, ".jsonl": JSONL, ".ndjson": JSONL, ".csv": CSV, ".json": LOOM}


def read(source: str | os.PathLike[str], format: str | None = None) -> EvalSet:
    """Read an eval set.

    Args:
        source: A path, the content of a file, or the name of a shipped set.
        format: One of `FORMATS`; None detects it from the content.

    Raises:
        InvalidEvalSetError: The content is invalid or there is no such set; lists every problem.
    """
    _check_format(format)
    source_file = Source.of(shipped_path(source) or source)
    try:
        form = format or form_of_lines(source_file)
        return _read(source_file, form)
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidEvalSetError):
            raise
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        missing = isinstance(error, FileNotFoundError)
        raise InvalidEvalSetError(
            "There is no such eval set" if missing else f"The eval set cannot be opened: {reason}",
            on=source_file.label[:200],
            try_=suggest_set(str(source)) if missing else "give the path of a file, or its text",
        ) from error


def shipped_sets() -> dict[str, EvalSet]:
    """Return the eval sets that ship with Loom, by name.

    Examples:
        >>> evals.shipped_sets()["calculator"]
    """
    return {name: read(path) for name in shipped_names() if (path := shipped_path(name)) is not None}


def _check_format(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")


def _read(source: Source, form: str) -> EvalSet:
    problems = Problems(source.label)
    if form == JSONL:
        evalset = jsonl.read_lines(source.lines(problems), source.name, problems)
    elif form == CSV:
        rows = csv_text.read_rows(source.lines(problems), problems)
        evalset = _of_rows(rows, source.name, problems)
    else:
        evalset = _read_document(source, form, problems)
    problems.raise_if_any()
    if evalset is None:
        raise InvalidEvalSetError("the file contains no eval set", on=source.label, try_="give a file with an eval set")
    return evalset


def _of_rows(rows: Iterable[tuple[int | None, Mapping[str, Any]]], name: str, problems: Problems) -> EvalSet | None:
    cases: list[EvalCase | None] = []
    lines: list[int | None] = []
    for n, (line, document) in enumerate(case_documents(rows, problems)):
        before = len(problems.items)
        cases.append(read_case(document, ("cases", n), problems))
        lines.append(line)
        problems.items[before:] = [replace(problem, line=problem.line or line) for problem in problems.items[before:]]
    before = len(problems.items)
    report_duplicates([case.id if case else None for case in cases], ("cases",), "id", problems)
    problems.items[before:] = [
        replace(problem, line=lines[int(problem.path[1])]) if len(problem.path) > 1 else problem
        for problem in problems.items[before:]
    ]
    return None if problems.count else EvalSet(name=name, cases=tuple(case for case in cases if case))


def _read_document(source: Source, form: str, problems: Problems) -> EvalSet | None:
    text = source.text(problems)
    document = None if problems.count else parse(text, problems)
    if problems.count:
        return None
    form = form or form_of_document(document, problems)
    if form == ROWS:
        return _of_rows(_objects(cast("Sequence[Any]", document), problems), source.name, problems)
    if form and not isinstance(document, Mapping) and not (form == ADK and isinstance(document, list)):
        problems.add((), "this is not a JSON object", "put an object here: {…}")
    value = cast("Any", document)
    evalset = _READERS[form](value, source.name, problems) if form and not problems.count else None
    problems.locate(partial(lines_of, text))
    if evalset is not None and form == ADK and source.path is not None:
        return _with_config(evalset, source.path.with_name(adk_config.FILE_NAME))
    return evalset


def _objects(members: Sequence[Any], problems: Problems) -> Iterator[tuple[None, Mapping[str, Any]]]:
    for n, member in enumerate(members):
        if isinstance(member, Mapping):
            yield None, cast("Mapping[str, Any]", member)
        else:
            problems.add((n,), "this is not an object", "put a case here: {…}")


def _with_config(evalset: EvalSet, path: FilePath) -> EvalSet:
    """Add the criteria of a `test_config.json` in the same folder, when there is one."""
    return _configured(evalset, Source(path.name, path.name, path)) if path.is_file() else evalset


def _configured(evalset: EvalSet, source: Source) -> EvalSet:
    problems = Problems(source.label)
    text = source.text(problems)
    document = None if problems.count else parse(text, problems)
    problems.raise_if_any()
    evaluators, extras = adk_config.read_config(document, problems)
    problems.locate(partial(lines_of, text))
    problems.raise_if_any()
    metadata = dict(evalset.metadata)
    if extras:
        metadata[adk.METADATA_KEY] = {**metadata.get(adk.METADATA_KEY, {}), **extras}
    return replace(evalset, evaluators=evaluators, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A set as text, the text of its `test_config.json` (ADK), and the fields that neither could represent."""

    parts: Iterable[str]
    config: str | None = None
    losses: Losses = field(default_factory=lambda: Losses(""))


def render(evalset: EvalSet, format: str = LOOM, *, name: str | None = None) -> Rendered:
    """Return a set as text. Loom's formats lose nothing; text in other formats is read back to find the losses.

    Args:
        evalset: The set.
        format: One of `FORMATS`.
        name: The set's name when a format without names is read back, which is the file's name.
    """
    _check_format(format)
    if format == LOOM:
        return Rendered(parts=[native.write_text(evalset)], losses=Losses(format))
    if format == JSONL:
        return Rendered(parts=jsonl.write_lines(evalset), losses=Losses(format))
    write_text, reasons = _WRITERS[format]
    text = write_text(evalset)
    again = _read(Source(name or evalset.name, "the written text", None, text), format)
    config = None
    if format == ADK:
        extras: Any = evalset.metadata.get(adk.METADATA_KEY)
        config = adk_config.write_text(
            evalset.evaluators, cast("Mapping[str, Any]", extras) if isinstance(extras, Mapping) else {}
        )
        if config is not None:
            again = _configured(again, Source("", "the written configuration", None, config))
    return Rendered(parts=[text], config=config, losses=measure(evalset, again, format, reasons))


def format_of_path(path: str | os.PathLike[str]) -> str:
    """Return the format of a file extension; `.evalset.json` is ADK's, `.json` is Loom's."""
    name = FilePath(path).name
    for suffix, form in _SUFFIXES.items():
        if name.endswith(suffix):
            return form
    raise ValueError(f"cannot detect the format from {name!r}: pass format=, one of {', '.join(FORMATS)}")


def write(evalset: EvalSet, path: str | os.PathLike[str], format: str | None = None, *, strict: bool = False) -> Losses:
    """Write a set. A file is written whole or not at all; ADK's criteria go into `test_config.json` in its folder.

    Args:
        evalset: The set.
        path: The file.
        format: One of `FORMATS`; None detects it from the file extension.
        strict: Raise an error instead of writing a file that loses something.

    Returns:
        The fields that the format cannot represent.
    """
    target = FilePath(path)
    form = format or format_of_path(target)
    rendered = render(evalset, form, name=stem_of(target))
    if strict and rendered.losses:
        raise LoomError(
            str(rendered.losses),
            on=target.name,
            try_="write it without strict, or in Loom's own format (.json, .jsonl)",
        )
    config = target.with_name(adk_config.FILE_NAME)
    has_config = form == ADK and _may_configure(target, config, rendered.config)
    _replace(target, rendered.parts)
    if has_config:
        _replace(config, [rendered.config or '{"criteria": {}}\n'])
    return rendered.losses


def _may_configure(target: FilePath, config: FilePath, text: str | None) -> bool:
    """Return whether to write the configuration; refuse to change the criteria of other sets in the folder."""
    if not config.exists():
        return text is not None
    if text is not None and config.read_bytes() == text.encode():
        return False
    others = [*target.parent.glob("*.evalset.json"), *target.parent.glob("*.test.json")]
    if not target.exists() or any(other.name != target.name for other in others):
        raise LoomError(
            "the folder's test_config.json has other criteria, which apply to every eval set in the folder",
            on=target.name,
            try_="write into a separate folder, or remove that file",
        )
    return True


def _replace(path: FilePath, parts: Iterable[str]) -> None:
    """Write a file; the old one stays until the new one is complete."""
    with whole_file("The eval set", path, private=False) as file:
        file.writelines(parts)
