"""Operate: metrics of all agents, each agent in detail, several regions and accounts, and alerts."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar

import loomlib
from loomlib import Agent, Workbench
from loomlib.errors import LoomError
from loomlib.metrics import NUMBERS, TITLES, Figures, limit_text, value_text
from loomlib.presentation.formats import number, plural

from ...kit import Cancel, Form, Panel, action
from ...kit.panel import static_summary
from ...kit.source import connect_call, connect_code, frame_rows, plain
from .alert_actions import AlertActions
from .time_range import ALL, BETWEEN, RANGES, TimeRange, time_range_of

if TYPE_CHECKING:
    from markupsafe import Markup


_LOG_LINES = 500
_CALLS = 1_000
_OPENING_S = 0.6
"""Seconds to wait for the figures before a new panel is displayed without them; many agents take longer."""
_UNITS = {"share": "%", "ms": "ms", "USD": "USD", "calls": "calls", "sessions": "sessions"}


class OperatePanel(Panel):
    """Metrics of a workbench over a time range; `beside` are other workbenches (regions, accounts) to compare.

    Examples:
        >>> loom_widgets.operate(bench, beside=[loom.connect("aws", region="eu-central-1")])
    """

    opener: ClassVar[str] = "operate"
    called: ClassVar[str] = "Operate"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.panels.operate", "panel.js")

    def __init__(self, bench: Workbench, *, beside: Sequence[Workbench] = (), **options: Any) -> None:
        self._benches, self._place = (bench, *beside), 0
        self._detail: dict[str, Any] = {}
        self._opened = Event()
        self._alerts = AlertActions(self, self._benches, self._place_of)
        super().__init__(bench, actions=(self._alerts,), **options)
        self.show(
            place="0",
            places=[[str(at), _place_name(at, bench)] for at, bench in enumerate(self._benches)],
            ranges=[
                *([key, text] for key, (text, _, _) in RANGES.items()),
                [BETWEEN, "between …"],
                [ALL, "all time"],
            ],
            range=ALL,
            numbers=[[name, TITLES[name], _UNITS[unit]] for name, unit in NUMBERS.items()],
            auto_s=0,
        )
        if beside:
            self.reopen = ""  # only this process has the other workbenches
        self.say("Reading the figures …")
        self.later("first_look")
        self._opened.wait(_OPENING_S)

    @property
    def _looked(self) -> Workbench:
        return self._benches[self._place]

    # Actions.

    @action(lane="view")
    def first_look(self) -> None:
        """Load a newly opened panel."""
        try:
            self._look(TimeRange())
            self._alerts.show_alerts()
        finally:
            self._opened.set()

    @action(lane="view")
    def load(self, form: Form) -> None:
        """Show the metrics of the chosen workbench and time range, and of the open agent."""
        window, place = time_range_of(form), self._place_of(form)
        if place != self._place:
            self._place, self._detail = place, {}
            self.send_message("detail")
            self.later("alerts")
        self.show(
            place=str(place),
            range=form.text("range", ALL),
            since=form.text("since"),
            until=form.text("until"),
            caught=form.text("caught"),
        )
        if not form.flag("quiet"):
            self.show_code(f"{window.needs}{connect_code(self._looked)}bench.telemetry.overview({window.arguments})")
        self._look(window, quiet=form.flag("quiet"))
        if self._detail:
            try:
                self._drill(self._looked.agent(self._detail["arn"]), self._detail["qualifier"], window)
            except LoomError:
                self._detail = {}
                self.send_message("detail")
                raise

    @action(lane="view")
    def drill(self, form: Form) -> None:
        """Show one agent: metadata, metrics, sessions, latency over time and recent log lines."""
        window, qualifier = time_range_of(form), form.text("qualifier", "DEFAULT") or "DEFAULT"
        agent = self._looked.agent(form.text("agent"))
        at = "" if qualifier == "DEFAULT" else f".at({qualifier!r})"
        arguments = ", ".join(item for item in (window.arguments, f"logs={_LOG_LINES}") if item)
        self.show_code(
            f"{window.needs}{connect_code(self._looked)}"
            f"agent = bench.agent({agent.name!r}){at}\nview = agent.telemetry.overview({arguments})\nview"
        )
        self.say(f"Reading {agent.name} …")
        self._drill(agent, qualifier, window)
        self.say(f"{agent.name}: {self._detail['sentence']}")

    @action(lane="view")
    def leave(self) -> None:
        """Close the open agent."""
        self._detail = {}
        self.send_message("detail")
        self.say(self.state.get("sentence", ""))

    @action(lane="catch up")
    def catch_up(self, form: Form, cancel: Cancel) -> None:
        """Look up starts and costs of calls that were not looked up before."""
        window, place = time_range_of(form), self._place_of(form)
        bench = self._benches[place]
        self.show_code(
            f"{window.needs}{connect_code(bench)}bench.telemetry.catch_up({window.arguments})\nbench.telemetry.overview()"
        )

        def progress(line: str) -> None:
            cancel.check()
            self.say(line)

        self.say("Looking up starts and costs …")
        result = bench.telemetry.catch_up(window.since, window.until, progress=progress)
        cancel.check()
        self.later("show_caught", place=place, caught=result.sentence())

    @action(lane="view")
    def show_caught(self, form: Form) -> None:
        """Show the result of a look-up, with the new figures if its workbench is still shown."""
        place, caught = self._place_of(form), form.text("caught")
        if place != self._place:
            self.say(f"{_place_name(place, self._benches[place])}: {caught}")
            return
        now = {name: self.state.get(name, "") for name in ("range", "since", "until")}  # may have changed since
        self.load(Form({"place": place, **now, "caught": caught}))

    @action(lane="places")
    def compare(self, form: Form) -> None:
        """Compare all workbenches; one that cannot be reached has its error in the row."""
        window = time_range_of(form)
        calls = ", ".join(map(connect_call, self._benches))
        arguments = ", ".join(name for name in (f"[{calls}]", window.arguments) if name)
        if not form.flag("quiet"):
            self.show_code(f"{window.needs}import loomlib as loom\n\nloom.overview({arguments})")
        comparison = loomlib.overview(self._benches, window.since, window.until)
        rows = []
        for place in comparison.places:
            row = {key: plain(value) for key, value in place.row().items()}
            texts = {"said": {}} if place.figures is None else _cells(place.figures)
            rows.append({**row, **texts})
        self.tables.put("places", rows)
        self.show(compared=comparison.sentence())
        self.send_message("places", count=len(rows))

    @action(lane="auto")
    def auto(self, form: Form) -> None:
        """Set the interval of automatic refresh in seconds (0: off)."""
        self.show(auto_s=form.count("seconds", 0, most=3600))

    # Internal methods.

    def _place_of(self, form: Form) -> int:
        """Return the position of the workbench that a form names; by default that of the shown one."""
        place = form.count("place", self._place)
        if place >= len(self._benches):
            raise LoomError("No such workbench", on=str(place), try_="run the panel's cell again")
        return place

    def _look(self, window: TimeRange, *, quiet: bool = False) -> None:
        overview = self._looked.telemetry.overview(window.since, window.until)
        rows = [
            {**{key: plain(value) for key, value in row.items()}, **_cells(overview.figures.by_agent[entry.id])}
            for entry, row in zip(overview.entries, overview.rows(), strict=True)
        ]
        self.tables.put("agents", rows)
        self.show(
            headlines=[headline.to_dict() for headline in overview.headlines()] if overview.entries else [],
            sentence=overview.sentence(),
            window=str(overview.window),
            labels=list(overview.labels),
            agents=[row["agent"] for row in rows][:500],
            taken_at=overview.taken_at.isoformat(),
            missing=_missing(overview.total),
            failures=dict(overview.total.failures),
        )
        if not quiet:
            self.say(overview.sentence())
        self.send_message("overview", count=len(rows))

    def _drill(self, agent: Agent, qualifier: str, window: TimeRange) -> None:
        looked = agent if qualifier == agent.qualifier else agent.at(qualifier)
        view = looked.telemetry.overview(window.since, window.until, logs=_LOG_LINES)
        complete_calls = self._looked.telemetry.search_traces(
            agents=[str(agent.arn)], since=view.window.since, until=view.window.until, failed=False, limit=_CALLS
        )
        calls = [
            [row["started_at"], row["duration_ms"]]
            for row in frame_rows(complete_calls)
            if row["duration_ms"] is not None
        ]
        self.tables.put("sessions", frame_rows(view.sessions))
        self.tables.put("logs", list(reversed(frame_rows(view.logs))))
        described = view.to_dict()
        bins = [
            {**{key: plain(value) for key, value in row.items()}, "said": {
                "p50_ms": value_text("duration_p50_ms", bin.p50), "p90_ms": value_text("duration_p90_ms", bin.p90),
            }}
            for bin, row in zip(view.bins, described["latency"], strict=True)
        ]  # fmt: skip
        self._detail = {
            "name": agent.name,
            "arn": str(agent.arn),
            "qualifier": qualifier,
            "qualifiers": list(agent.entry.qualifiers),
            "endpoints": view.endpoints,
            "sentence": described["sentence"],
            "window": described["window"]["text"],
            "headlines": described["headlines"],
            "metadata": described["metadata"],
            "failures": described["failures"],
            "bins": bins,
            "calls": calls,
            "calls_title": (
                "Each complete call" if len(complete_calls) < _CALLS else f"The newest {number(_CALLS)} complete calls"
            ),
            "logs_problem": described["logs_problem"],
        }
        self.send_message("detail", **self._detail)

    def read_again(self) -> None:
        """Reload the metrics if agents were added, removed or changed."""
        shown_agents = {(row["runtime_id"], row["status"]) for row in self.tables.rows("agents")}
        if shown_agents != {(entry.runtime_id, entry.status) for entry in self._looked.context.catalog.list()}:
            self._look(time_range_of(Form(self.state)), quiet=True)

    def welcome(self) -> Mapping[str, Any]:
        """Return the open agent."""
        return self._detail

    def static_html(self) -> Markup | str:
        """Return the summary figures and the agents."""
        top = [(item["title"], item["value"], item["note"]) for item in self.state.get("headlines", ())]
        rows = self.tables.rows("agents")[:50]
        names = [name for name in NUMBERS if name != "sessions"]
        agents = [[row["agent"], row["status"], *(row["said"][name] for name in names)] for row in rows]
        alerts = [[row["alert"], row["state"], row["sentence"]] for row in self.tables.rows("alerts")[:50]]
        return static_summary(
            tables=[
                (["figure", "value", ""], top),
                (["agent", "status", *(TITLES[name] for name in names)], agents),
                (["alert", "state", "reason"], alerts),
            ]
        )


def _cells(figures: Figures) -> dict[str, dict[str, str]]:
    """Return the metrics as text, and the observed values where there are too few samples for an estimate."""
    return {
        "said": {name: value_text(name, figures.number(name)) for name in NUMBERS},
        "observed": {name: limit_text(name, value) for name, value in figures.observed.items()},
    }


def _missing(figures: Figures) -> str:
    """Return what `catch_up` would look up."""
    starts = figures.sessions - figures.cold_start_mean.n
    costs = figures.failed + figures.complete + figures.interrupted - figures.priced
    parts = [plural(starts, "start")] if starts > 0 else []
    parts += [f"the cost of {plural(costs, 'call')}"] if costs > 0 else []
    return " and ".join(parts)


def _place_name(at: int, bench: Workbench) -> str:
    where = "local AgentCore" if bench.where == "local" else bench.where
    return f"{at + 1} · {where} · {bench.clients.region}"
