"""Several regions and accounts side by side, one row each; an unreachable one has its error in the row."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry
from ..errors import LoomError
from ..metrics import Figures, Window, headlines
from ..presentation.formats import plural
from .bench import Workbench
from .frames import rows_frame
from .overview_page import Section, overview_page

if TYPE_CHECKING:
    import pandas as pd


_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionOverview:
    """One region of one account. `state` is `ok`, `failed` (`why` says how to fix it) or `not connected`.

    `figures` are None where the region failed: older figures would not show its current state.
    """

    where: str
    account_id: str | None
    region: str
    state: str
    agents: int = 0
    figures: Figures | None = field(default=None, repr=False)
    labels: tuple[str, ...] = ()
    why: str = ""

    def row(self) -> dict[str, Any]:
        """Return one row of the table."""
        return {
            "where": self.where,
            "account": self.account_id,
            "region": self.region,
            "state": self.state,
            "agents": self.agents if self.figures else None,
            **(self.figures.row() if self.figures else {}),
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The figures of several workbenches; returned by `loomlib.overview([…])`."""

    window: Window
    places: tuple[RegionOverview, ...]
    taken_at: datetime

    def sentence(self) -> str:
        """Return how many regions responded, and the errors of the others."""
        failed = [place for place in self.places if place.state == "failed"]
        summary = f"{len(self.places) - len(failed)} of {plural(len(self.places), 'region')} answered."
        return " ".join([summary, *(f"{place.region}: {place.why}" for place in failed)])

    def table(self) -> pd.DataFrame:
        """Return one row per region."""
        return rows_frame([place.row() for place in self.places], ("where", "account", "region", "state", "why"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "window": str(self.window),
            "taken_at": self.taken_at.isoformat(),
            "sentence": self.sentence(),
            "places": [place.row() for place in self.places],
        }

    def __repr__(self) -> str:
        lines = [f"{plural(len(self.places), 'region')} · {self.window}", self.sentence()]
        for place in self.places:
            outcome = (
                f"{place.figures.invocations} invocations by {place.agents} agents" if place.figures else place.why
            )
            lines.append(
                f"{place.where} · {place.account_id or 'account unknown'} · {place.region}: {place.state}, {outcome}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        figures = [place.figures for place in self.places if place.figures is not None]
        head = [headline.title for headline in headlines(figures[0])] if figures else []
        rows = [
            (
                place.where,
                place.account_id or "–",
                place.region,
                place.state,
                str(place.agents) if place.figures else "–",
                *([one.value for one in headlines(place.figures)] if place.figures else ["–"] * len(head)),
                place.why or "–",
            )
            for place in self.places
        ]
        table = Section(("where", "account", "region", "state", "agents", *head, "why"), rows)
        return overview_page(f"Regions and accounts · {self.window}", (), self.sentence(), (), table)


def overview(
    benches: Sequence[Workbench],
    since: datetime | timedelta | None = None,
    until: datetime | timedelta | None = None,
) -> Places:
    """Return the figures of several regions and accounts, one row each.

    The account is requested through every workbench, so an expired credential or an unreachable region appears as a row
    with its error, and the others are still shown. Agents of the same catalogs in other regions or accounts are rows
    marked `not connected`.

        loom.overview([loom.connect("aws", region="us-east-1"), loom.connect("aws", region="eu-central-1")])

    Args:
        benches: The workbenches, each connected to one region and account (`loom.connect`).
        since: The start of the time range, or a timedelta before now; everything stored by default.
        until: The end of the time range, or a timedelta before now; now by default.
    """
    now = datetime.now(UTC)
    window = Window.of(since, until, now=now)
    if not benches:
        return Places(window=window, places=(), taken_at=now)
    with ThreadPoolExecutor(max_workers=min(_AT_ONCE, len(benches)), thread_name_prefix="loom-overview") as pool:
        places = list(pool.map(_place, benches, [window] * len(benches)))
    return Places(window=window, places=(*places, *_others(benches, places, window)), taken_at=now)


def _place(bench: Workbench, window: Window) -> RegionOverview:
    region = "–"
    try:
        region = bench.clients.region
        account_id = bench.clients.account_id(anew=True)  # ask again: credentials expire and services stop
        return _overview_from_store(bench, account_id, region, window)
    except LoomError as error:
        return RegionOverview(
            where=bench.where,
            account_id=None,
            region=region,
            state="failed",
            labels=bench.context.labels,
            why=str(error),
        )


def _overview_from_store(
    bench: Workbench, account_id: str, region: str, window: Window, *, state: str = "ok", why: str = ""
) -> RegionOverview:
    entries = [entry for entry in bench.context.catalog.list() if _at(entry) == (account_id, region)]
    return RegionOverview(
        where=bench.where,
        account_id=account_id,
        region=region,
        state=state,
        agents=len(entries),
        figures=bench.telemetry.figures(entries, since=window.since, until=window.until).total,
        labels=bench.context.labels,
        why=why,
    )


def _others(benches: Sequence[Workbench], places: Sequence[RegionOverview], window: Window) -> list[RegionOverview]:
    """Return the regions and accounts of catalogued agents that no workbench covers."""
    covered_places = {(place.where, place.account_id, place.region) for place in places}
    failed_regions = {(place.where, place.region) for place in places if place.state == "failed"}
    others: list[RegionOverview] = []
    for bench, place in zip(benches, places, strict=True):
        if place.state == "failed":
            continue
        for account_id, region in dict.fromkeys(_at(entry) for entry in bench.context.catalog.list()):
            if (bench.where, account_id, region) in covered_places or (bench.where, region) in failed_regions:
                continue
            covered_places.add((bench.where, account_id, region))
            why = "the catalog has agents here, but no workbench of this region and account was passed"
            others.append(_overview_from_store(bench, account_id, region, window, state="not connected", why=why))
    return others


def _at(entry: AgentEntry) -> tuple[str, str]:
    return entry.arn.account_id, entry.region
