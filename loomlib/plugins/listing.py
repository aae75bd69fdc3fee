"""Plugins as rows of a list: distribution, entries and problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .hooks import HOOKS
from .problems import Broken, PluginOrigin, PluginProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPlugin:
    """A plugin that was loaded, and the names it provides by kind."""

    origin: PluginOrigin
    provides: Mapping[str, tuple[str, ...]]

    @property
    def distribution(self) -> str:
        """Name of the installed distribution."""
        return self.origin.distribution

    @property
    def version(self) -> str:
        """Version of the distribution."""
        return self.origin.version

    @property
    def target(self) -> str:
        """Target of the entry point, such as `my_package.loom_plugin`."""
        return self.origin.target


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginLine:
    """One plugin in a list; `status` is "ok", "partly broken" or "broken"."""

    distribution: str
    version: str
    target: str
    offers: Mapping[str, tuple[str, ...]]
    status: str
    problems: tuple[PluginProblem, ...] = ()

    @property
    def error(self) -> str:
        """The problems, each with its place in the plugin."""
        return "; ".join(_where(problem, self.target) for problem in self.problems)

    @property
    def fix(self) -> str:
        """How to fix the problems."""
        return "; ".join(dict.fromkeys(problem.fix for problem in self.problems))

    def summary(self, most: int = 6) -> str:
        """Describe what the plugin provides, such as `evaluators: politeness; panels: mood`.

        Args:
            most: Most names listed of each kind.
        """
        return "; ".join(f"{kind.replace('_', ' ')}: {_some(names, most)}" for kind, names in self.offers.items())

    def record(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return {
            "distribution": self.distribution,
            "version": self.version,
            "target": self.target,
            "offers": {kind: list(names) for kind, names in self.offers.items()},
            "status": self.status,
            "error": self.error,
            "fix": self.fix,
            "mend": self.fix,  # the old key, for one release
        }


def plugin_lines(loaded: Sequence[LoadedPlugin], broken: Sequence[Broken]) -> tuple[PluginLine, ...]:
    """Return one row for each plugin: Loom's own first, then the others by distribution and name.

    Args:
        loaded: The plugins that were loaded.
        broken: The problems.
    """
    provided = {plugin.origin: plugin.provides for plugin in loaded}
    origins = list(dict.fromkeys([*provided, *(part.origin for part in broken)]))
    own = [origin for origin in origins if origin.distribution == "loomlib"]
    others = [origin for origin in origins if origin.distribution != "loomlib"]
    return tuple(
        _line(origin, provided.get(origin, {}), [part for part in broken if part.origin == origin])
        for origin in [*own, *sorted(others, key=lambda origin: (origin.distribution.lower(), origin.name))]
    )


def _line(origin: PluginOrigin, provides: Mapping[str, tuple[str, ...]], broken: Sequence[Broken]) -> PluginLine:
    failed = {(part.kind, part.name) for part in broken}
    works = any((kind, name) not in failed for kind, names in provides.items() for name in names)
    return PluginLine(
        distribution=origin.distribution,
        version=origin.version,
        target=origin.target,
        offers={kind: provides[kind] for kind in HOOKS if provides.get(kind)},
        status="ok" if not broken else "partly broken" if works else "broken",
        problems=tuple(part.problem for part in broken),
    )


def _where(problem: PluginProblem, target: str) -> str:
    within = problem.target.removeprefix(target).removeprefix(" → ")
    return f"{within}: {problem.error}" if within else problem.error


def _some(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
