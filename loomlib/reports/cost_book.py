"""Cost by agent and day: tokens at list prices, CPU and memory, and what is unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loomlib.presentation import formats
from loomlib.presentation.formats import exact, money, number, plural
from loomlib.presentation.text import one_line
from loomlib.telemetry.cost import Amount, CostTotal, is_unbilled, price_table, total_cost
from loomlib.workbench import Agent
from loomlib.workbench.tracing import find_traces

from .cost_figures import cost_by_day
from .cost_rows import CostEntry, day_of, day_row, estimated_use, known_sum, plain_total
from .displays import Listing, Verdict

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


FORMAT = "loom.cost-report/1"
MOST_INVOCATIONS = 1_000
"""Largest number of an agent's invocations that are counted, the newest first; the page reports a larger number."""
_WITH_SPANS = ("found", "partial")


@dataclass(frozen=True, kw_only=True)
class CostBook:
    """The invocations of agents over the last days, with the cost of each.

    Attributes:
        entries: The invocations.
        since: The first day.
        until: The last day.
        labels: Provenance labels, such as `simulated`.
        cut: The agents with more than `MOST_INVOCATIONS` invocations in these days: their older ones are not counted,
            and a gate is not passed.

    Examples:
        >>> book = CostBook.of([agent], days=7)
        >>> book.table()
    """

    entries: Sequence[CostEntry]
    since: date
    until: date
    labels: Sequence[str]
    cut: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        agents: Iterable[Agent],
        *,
        days: int = 7,
        prices: str = "",
        priced_as: str = "",
        active_vcpus: float = 0.0,
        memory_gb: float = 0.0,
        count_missing: bool = False,
    ) -> CostBook:
        """Load the invocations of the last days and compute their cost.

        Args:
            agents: The agents.
            days: How many days, today included (UTC).
            prices: A file of your own prices, which override the shipped table; by default `prices.toml` in Loom's home
                folder, if it exists.
            priced_as: Price every model call as this model, for a "what if".
            active_vcpus: Estimate of the active vCPUs during an invocation; with 0 the usage log is read.
            memory_gb: Estimate of the memory during an invocation; with 0 the usage log is read.
            count_missing: Whether to count the tokens of model calls whose spans do not state them (CountTokens).
        """
        if days < 1:
            raise ValueError(f"days must be at least 1, not {days}")
        until = datetime.now(UTC).date()
        since = until - timedelta(days=days - 1)
        entries: list[CostEntry] = []
        labels: dict[str, None] = {}
        cut: list[str] = []
        for agent in agents:
            table = price_table(prices or None, home=agent.context.settings.home)
            stored = agent.context.store.invocations.list(agent.entry.id, limit=MOST_INVOCATIONS + 1)
            days_of = [(row, day) for row in stored if (day := day_of(row.client_invoke_time)) is not None]
            rows = [row for row, day in days_of if day >= since][:MOST_INVOCATIONS]
            if len(stored) > MOST_INVOCATIONS and days_of and days_of[-1][1] >= since:
                cut.append(agent.name)
            labels |= dict.fromkeys(agent.context.labels)
            for row, view in zip(rows, find_traces(agent.context, agent.entry, rows), strict=True):
                use = estimated_use(row.client_duration_ms, active_vcpus, memory_gb)
                has_spans = view.state in _WITH_SPANS
                entries.append(
                    CostEntry(
                        agent=agent.name,
                        day=day_of(row.client_invoke_time) or until,
                        cost=view.cost(
                            prices=table, runtime=use, priced_as=priced_as or None, count_missing=count_missing
                        )
                        if has_spans
                        else None,
                        simulated=is_unbilled(row.labels),
                    )
                )
        return cls(entries=entries, since=since, until=until, labels=tuple(labels), cut=cut)

    @cached_property
    def total(self) -> CostTotal:
        """The sum over all invocations that have spans."""
        return total_cost(entry.cost for entry in self.entries if entry.cost is not None)

    @property
    def without_spans(self) -> int:
        """Number of invocations without spans, whose cost is unknown."""
        return sum(entry.cost is None for entry in self.entries)

    @cached_property
    def by_day(self) -> Mapping[tuple[str, date], Sequence[CostEntry]]:
        """The invocations by agent and day."""
        groups: dict[tuple[str, date], list[CostEntry]] = {}
        for entry in sorted(self.entries, key=lambda entry: (entry.agent, entry.day)):
            groups.setdefault((entry.agent, entry.day), []).append(entry)
        return groups

    @property
    def title(self) -> str:
        """Agents, labels and days."""
        names = list(dict.fromkeys(entry.agent for entry in self.entries))
        names_text = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        return " · ".join(
            [names_text or "no agent", *self.labels, f"{formats.day(self.since)} to {formats.day(self.until)} UTC"]
        )

    def sentences(self) -> list[str]:
        """Return the conclusion: the cost, how much of it is unknown, and whether anything is billed."""
        if not self.entries:
            return ["No invocation is stored for these days, so no cost is known."]
        total, calls = self.total, plural(len(self.entries), "invocation")
        tokens = ", ".join(f"{number(total.tokens.get(kind, 0), 0)} {_KINDS[kind]}" for kind in ("input", "output"))
        sentences = [
            f"Models: {total.model} for {calls} ({tokens})." if total.invocations else f"Models: unknown for {calls}."
        ]
        sentences.append(
            f"Runtime (CPU and memory): {'unknown' if total.runtime.state == 'unknown' else total.runtime}."
            if total.invocations
            else "Runtime (CPU and memory): unknown."
        )
        if self.without_spans:
            sentences.append(f"{plural(self.without_spans, 'invocation')} without spans: cost unknown.")
        if self.cut:
            sentences.append(
                f"Truncated: only the newest {number(MOST_INVOCATIONS, 0)} invocations of {formats.join(self.cut)} are "
                "counted, so the actual cost is higher."
            )
        simulated = sum(entry.simulated for entry in self.entries)
        if simulated:
            which = "all of them" if simulated == len(self.entries) else f"{number(simulated, 0)} of them"
            sentences.append(
                f"Simulated: {which}. A scripted model produced the tokens, and nothing is billed for them."
            )
        return sentences

    def verdict(self, *, max_usd_per_day: float = 0.0) -> Verdict:
        """Return the answer as a box.

        Args:
            max_usd_per_day: The limit of each agent's most expensive day; 0 for no gate.
        """
        gates = [self._gate(max_usd_per_day)] if max_usd_per_day else []
        return Verdict(
            title=self.title,
            sentences=self.sentences(),
            gates=[(str(gate["outcome"]), str(gate["sentence"])) for gate in gates],
            summary={**self.summary(), "gates": gates},
        )

    def table(self) -> pd.DataFrame:
        """Return one row per agent and day."""
        import pandas as pd

        rows = [day_row(agent, day, entries) for (agent, day), entries in self.by_day.items()]
        return pd.DataFrame(rows or [{"agent": "no invocation"}]).set_index("agent")

    def models(self) -> pd.DataFrame:
        """Return one row per model and kind of token: quantity, price, and the source of the price."""
        import pandas as pd

        groups: dict[tuple[str, str, str, str], list[Any]] = {}
        for entry in self.entries:
            for line in entry.cost.lines if entry.cost else ():
                price = "unknown" if line.price is None else f"{money(line.price, line.amount.currency)} per {line.per}"
                dated = formats.day(line.as_of) if line.as_of else "–"
                groups.setdefault((line.model or "runtime", line.item, price, dated), []).append(line)
        rows = [
            {
                "model": one_line(model),
                "item": item,
                "quantity": "unknown"
                if any(line.quantity is None for line in lines)
                else f"{number(float(sum(line.quantity for line in lines)))} {lines[0].unit}",
                "price": price,
                "cost": str(sum((line.amount for line in lines[1:]), lines[0].amount)),
                "price as of": dated,
            }
            for (model, item, price, dated), lines in groups.items()
        ]
        return pd.DataFrame(rows or [{"model": "nothing"}]).set_index("model")

    def figure(self) -> go.Figure:
        """Return the known cost of each day, by agent."""
        return cost_by_day(
            {key: known_sum(entries) for key, entries in self.by_day.items()},
            self.since,
            self.until,
            subtitle=self.title,
        )

    def limits(self) -> Listing:
        """Return the unknown amounts with their reasons, and the limitations of this page."""
        why = Counter(
            line.why
            for entry in self.entries
            for line in (entry.cost.lines if entry.cost else ())
            if line.amount.unknown
        )
        items = [(f"Unknown {number(count, 0)} times:", f"{reason}.", "") for reason, count in why.most_common(8)]
        items += [("Prices from:", f"{source}.", "") for source in self._sources()]
        items += [
            ("Truncated:", f"only the newest {number(MOST_INVOCATIONS, 0)} invocations of {name} are counted.", "")
            for name in self.cut
        ]
        items += [
            ("", "List prices as of the dates in the table, without discounts, taxes and free tiers.", ""),
            ("", "“At least” marks a sum without its unknown items; it is not an estimate of the whole.", ""),
            (
                "",
                "CPU and memory are billed while a session exists; only the time of invocations is counted here.",
                "",
            ),
        ]
        return Listing(items=items)

    def summary(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        return {
            "format": FORMAT,
            "labels": list(self.labels),
            "since": self.since.isoformat(),
            "until": self.until.isoformat(),
            "cut": list(self.cut),
            "sentences": self.sentences(),
            "total": plain_total(self.total, self.without_spans),
            "by_agent_and_day": [
                {
                    "agent": agent,
                    "day": day.isoformat(),
                    **plain_total(
                        total_cost(entry.cost for entry in entries if entry.cost is not None),
                        sum(entry.cost is None for entry in entries),
                    ),
                }
                for (agent, day), entries in self.by_day.items()
            ],
            "by_model": {name: str(amount) for name, amount in self.total.by_model.items()},
        }

    def _sources(self) -> list[str]:
        lines = (line for entry in self.entries for line in (entry.cost.lines if entry.cost else ()))
        return list(dict.fromkeys(line.source.rstrip(".") for line in lines if line.source))

    def _gate(self, limit: float) -> dict[str, Any]:
        days = {key: known_sum(entries) for key, entries in self.by_day.items()}
        (agent, day), dearest = max(days.items(), key=lambda item: item[1].known, default=(("", self.until), Amount()))
        is_in_usd = all(amount.currency == "USD" for amount in days.values())
        over = is_in_usd and float(dearest.known) > limit
        unsure = not is_in_usd or bool(self.cut) or any(amount.unknown for amount in days.values())
        outcome = "missed" if over else "unclear" if unsure else "passed"
        outcome_text = f"{agent} cost {dearest} on {formats.day(day)}" if days else "nothing was spent"
        if not is_in_usd:
            outcome_text += ", which cannot be compared with a limit in USD"
        elif self.cut:
            outcome_text += f", without the older invocations of {formats.join(self.cut)}"
        return {
            "outcome": outcome,
            "limit_usd_per_day": limit,
            "sentence": f"Gate {outcome}: {outcome_text}, limit {_dollars(limit)} a day.",
        }


def _dollars(value: float) -> str:
    """Format a limit with the digits that it was set with: `$0.5`, `$0.000001`."""
    return f"${exact(value)}"


_KINDS = {"input": "tokens read", "output": "tokens written"}
