"""The result of a search: its trials, what was kept, why it stopped, and how reliable it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loomlib.presentation.formats import MISSING, number, p_value, plural, score, signed
from loomlib.presentation.text import printable
from loomlib.redaction import SECRETS, Redactor

from ..compare import Comparison
from ..compare.page import folded, listed, page, table
from .trials import DROPPED, FAILED, KEPT, Trial

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("trial", "decision", "objective", "difference", "p", "allowed", "won", "lost", "why")


@dataclass(frozen=True, kw_only=True)
class ResearchResult:
    """The result of a search, also one in progress.

    Attributes:
        trials: The trials in order.
        environment: The variables of the best candidate.
        objective: The evaluator that decides.
        alpha: The error rate of all tests together.
        most_trials: The largest number of trials.
        stopped: Why the search stopped.
        baseline_run: The baseline's run.
        best_run: The best candidate's run.
        damaged: Number of unreadable lines in the journal.
        confirmation: The best candidate compared with the baseline on the held-out set, None without one.
        labels: Provenance labels.
    """

    trials: tuple[Trial, ...]
    environment: Mapping[str, str]
    objective: str
    alpha: float
    most_trials: int
    stopped: str
    baseline_run: str
    best_run: str
    damaged: int = 0
    confirmation: Comparison | None = None
    labels: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[Trial, ...]:
        """The trials whose changes make up the best candidate."""
        return tuple(trial for trial in self.trials if trial.decision == KEPT)

    def sentences(self) -> list[str]:
        """Return the result in sentences, followed by notes on how to read it."""
        count = {name: sum(trial.decision == name for trial in self.trials) for name in (KEPT, DROPPED, FAILED)}
        tried = plural(len(self.trials), "proposal")
        decisions = ", ".join(f"{n} {name}" for name, n in count.items() if n) or "none"
        sentences = [f"{tried} tried: {decisions}. Stopped because {self.stopped}."]
        if self.kept:
            start, end = self.kept[0].baseline, self.kept[-1].value
            if start is not None and end is not None:
                sentences.append(f"{self.objective} went from {score(start)} to {score(end)} on the set that "
                                 f"chose it, which overestimates the gain.")  # fmt: skip
        if self.confirmation is not None:
            sentences.append(f"On the held-out set: {self.confirmation[self.objective].sentence()}")
        elif self.kept:
            sentences.append("No held-out set confirms this.")
        tests = sum(trial.alpha > 0 for trial in self.trials)
        used = sum(trial.alpha for trial in self.trials)
        sentences.append(
            f"One paired test per proposal, {tests} so far, which spent {number(used)} of the error rate "
            f"{number(self.alpha)} for all {self.most_trials} (equal alpha spending, Bonferroni). The bound is weaker "
            f"when proposals are chosen after seeing earlier results on the same cases."
        )
        if self.damaged:
            sentences.append(f"Ignored {plural(self.damaged, 'line')} of the journal that could not be read.")
        if self.labels:
            sentences.append(f"Labels: {', '.join(self.labels)}.")
        return sentences

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row of text per trial, in the order of `COLUMNS`."""
        return [
            (
                f"{trial.number}. {trial.proposal.name}", trial.decision, score(trial.value),
                _difference(trial),
                p_value(trial.p_value), number(trial.alpha) if trial.alpha else MISSING, str(len(trial.won)),
                str(len(trial.lost)), trial.reason,
            )
            for trial in self.trials
        ]  # fmt: skip

    def table(self) -> pd.DataFrame:
        """Return one row of text per trial; `frame` has numbers."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS)).set_index("trial")

    def frame(self) -> pd.DataFrame:
        """Return one row of numbers per trial."""
        import pandas as pd

        names = ("number", "decision", "value", "baseline", "difference", "low", "high", "p_value", "alpha", "cases",
                 "run_id", "against", "seconds", "tokens", "cost", "reason")  # fmt: skip
        rows = [[trial.proposal.name, *(getattr(trial, name) for name in names)] for trial in self.trials]
        return pd.DataFrame(rows, columns=["proposal", *names])

    def __str__(self) -> str:
        lines = [f"{row[0]}: {row[1]} ({row[-1]})" for row in self.rows()]
        return printable("\n".join([*self.sentences(), *lines]))

    def _repr_html_(self) -> str:
        variables = Redactor(SECRETS).value(dict(self.environment))
        return page(
            f"Autoresearch for {self.objective}",
            self.sentences(),
            table(COLUMNS, self.rows()),
            folded("Variables of the best candidate", listed([f"{k}: {v}" for k, v in variables.items()])),
        )


def _difference(trial: Trial) -> str:
    if trial.difference is None:
        return MISSING
    return f"{signed(trial.difference, score)} [{score(trial.low)} to {score(trial.high)}]"
