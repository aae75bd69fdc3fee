"""Create one report: check, run, redact, render, store."""

from __future__ import annotations

import json
import logging
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from loomlib.errors import ReportError
from loomlib.settings import Settings
from loomlib.statistics.gates import MISSED, UNCLEAR

from .catalogue import find_report
from .destination import Destination, NameTakenError, open_destination
from .execution import Failure, execute
from .notebook import Notebook, as_node, notebook_text
from .page import PageFacts, render_page
from .parameters import ParameterValue, bind_parameters, read_parameters
from .redaction import ReportRedactor, secrets_in, secrets_of_home
from .summary import SCHEMA, gate_sentences, json_ready, stated_summary, versions

_log = logging.getLogger(__name__)

_EXIT_CELL_FAILED = 1
_EXIT_GATE_MISSED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOutcome:
    """The files of a finished report: paths, or `s3://` addresses.

    `exit_code` is 0, or 1 when a cell failed, or 2 when a gate was missed; `message` states the outcome in a sentence.
    """

    exit_code: int
    html: str
    notebook: str
    summary_path: str
    summary: Mapping[str, Any] = field(repr=False)
    message: str


def run_report(
    name_or_path: str | Path,
    parameters: Mapping[str, ParameterValue] | None = None,
    out: str = "reports",
    *,
    settings: Settings | None = None,
    say: Callable[[str], None] | None = None,
    environment: Mapping[str, str] | None = None,
    timestamp: datetime | None = None,
    redact: bool = True,
) -> ReportOutcome:
    """Run a report and store its notebook, its page and its JSON summary in `out` (a folder or `s3://bucket/prefix`).

    A failing cell is an outcome (exit code 1), not an exception: the output up to that point is stored nevertheless.
    Secrets are never written to a file.

        run_report("latency_study", {"agent": "calculator", "cold": "10"}, out="reports")

    Args:
        name_or_path: A shipped report, one of a plugin, or the path of a notebook with a cell tagged `parameters`.
        parameters: Values by name, as text or plain values; names and types are checked against the notebook first, and
            the notebook's defaults apply to the others.
        out: A folder, or `s3://bucket/prefix`.
        settings: Home folder, region and profile; read from the environment and `loom.toml` by default.
        say: Called with one line of progress at a time; the lines are logged by default.
        environment: Variables added to the kernel's environment; they also select the S3 endpoint of `out`.
        timestamp: The time in the files' names; now by default.
        redact: Replace passwords in words and personal data (e-mail addresses, phone, card and identity numbers) too.

    Returns:
        The exit code, the message and the addresses of the three files.

    Raises:
        ReportError: There is no such report, a parameter is unknown or of another type, or the files cannot be written.
    """
    resolved = settings or Settings.load()
    tell = say or _log.info
    path = find_report(name_or_path)
    declared_parameters = read_parameters(path)
    bound = bind_parameters(declared_parameters, parameters or {}, report=path.stem)
    begun_at = (timestamp or datetime.now()).astimezone()
    extra = {"LOOM_HOME": str(resolved.home), "PLOTLY_RENDERER": "plotly_mimetype", **(environment or {})}
    destination = open_destination(out, region=resolved.region, profile=resolved.profile, environment=environment)

    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="loom-report-") as folder:
        notebook, failure = execute(path, Path(folder) / path.name, bound, environment=extra, say=tell)
    took_s = time.monotonic() - begun

    known_values = {**os.environ, **extra, "database_url": resolved.database_url}
    secrets = [*secrets_in(known_values), *secrets_of_home(resolved.home)]
    redactor = ReportRedactor(secrets, personal=redact)
    _redact(notebook, redactor, code=ReportRedactor(secrets))
    stated = stated_summary(notebook)
    exit_code, message = _verdict(failure, gate_sentences(stated, MISSED), gate_sentences(stated, UNCLEAR))
    facts = PageFacts(
        report=path.stem,
        command=redactor.text(_command(name_or_path, bound, out)),
        parameters=redactor.value(
            {parameter.name: bound.get(parameter.name, parameter.default) for parameter in declared_parameters}
        ),
        begun_at=begun_at,
        took_s=took_s,
        versions=versions(),
        failure=redactor.text(str(failure)) if failure else "",
        summary=stated,
    )
    stem, notebook_path = _first_written(destination, path.stem, begun_at, notebook_text(notebook).encode())
    summary = _summary(facts, exit_code=exit_code, message=redactor.text(message), stem=stem)
    return ReportOutcome(
        exit_code=exit_code,
        message=str(summary["message"]),
        notebook=notebook_path,
        html=destination.write(f"{stem}.html", render_page(notebook, facts).encode(), "text/html; charset=utf-8"),
        summary_path=destination.write(
            f"{stem}.json",
            (json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(),
            "application/json",
        ),
        summary=summary,
    )


def _first_written(destination: Destination, report: str, begun_at: datetime, content: bytes) -> tuple[str, str]:
    """Store the executed notebook under a name that no other report has.

    Writing reserves the name, so that two reports of the same minute never share files, whichever starts or ends first.

    Returns:
        The stem of the report's files, and where the notebook is.
    """
    forms = ("%Y%m%d-%H%M", "%Y%m%d-%H%M%S", "%Y%m%d-%H%M%S-%f")
    stems = [f"{report}-{begun_at.strftime(form)}" for form in forms]
    for stem in [*stems, *(f"{stems[-1]}-{count}" for count in range(2, 100))]:
        if any(destination.exists(f"{stem}.{suffix}") for suffix in ("ipynb", "html", "json")):
            continue
        try:
            return stem, destination.write(f"{stem}.ipynb", content, "application/x-ipynb+json", new=True)
        except NameTakenError:
            continue
    raise ReportError("A report with the same time exists already", on=report, try_="run it again")


def _command(name_or_path: str | Path, bound: Mapping[str, ParameterValue], out: str) -> str:
    words = ["loom", "report", str(name_or_path)]
    for name, value in bound.items():
        words += ["-p", f"{name}={value}"]
    return shlex.join([*words, "--out", out])


def _verdict(failure: Failure | None, missed: list[str], unclear: list[str]) -> tuple[int, str]:
    if failure is not None:
        return _EXIT_CELL_FAILED, str(failure)
    if missed:
        return _EXIT_GATE_MISSED, " ".join([*missed, *unclear])
    return 0, " ".join(["done.", *unclear]) if unclear else "done"


def _redact(notebook: Notebook, redactor: ReportRedactor, *, code: ReportRedactor) -> None:
    for cell in notebook.cells:
        has_values = "injected-parameters" in cell.metadata.get("tags", ())
        cell.source = (redactor if has_values else code).text(cell.source)
        if "outputs" in cell:
            cell.outputs = [as_node(redactor.value(output)) for output in cell.outputs]
    # papermill stores the values of the parameters a second time.
    if "papermill" in notebook.metadata:
        notebook.metadata["papermill"] = as_node(redactor.value(notebook.metadata["papermill"]))
    # Widget state duplicates the outputs; it is larger and never drawn.
    notebook.metadata.pop("widgets", None)


def _summary(facts: PageFacts, *, exit_code: int, message: str, stem: str) -> dict[str, Any]:
    return json_ready(
        {
            **facts.summary,
            "schema": SCHEMA,
            "report": facts.report,
            "name": stem,
            "exit_code": exit_code,
            "message": message,
            "failure": facts.failure or None,
            "begun_at": facts.begun_at.isoformat(timespec="seconds"),
            "took_s": round(facts.took_s, 3),
            "parameters": facts.parameters,
            "command": facts.command,
            "versions": {**facts.summary.get("versions", {}), **facts.versions},
        }
    )
