"""What a research found: its trials, what was kept, why it stopped, and how much to believe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loomlib.presentation.formats import plural

from ..compare import Comparison
from ..compare.words import p_text, printable, score_text
from .trials import DROPPED, FAILED, KEPT, Trial

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("trial", "decision", "objective", "difference", "p", "allowed", "won", "lost", "why")


@dataclass(frozen=True, kw_only=True)
class ResearchResult:
    """A research as it stands. `environment` are the variables of the best; `confirmation` compares it with the
    baseline on the held-out set, None when there is none. `damaged` counts lines of the journal that were passed over.
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
        """The trials whose changes the best is made of."""
        return tuple(trial for trial in self.trials if trial.decision == KEPT)

    def sentences(self) -> list[str]:
        """What was found first, then how to read it."""
        count = {name: sum(trial.decision == name for trial in self.trials) for name in (KEPT, DROPPED, FAILED)}
        tried = plural(len(self.trials), "proposal")
        found = ", ".join(f"{number} {name}" for name, number in count.items() if number) or "none"
        told = [f"{tried} tried: {found}. Stopped because {self.stopped}."]
        if self.kept:
            start, end = self.kept[0].baseline, self.kept[-1].value
            if start is not None and end is not None:
                told.append(f"{self.objective} went from {score_text(start)} to {score_text(end)} on the set it was "
                            f"chosen by, which flatters it.")  # fmt: skip
        if self.confirmation is not None:
            told.append(f"On the held-out set: {self.confirmation[self.objective].sentence()}")
        elif self.kept:
            told.append("No held-out set confirms it.")
        tests = sum(trial.alpha > 0 for trial in self.trials)
        used = sum(trial.alpha for trial in self.trials)
        told.append(
            f"One paired test a proposal, {tests} so far: they spent {used:.3g} of the {self.alpha:.3g} that all "
            f"{self.most_trials} may spend together (even alpha spending, Bonferroni). Proposals that were chosen "
            f"after a look at earlier results on the same cases loosen that bound."
        )
        if self.damaged:
            told.append(f"{plural(self.damaged, 'line')} of the journal could not be read and took no part.")
        if self.labels:
            told.append(f"Labels: {', '.join(self.labels)}.")
        return told

    def rows(self) -> list[tuple[str, ...]]:
        """One row a trial in the order of `COLUMNS`, as text."""
        return [
            (
                f"{trial.number}. {trial.proposal.name}", trial.decision, _score(trial.value),
                _difference(trial),
                p_text(trial.p_value), f"{trial.alpha:.2g}" if trial.alpha else "–", str(len(trial.won)),
                str(len(trial.lost)), trial.reason,
            )
            for trial in self.trials
        ]  # fmt: skip

    def table(self) -> pd.DataFrame:
        """One row a trial, as text for reading; `frame()` has numbers."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS)).set_index("trial")

    def frame(self) -> pd.DataFrame:
        """One row a trial, as numbers."""
        import pandas as pd

        names = ("number", "decision", "value", "baseline", "difference", "low", "high", "p_value", "alpha", "cases",
                 "run_id", "against", "seconds", "tokens", "cost", "reason")  # fmt: skip
        rows = [[trial.proposal.name, *(getattr(trial, name) for name in names)] for trial in self.trials]
        return pd.DataFrame(rows, columns=["proposal", *names])

    def __str__(self) -> str:
        lines = [f"{row[0]}: {row[1]} ({row[-1]})" for row in self.rows()]
        return printable("\n".join([*self.sentences(), *lines]))

    def _repr_html_(self) -> str:
        from ..compare.page import folded, listed, page, table

        return page(
            f"Autoresearch for {self.objective}",
            self.sentences(),
            table(COLUMNS, self.rows()),
            folded("The variables of the best", listed([f"{k}: {v}" for k, v in self.environment.items()])),
        )


def _difference(trial: Trial) -> str:
    if trial.difference is None:
        return "–"
    return f"{trial.difference:+.3g} [{_score(trial.low)} to {_score(trial.high)}]"


def _score(value: float | None) -> str:
    return "–" if value is None else score_text(value)
