"""Loading plugins, so that a broken one is a line in a list and never the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import cast

import pluggy

from .hooks import GROUP, HOOKS, Hooks
from .offer import LoadedPlugin, Plugins, Thing
from .problems import Origin, PluginProblem


def load_plugins(builtins: Sequence[object] = ()) -> Plugins:
    """Loads `builtins` (modules or objects with hooks), then every installed plugin; problems are in the result."""
    loader = _Loader()
    for builtin in builtins:
        name = str(getattr(builtin, "__name__", type(builtin).__name__))
        own = Origin(distribution="loomlib", version=_version("loomlib"), target=name, name=name)
        loader.add(own, lambda found=builtin: found)
    for origin, entry_point in loader.announced():
        loader.add(origin, entry_point.load)
    return Plugins(tuple(loader.loaded), loader.things, loader.broken)


class _Loader:
    """One pass over the plugins; every step into foreign code or foreign metadata is guarded."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("loom")
        self._manager.add_hookspecs(Hooks)
        self.loaded: list[LoadedPlugin] = []
        self.things: dict[tuple[str, str], Thing] = {}
        self.broken: list[tuple[Origin, PluginProblem]] = []

    def announced(self) -> list[tuple[Origin, metadata.EntryPoint]]:
        """The installed entry points, by distribution and name."""
        try:
            found = list(metadata.entry_points(group=GROUP))
        except Exception as error:  # noqa: BLE001 -- one malformed entry_points.txt spoils the whole listing
            somebody = Origin(distribution="an installed distribution", version="?", target=GROUP, name="")
            self._note(somebody, f"its entry_points.txt cannot be read ({type(error).__name__}: {error})")
            found = _one_by_one()
        return sorted(((_origin(each), each) for each in found), key=lambda each: _order(each[0]))

    def add(self, origin: Origin, load: Callable[[], object]) -> None:
        """Loads one plugin and asks it for what it gives."""
        try:
            plugin = load()
            self._manager.register(plugin, name=f"{origin.distribution}:{origin.name}:{origin.target}")
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- foreign code runs at import
            self._note(origin, error)
            return
        provides: dict[str, tuple[str, ...]] = {}
        for caller in self._manager.get_hookcallers(plugin) or ():
            kind = caller.name.removeprefix("loom_")
            if kind not in HOOKS:
                known = ", ".join(f"loom_{each}" for each in HOOKS)
                self._note(origin, f"Loom has no hook {caller.name}; it has {known}")
                continue
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    provides[kind] = self._ask(origin, kind, implementation.function)
        self.loaded.append(
            LoadedPlugin(
                distribution=origin.distribution, version=origin.version, target=origin.target, provides=provides
            )
        )

    def _ask(self, origin: Origin, kind: str, hook: Callable[[], object]) -> tuple[str, ...]:
        try:
            given = hook()
            if not isinstance(given, Mapping):
                raise TypeError(f"a dict of name → factory was expected, not {type(given).__name__}")
            things = list(cast("Mapping[object, object]", given).items())
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- foreign code
            self._note(origin, error, within=f"loom_{kind}")
            return ()
        accepted: list[str] = []
        for name, value in things:
            if not isinstance(name, str) or not _is_usable(kind, value):
                self._note(origin, f"{name!r}: {value!r} is no name → factory", within=f"loom_{kind}")
            elif (taken := self.things.get((kind, name))) is not None:
                self._note(origin, f"{name!r} is given by {taken.origin.distribution} already", within=f"loom_{kind}")
            else:
                self.things[kind, name] = Thing(value, origin)
                accepted.append(name)
        return tuple(accepted)

    def _note(self, origin: Origin, error: BaseException | str, *, within: str = "") -> None:
        self.broken.append((origin, origin.problem(error, within=within)))


def _is_usable(kind: str, value: object) -> bool:
    return callable(value) or (kind in ("reports", "blueprints") and isinstance(value, (str, os.PathLike)))


def _order(origin: Origin) -> tuple[str, str]:
    return origin.distribution.lower(), origin.name


def _origin(entry_point: metadata.EntryPoint) -> Origin:
    distribution, version = "unknown", "?"
    try:
        if entry_point.dist is not None:
            distribution, version = entry_point.dist.name or distribution, entry_point.dist.version or version
    except Exception:  # noqa: BLE001 -- metadata of any quality; the plugin itself may be fine
        distribution = "unknown"
    return Origin(distribution=distribution, version=version, target=entry_point.value, name=entry_point.name)


def _one_by_one() -> list[metadata.EntryPoint]:
    found: list[metadata.EntryPoint] = []
    for distribution in metadata.distributions():
        try:
            found += distribution.entry_points.select(group=GROUP)
        except Exception:  # noqa: BLE001, S112 -- the malformed one, which is noted already
            continue
    return found


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "?"
