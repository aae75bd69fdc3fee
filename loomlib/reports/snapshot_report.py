"""The report on an agent's snapshot safety: its verdict with the gate, and the method of the check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loomlib.presentation.formats import date_time, plural, seconds

from .displays import Listing, Verdict

if TYPE_CHECKING:
    from loomlib.snapshot_check import SnapshotReport

FORMAT: Final = "loom.snapshot-check/1"
"""The `format` of the JSON summary."""

_SHOWN: Final = 3


def snapshot_verdict(report: SnapshotReport, *, max_findings: int = -1) -> Verdict:
    """Return the answer as a box.

    Args:
        report: The result of a check.
        max_findings: Gate: the largest accepted number of findings; -1 for no gate.
    """
    gates = [_gate(report, max_findings)] if max_findings >= 0 else []
    kinds = [f"{plural(count, 'finding')} of kind {kind}" for kind, count in report.counts().items()]
    return Verdict(
        title=" · ".join([f"snapshot safety of {report.name}", *report.labels, date_time(report.checked_at)]),
        sentences=[
            f"{report.sentence()}.",
            *(f"{item.where}: {item.what}. {item.fix}" for item in report.findings[:_SHOWN]),
        ],
        gates=[(str(gate["outcome"]), str(gate["sentence"])) for gate in gates],
        summary={"format": FORMAT, **report.to_dict(), "kinds": kinds, "gates": gates},
    )


def snapshot_notes(report: SnapshotReport) -> Listing:
    """Return how the agent was checked, and the limitations of the check."""
    notes = [
        "The agent's package was started twice in a temporary runtime of the local AgentCore, and each process was "
        "copied twice without the interpreter's fork hooks, as a restored microVM runs none.",
        f"Its traced start took {seconds(report.start_up_s)}; tracing slows it down.",
        "A finding names the line that creates a value, never the value; secrets in source lines are redacted.",
    ]
    limits = [
        "Values that the agent creates in its first request: they are not in the snapshot.",
        "Ids and clock values that a library keeps internally.",
        *report.not_checked,
    ]
    return Listing(items=[*(("", note, "") for note in notes), *(("Not covered:", limit, "") for limit in limits)])


def _gate(report: SnapshotReport, most: int) -> dict[str, Any]:
    count = len(report.findings)
    if count > most:
        outcome, sentence = "missed", f"Gate missed: {plural(count, 'finding')}, at most {most} accepted."
    elif report.not_checked:
        outcome, sentence = "unclear", f"Gate unclear: not checked: {'; '.join(report.not_checked)[:300]}."
    else:
        outcome, sentence = "passed", f"Gate passed: {plural(count, 'finding')}, at most {most} accepted."
    return {"name": "findings", "outcome": outcome, "findings": count, "limit": most, "sentence": sentence}
