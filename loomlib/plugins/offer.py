"""What the plugins give, asked for by kind and name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import PluginError
from .hooks import HOOKS
from .problems import Origin, PluginProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPlugin:
    """A plugin that was loaded, and the names it gave, by kind."""

    distribution: str
    version: str
    target: str
    provides: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Thing:
    """What a plugin gave under a name: a factory, a path or a command."""

    value: object
    origin: Origin


@dataclass(slots=True)
class Plugins:
    """Everything that plugins give. Made by `load_plugins`.

    >>> plugins = load_plugins()
    >>> plugins.names("evaluators")
    >>> plugins.get("evaluators", "politeness")
    """

    loaded: tuple[LoadedPlugin, ...]
    _things: Mapping[tuple[str, str], Thing] = field(repr=False)
    _broken: list[tuple[Origin, PluginProblem]] = field(repr=False)

    @property
    def problems(self) -> tuple[PluginProblem, ...]:
        """What could not be loaded, and what has failed since when it was asked for."""
        return tuple(problem for _, problem in self._broken)

    def names(self, kind: str) -> tuple[str, ...]:
        """The names given for a kind (see `HOOKS`), sorted."""
        if kind not in HOOKS:
            raise ValueError(f"a plugin gives {', '.join(HOOKS)}, not {kind!r}")
        return tuple(sorted(name for of_kind, name in self._things if of_kind == kind))

    def get(self, kind: str, name: str, /, **arguments: Any) -> Any:
        """The thing of that name, made by its factory with `arguments`.

        Raises `PluginError` when making it fails or nobody gives it; a broken plugin's error is repeated.
        """
        if name not in self.names(kind):
            raise self._missing(kind, name)
        thing = self._things[kind, name]
        if not callable(thing.value) or _is_command(thing.value):
            return thing.value
        try:
            return cast("Callable[..., Any]", thing.value)(**arguments)
        except (Exception, SystemExit) as error:  # foreign code
            problem = thing.origin.problem(error, within=f"{HOOKS[kind]} {name!r}")
            if problem not in self.problems:
                self._broken.append((thing.origin, problem))
            raise problem.as_error(f"The {HOOKS[kind]} {name!r} could not be made") from error

    def given(self, kind: str, name: str) -> object:
        """What was given under that name, as it is: nothing is called. Raises `PluginError` when nobody gives it."""
        if name not in self.names(kind):
            raise self._missing(kind, name)
        return self._things[kind, name].value

    def _missing(self, kind: str, name: str) -> PluginError:
        for origin, problem in self._broken:
            if name in (origin.name, origin.distribution):
                return problem.as_error(f"The plugin {name!r} is broken")
        known = self.names(kind)
        what = f"No {HOOKS[kind]} is called {name!r}"
        if self._broken:
            what += f"; a broken plugin may have it: {'; '.join(str(problem) for problem in self.problems)}"
        nearest = difflib.get_close_matches(name, known, n=3) or known
        return PluginError(what, try_=", ".join(nearest) or f"install a plugin that gives a {HOOKS[kind]}")


def _is_command(value: object) -> bool:
    # A click command is callable, and calling it would run it. Told by name, so that click is not imported for this.
    return any(each.__name__ == "Command" and each.__module__ == "click.core" for each in type(value).__mro__)
