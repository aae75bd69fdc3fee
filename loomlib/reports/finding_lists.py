"""The findings of a diagnosis as a numbered list of a report."""

from __future__ import annotations

from loomlib.presentation.formats import milliseconds, percent
from loomlib.presentation.text import one_line
from loomlib.telemetry.diagnosis import Diagnosis, LatencyFinding

from .displays import Listing

NUMBERS = "①②③④⑤⑥⑦⑧⑨⑩"
"""The numbers of the findings, in lists and charts."""


def plain_title(finding: LatencyFinding) -> str:
    """Return a finding's title in one line, without backquotes, which a page would show literally."""
    return one_line(finding.title.replace("`", ""))


def finding_list(diagnosis: Diagnosis, *, nothing: str) -> Listing:
    """Return findings as a numbered list.

    Args:
        diagnosis: The findings.
        nothing: The sentence for no findings.
    """
    return Listing(
        items=[
            (
                f"{NUMBERS[rank]} {plain_title(finding)}." if rank < len(NUMBERS) else f"{plain_title(finding)}.",
                f"{milliseconds(finding.ms_at_stake)} at stake ({percent(finding.share)}). "
                + _sentence("; ".join(evidence.text for evidence in finding.evidence[:6]))
                + f" Confidence {finding.confidence}: {finding.because}.",
                " ".join(map(_sentence, finding.try_)),
            )
            for rank, finding in enumerate(diagnosis.findings)
        ],
        nothing=nothing,
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
