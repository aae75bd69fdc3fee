"""What the plugins give, asked for by kind and name."""

from __future__ import annotations

import contextlib
import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

from ..errors import PluginError
from .fitness import is_command, misfit
from .hooks import HOOKS
from .listing import LoadedPlugin, PluginLine, plugin_lines
from .problems import Broken, Origin, PluginProblem


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """What a plugin gave under a name: a factory, a path or a command."""

    value: object
    origin: Origin


@dataclass(slots=True)
class Plugins:
    """Everything that plugins give. Made by `find_plugins` and `load_plugins`.

    >>> plugins = find_plugins("evaluators")
    >>> plugins.names("evaluators")
    >>> plugins.get("evaluators", "politeness")
    """

    loaded: tuple[LoadedPlugin, ...]
    _things: Mapping[tuple[str, str], PluginEntry] = field(repr=False)
    _broken: list[Broken] = field(repr=False)

    @property
    def problems(self) -> tuple[PluginProblem, ...]:
        """What could not be loaded, and what has failed since when it was asked for."""
        return tuple(each.problem for each in self._broken)

    def lines(self) -> tuple[PluginLine, ...]:
        """One line a plugin: whose it is, what it offers, whether it works, and the mend when it does not."""
        return plugin_lines(self.loaded, self._broken)

    def check(self) -> Self:
        """Looks at what can be looked at without making anything: paths that must exist, commands that must be some."""
        # What a factory prints must not end up in a command's result.
        with contextlib.redirect_stdout(sys.stderr):
            for kind in ("blueprints", "reports", "commands"):
                self.usable(kind)
        return self

    def knowing(self, other: Plugins) -> Self:
        """With what has failed when it was asked for there."""
        self._broken += [each for each in other._broken if each not in self._broken]
        return self

    def names(self, kind: str) -> tuple[str, ...]:
        """The names given for a kind (see `HOOKS`), sorted."""
        if kind not in HOOKS:
            raise ValueError(f"a plugin gives {', '.join(HOOKS)}, not {kind!r}")
        return tuple(sorted(name for of_kind, name in self._things if of_kind == kind))

    def get(self, kind: str, name: str, /, *given: Any, **arguments: Any) -> Any:
        """The thing of that name, made by its factory with what is given.

        Raises `PluginError` when making it fails or nobody gives it; a broken plugin's error is repeated.
        """
        value = self.given(kind, name)
        if callable(value) and not is_command(value):
            try:
                value = cast("Callable[..., Any]", value)(*given, **arguments)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # foreign code
                raise self.blame(kind, name, error) from error
        if wrong := misfit(kind, value):
            raise self.blame(kind, name, wrong)
        return value

    def usable(self, kind: str) -> dict[str, Any]:
        """All things of a kind whose factories work without arguments, by name; the others become problems."""
        made: dict[str, Any] = {}
        for name in self.names(kind):
            try:
                made[name] = self.get(kind, name)
            except PluginError:  # noted by `get`, and shown where plugins are listed
                continue
        return made

    def given(self, kind: str, name: str) -> object:
        """What was given under that name, as it is: nothing is called. Raises `PluginError` when nobody gives it."""
        if name not in self.names(kind):
            raise self._missing(kind, name)
        return self._things[kind, name].value

    def is_own(self, kind: str, name: str) -> bool:
        """Whether that thing is one of Loom's own."""
        return self._things[kind, name].origin.distribution == "loomlib"

    def blame(self, kind: str, name: str, error: BaseException | str, *, did: str = "could not be made") -> PluginError:
        """Notes that this thing does not work, and gives back the error to raise about it."""
        origin = self._things[kind, name].origin
        problem = origin.problem(error, within=f"{HOOKS[kind]} {name!r}")
        if problem not in self.problems:
            self._broken.append(Broken(origin=origin, problem=problem, kind=kind, name=name))
        return problem.as_error(f"The {HOOKS[kind]} {name!r} {did}")

    def may_have(self, kind: str, name: str) -> bool:
        """Whether a broken plugin was to give that, or may have been; `get` then says which, and how to mend it."""
        return any(each.kind in ("", kind) and each.name in ("", name) for each in self._broken)

    def _missing(self, kind: str, name: str) -> PluginError:
        for each in self._broken:
            if each.kind == kind and each.name == name:
                return each.problem.as_error(f"The {HOOKS[kind]} {name!r} cannot be used")
            if not each.kind and name in (each.origin.name, each.origin.distribution):
                return each.problem.as_error(f"The plugin {name!r} is broken")
        known, what, fixes = self.names(kind), f"No {HOOKS[kind]} is called {name!r}", list[str]()
        suspects = [each.problem for each in self._broken if each.kind in ("", kind) and not each.name]
        if suspects:
            what += f"; a broken plugin may have it: {'; '.join(map(str, suspects))}"
            fixes = list(dict.fromkeys(each.fix for each in suspects))
        nearest = difflib.get_close_matches(name, known, n=3) or ([] if fixes else known)
        fix = "; ".join(filter(None, (", ".join(nearest), *fixes)))
        # Panels are the one kind of which Loom has none of its own.
        install = "pip install loom-widgets" if kind == "panels" else f"install a plugin that gives a {HOOKS[kind]}"
        return PluginError(what, try_=fix or install)
