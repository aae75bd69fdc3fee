"""The catalog of a workbench: groups of agents, and its export and import."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..agents import AgentEntry
from ..agents.catalog_file import CatalogFile, CatalogFileEntry, catalog_text, read_catalog_text
from ..errors import AwsError, LoomError
from ..jobs import whole_file
from ..presentation.formats import plural
from ..presentation.html import card, table
from .agent import Agent
from .context import Context
from .frames import rows_frame
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

_log = logging.getLogger(__name__)
_GROUPS: Final = ("group", "agents", "names")
_IMPORTED: Final = ("agent", "arn", "outcome", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEntry:
    """An agent of a catalog file: `outcome` is "added", "known" or "failed", with the reason."""

    agent: str
    arn: str
    outcome: str
    reason: str = ""


class CatalogImport:
    """Result of importing a catalog file; returned by `bench.groups.import_file(path)`.

    Args:
        entries: The agents of the file.
        groups: Names of its groups.
    """

    def __init__(self, entries: Iterable[ImportedEntry], groups: Iterable[str]) -> None:
        self.entries, self.groups = tuple(entries), tuple(groups)

    @property
    def failed(self) -> tuple[ImportedEntry, ...]:
        """The agents that could not be registered."""
        return tuple(entry for entry in self.entries if entry.outcome == "failed")

    def table(self) -> pd.DataFrame:
        """Return the agents of the file, one row each."""
        return rows_frame([{name: getattr(entry, name) for name in _IMPORTED} for entry in self.entries], _IMPORTED)

    def sentence(self) -> str:
        """Return the outcome in one line."""
        counts = {
            outcome: sum(entry.outcome == outcome for entry in self.entries) for outcome in ("added", "known", "failed")
        }
        parts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count) or "nothing to do"
        groups = f" · {plural(len(self.groups), 'group')}" if self.groups else ""
        return f"{plural(len(self.entries), 'agent')}: {parts}{groups}"

    def __repr__(self) -> str:
        return f"<Catalog import: {self.sentence()}>"

    def _repr_html_(self) -> str:
        rows = [[getattr(entry, name) for name in _IMPORTED] for entry in self.entries]
        return card("Catalog import", note=self.sentence(), body=table(_IMPORTED, rows))


class BenchGroups:
    """Groups of agents, and the catalog as a file; `bench.groups`.

        bench.groups.add("team-a", "support", "orders")
        bench.agents(group="team-a")
        bench.groups.export_file("catalog.json")

    Args:
        context: The workbench's resources.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    def table(self) -> pd.DataFrame:
        """Return the groups: how many agents each has, and their names."""
        rows = [
            {"group": name, "agents": len(entries), "names": ", ".join(entry.name for entry in entries)}
            for name, entries in self._context.catalog.groups().items()
        ]
        return rows_frame(rows, _GROUPS)

    def add(self, group: str, *agents: str | Agent) -> None:
        """Add agents to a group, which is created if it does not exist. An agent may be in several groups.

        Args:
            group: The group's name: letters, digits, hyphens, underscores and dots.
            *agents: Agents, or their names, runtime ids or ARNs.

        Raises:
            AgentNotFoundError: The catalog has no such agent.
        """
        self._context.catalog.add_to_group(group, map(_key, agents))

    def remove(self, group: str, *agents: str | Agent) -> int:
        """Remove agents from a group, and return how many were removed; an empty group is deleted.

        Args:
            group: The group's name.
            *agents: Agents, or their names, runtime ids or ARNs; all of the group by default.
        """
        return self._context.catalog.remove_from_group(group, [*map(_key, agents)] or None)

    def export_file(self, path: str | Path, *, group: str | None = None) -> Path:
        """Write the catalog to a JSON file: ARNs, endpoints, tags, groups, and message formats; no secrets.

        Tags are read from AgentCore first; if it cannot be reached, the last known tags are written.

        Args:
            path: The file; an existing one is replaced.
            group: Only the agents of this group.

        Raises:
            LoomError: The file cannot be written, or there is no such group.
        """
        catalog, file = self._context.catalog, Path(path).expanduser()
        entries = catalog.list() if group is None else catalog.group(group)
        try:
            entries = [entry if entry.is_deleted else catalog.read_tags(entry) for entry in entries]
        except AwsError as error:
            _log.warning("The last known tags are written: %s", error)
        groups = {name: members for name, members in catalog.groups().items() if members and group in (None, name)}
        with whole_file("catalog", file, private=False) as target:
            target.write(catalog_text(catalog.scope, entries, groups))
        return file

    def import_file(self, path: str | Path, *, progress: Callable[[str], None] | None = None) -> CatalogImport:
        """Register the agents of a file that `export_file` wrote, with their groups and message formats.

        Each is described by AgentCore. An agent that cannot be registered, for example because its runtime was deleted,
        does not stop the others. Tags are read from AgentCore; those of the file are not written to it. Importing again
        changes nothing.

        Args:
            path: The file.
            progress: Called with a line for each agent; displayed in the notebook by default.

        Raises:
            LoomError: The file cannot be read, or is not a catalog file.
        """
        file = Path(path).expanduser()
        try:
            content = read_catalog_text(file.read_text("utf-8"), where=str(file))
        except (OSError, UnicodeDecodeError) as error:
            raise LoomError(f"The catalog file cannot be read: {error}", on=str(file), try_="its path") from error
        return self._import(content, progress or WaitLine())

    def _import(self, content: CatalogFile, progress: Callable[[str], None]) -> CatalogImport:
        context = self._context
        known_arns = {str(entry.arn) for entry in context.catalog.list()}
        outcomes: list[ImportedEntry] = []
        for at, entry in enumerate(content.agents, 1):
            progress(f"agent {at} of {len(content.agents)}: {entry.name}")
            arn = str(entry.arn)
            try:
                self._register(entry, content.scope)
            except (AwsError, LoomError) as error:
                outcomes.append(ImportedEntry(agent=entry.name, arn=arn, outcome="failed", reason=str(error)))
                continue
            outcomes.append(ImportedEntry(agent=entry.name, arn=arn, outcome="known" if arn in known_arns else "added"))
        registered = {entry.arn for entry in outcomes if entry.outcome != "failed"}
        for group, arns in content.groups.items():
            context.catalog.add_to_group(group, [arn for arn in arns if arn in registered])
        return CatalogImport(outcomes, content.groups)

    def _register(self, entry: CatalogFileEntry, scope: str) -> None:
        context = self._context
        if scope and scope != context.where:
            raise LoomError(
                f"The file was written from {scope}, and this workbench is {context.where}",
                on=str(entry.arn),
                try_=f'loom.connect("{scope}")' if scope in ("local", "aws") else "",
            )
        stored = context.catalog.read_tags(context.catalog.register(entry.arn))
        if entry.message_format is not None:
            context.store.agents.set_message_format(stored.id, entry.message_format.members())


def choose_agents(context: Context, *, group: str | None, tags: Mapping[str, str], refresh: bool) -> list[AgentEntry]:
    """Return agents of the catalog.

    Args:
        context: The workbench's resources.
        group: Only the agents of this group; None for all.
        tags: Only agents that have all of these tags.
        refresh: Read each agent's current state and tags from the service first.

    Raises:
        LoomError: There is no such group.
    """
    catalog = context.catalog
    entries = list(catalog.list() if group is None else catalog.group(group))
    if refresh:
        entries = [catalog.refresh(entry) for entry in entries]
        entries = [entry if entry.is_deleted else catalog.read_tags(entry) for entry in entries]
    return [entry for entry in entries if tags.items() <= entry.tags.items()]


def _key(agent: str | Agent) -> str:
    return agent if isinstance(agent, str) else agent.arn
