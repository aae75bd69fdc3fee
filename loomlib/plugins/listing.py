"""The plugins as lines of a list: whose each is, what it offers, and what is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .hooks import HOOKS
from .problems import Broken, Origin, PluginProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPlugin:
    """A plugin that was loaded, and the names it gave, by kind."""

    origin: Origin
    provides: Mapping[str, tuple[str, ...]]

    @property
    def distribution(self) -> str:
        """The name that it is installed by."""
        return self.origin.distribution

    @property
    def version(self) -> str:
        """Its distribution's version."""
        return self.origin.version

    @property
    def target(self) -> str:
        """What its entry point names, such as `my_package.loom_plugin`."""
        return self.origin.target


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginLine:
    """One plugin in a list. `status` is "ok", "partly broken" or "broken"."""

    distribution: str
    version: str
    target: str
    offers: Mapping[str, tuple[str, ...]]
    status: str
    problems: tuple[PluginProblem, ...] = ()

    @property
    def error(self) -> str:
        """What is broken, each problem with its place in the plugin."""
        return "; ".join(_where(each, self.target) for each in self.problems)

    @property
    def fix(self) -> str:
        """What to do about it."""
        return "; ".join(dict.fromkeys(each.fix for each in self.problems))

    def summary(self, most: int = 6) -> str:
        """What it offers, in words: `evaluators: politeness; panels: mood`. No more than `most` names of a kind."""
        return "; ".join(f"{kind.replace('_', ' ')}: {_some(names, most)}" for kind, names in self.offers.items())

    def record(self) -> dict[str, Any]:
        """The line as plain values."""
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
    """Loom's own plugins first, then the others by distribution and name."""
    provided = {each.origin: each.provides for each in loaded}
    origins = list(dict.fromkeys([*provided, *(each.origin for each in broken)]))
    own = [each for each in origins if each.distribution == "loomlib"]
    others = [each for each in origins if each.distribution != "loomlib"]
    return tuple(
        _line(origin, provided.get(origin, {}), [each for each in broken if each.origin == origin])
        for origin in [*own, *sorted(others, key=lambda each: (each.distribution.lower(), each.name))]
    )


def _line(origin: Origin, provides: Mapping[str, tuple[str, ...]], broken: Sequence[Broken]) -> PluginLine:
    failed = {(each.kind, each.name) for each in broken}
    works = any((kind, name) not in failed for kind, names in provides.items() for name in names)
    return PluginLine(
        distribution=origin.distribution,
        version=origin.version,
        target=origin.target,
        offers={kind: provides[kind] for kind in HOOKS if provides.get(kind)},
        status="ok" if not broken else "partly broken" if works else "broken",
        problems=tuple(each.problem for each in broken),
    )


def _where(problem: PluginProblem, target: str) -> str:
    within = problem.target.removeprefix(target).removeprefix(" → ")
    return f"{within}: {problem.error}" if within else problem.error


def _some(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
