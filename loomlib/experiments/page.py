"""A study as static HTML: the answer, the table, the findings and the method. No script, no network."""

from __future__ import annotations

from loomlib.presentation.html import fragment

from .result import StudyRecord


def study_page(result: StudyRecord) -> str:
    """Return a study's page; untrusted text is escaped."""
    method, table = result.method(), result.text_table()
    marks = table.marks or [("", "")] * len(table.rows)
    rows = list(zip(table.rows, marks, strict=True))
    return str(
        fragment(
            "loomlib.experiments:study.html.j2",
            title=result.title(),
            sentences=result.sentences(),
            table=fragment("loomlib.experiments:table.html.j2", columns=table.columns, rows=rows),
            findings=[(f"{finding.title}.", finding.evidence, finding.advice) for finding in result.findings()],
            sections=result.sections(),
            notes=[*method.notes, *method.limits],
            run_again=method.run_again,
        )
    )
