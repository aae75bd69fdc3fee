"""The entries that plugins provide, by kind and name."""

from __future__ import annotations

import contextlib
import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

from ..errors import PluginError
from .checks import is_command, misfit
from .hooks import HOOKS
from .listing import LoadedPlugin, PluginLine, plugin_lines
from .problems import Broken, PluginOrigin, PluginProblem


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A plugin's entry: a factory, a path or a command."""

    value: object
    origin: PluginOrigin


@dataclass(slots=True)
class Plugins:
    """Everything that plugins provide. Returned by `find_plugins` and `load_plugins`.

    Examples:
        >>> plugins = find_plugins("evaluators")
        >>> plugins.names("evaluators")
        >>> plugins.get("evaluators", "politeness")
    """

    loaded: tuple[LoadedPlugin, ...]
    _entries: Mapping[tuple[str, str], PluginEntry] = field(repr=False)
    _broken: list[Broken] = field(repr=False)

    @property
    def problems(self) -> tuple[PluginProblem, ...]:
        """Plugins that could not be loaded, and entries that failed when they were used."""
        return tuple(part.problem for part in self._broken)

    def lines(self) -> tuple[PluginLine, ...]:
        """Return one row for each plugin: distribution, entries, status, and how to fix a broken one."""
        return plugin_lines(self.loaded, self._broken)

    def check(self) -> Self:
        """Check entries without side effects: that paths exist and commands are commands. Returns self."""
        # What a factory prints must not get into a command's output.
        with contextlib.redirect_stdout(sys.stderr):
            for kind in ("blueprints", "reports", "commands"):
                self.usable(kind)
        return self

    def merge_problems(self, other: Plugins) -> Self:
        """Add the problems found by another registry. Returns self."""
        self._broken += [part for part in other._broken if part not in self._broken]
        return self

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names provided for a kind (see `HOOKS`), sorted."""
        if kind not in HOOKS:
            raise ValueError(f"kind must be one of {', '.join(HOOKS)}, not {kind!r}")
        return tuple(sorted(name for of_kind, name in self._entries if of_kind == kind))

    def get(self, kind: str, name: str, /, *given: Any, **arguments: Any) -> Any:
        """Return the entry of a name, made by its factory.

        Args:
            kind: One of `HOOKS`.
            name: The entry's name.
            *given: Positional arguments of the factory.
            **arguments: Keyword arguments of the factory.

        Raises:
            PluginError: No plugin provides the name, or its factory failed; the error of a broken plugin is repeated.
        """
        value = self.entry(kind, name)
        if callable(value) and not is_command(value):
            try:
                value = cast("Callable[..., Any]", value)(*given, **arguments)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # foreign code
                raise self.report(kind, name, error) from error
        if wrong := misfit(kind, value):
            raise self.report(kind, name, wrong)
        return value

    def usable(self, kind: str) -> dict[str, Any]:
        """Return all entries of a kind whose factories work without arguments, by name; the others become problems."""
        entries: dict[str, Any] = {}
        for name in self.names(kind):
            try:
                entries[name] = self.get(kind, name)
            except PluginError:  # noted by `get`, and shown where plugins are listed
                continue
        return entries

    def entry(self, kind: str, name: str) -> object:
        """Return a plugin's entry by name, without calling it.

        Args:
            kind: One of `HOOKS`.
            name: The entry's name.

        Raises:
            PluginError: No plugin provides the name.
        """
        if name not in self.names(kind):
            raise self._missing(kind, name)
        return self._entries[kind, name].value

    def is_own(self, kind: str, name: str) -> bool:
        """Return whether an entry is one of Loom's own."""
        return self._entries[kind, name].origin.distribution == "loomlib"

    def report(
        self, kind: str, name: str, error: BaseException | str, *, did: str = "could not be created"
    ) -> PluginError:
        """Record that an entry does not work, and return the error to raise.

        Args:
            kind: One of `HOOKS`.
            name: The entry's name.
            error: What went wrong.
            did: What the entry failed to do, the end of "The evaluator 'x' …".
        """
        origin = self._entries[kind, name].origin
        problem = origin.problem(error, within=f"{HOOKS[kind]} {name!r}")
        if problem not in self.problems:
            self._broken.append(Broken(origin=origin, problem=problem, kind=kind, name=name))
        return problem.as_error(f"The {HOOKS[kind]} {name!r} {did}")

    def may_have(self, kind: str, name: str) -> bool:
        """Return whether a broken plugin may provide a name; `get` then explains which one and how to fix it."""
        return any(part.kind in ("", kind) and part.name in ("", name) for part in self._broken)

    def _missing(self, kind: str, name: str) -> PluginError:
        for part in self._broken:
            if part.kind == kind and part.name == name:
                return part.problem.as_error(f"The {HOOKS[kind]} {name!r} cannot be used")
            if not part.kind and name in (part.origin.name, part.origin.distribution):
                return part.problem.as_error(f"The plugin {name!r} is broken")
        names, message, fixes = self.names(kind), f"There is no {HOOKS[kind]} {name!r}", list[str]()
        suspects = [part.problem for part in self._broken if part.kind in ("", kind) and not part.name]
        if suspects:
            message += f"; a broken plugin may provide it: {'; '.join(map(str, suspects))}"
            fixes = list(dict.fromkeys(problem.fix for problem in suspects))
        nearest = difflib.get_close_matches(name, names, n=3) or ([] if fixes else names)
        fix = "; ".join(filter(None, (", ".join(nearest), *fixes)))
        # Panels are the only kind of which Loom provides none itself.
        install = "pip install loom-widgets" if kind == "panels" else f"install a plugin that provides a {HOOKS[kind]}"
        return PluginError(message, try_=fix or install)
