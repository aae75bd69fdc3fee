"""Loading plugins, so that a broken one is a line in a list and never the end."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from importlib import import_module, metadata
from typing import Final, cast

import pluggy

from .fitness import is_path
from .hooks import GROUP, HOOKS, Hooks
from .listing import LoadedPlugin
from .offer import PluginEntry, Plugins
from .problems import Broken, Origin

OWN: Final[Mapping[str, str]] = {
    "evaluators": "loomlib.evals.registry",
    "models": "loomlib.local.models.builtins",
    "reports": "loomlib.reports.builtins",
    "blueprints": "loomlib.workbench.builtins",
    "span_sources": "loomlib.telemetry.builtins",
    "commands": "loomlib.cli.builtins",
    "rules": "loomlib.telemetry.diagnosis.builtins",
}
"""Loom's own plugins, by what they give. Named as text, as an entry point would: this floor imports none above it.

Panels are not among them: those are the first outside plugin's, loom-widgets.
"""


SKIP: Final = "LOOM_SKIP_PLUGINS"
"""The environment variable that names distributions (commas between) whose plugins are not loaded."""
SLOW_S: Final = 10.0
"""After so long a plugin that is still being imported is named in the log: it may never come to an end."""

_log = logging.getLogger(__name__)


def find_plugins(*kinds: str) -> Plugins:
    """Loom's own plugins of these kinds (of every kind when none is named), and every installed plugin."""
    loader = _Loader()
    for kind, module in OWN.items():
        if not kinds or kind in kinds:
            loader.add(_own(module), partial(import_module, module))
    return loader.with_installed()


def load_plugins(builtins: Sequence[object] = (), *, slow_s: float = SLOW_S) -> Plugins:
    """Every installed plugin, after `builtins`: modules or objects with hooks, taken as if they were Loom's own."""
    loader = _Loader(slow_s)
    for builtin in builtins:
        name = str(getattr(builtin, "__name__", type(builtin).__name__))
        loader.add(_own(name), lambda found=builtin: found)
    return loader.with_installed()


class _Loader:
    """One pass over the plugins; every step into foreign code or foreign metadata is guarded."""

    def __init__(self, slow_s: float = SLOW_S) -> None:
        self._slow_s = slow_s
        self._manager = pluggy.PluginManager("loom")
        self._manager.add_hookspecs(Hooks)
        self._loaded: list[LoadedPlugin] = []
        self._things: dict[tuple[str, str], PluginEntry] = {}
        self._broken: list[Broken] = []

    def with_installed(self) -> Plugins:
        """What was added, and what is installed."""
        # What a plugin prints while it is imported must not end up in a command's result.
        skipped = {each.strip().lower() for each in os.environ.get(SKIP, "").split(",")}
        with contextlib.redirect_stdout(sys.stderr):
            for origin, entry_point in self._announced():
                if origin.distribution.lower() in skipped:
                    self._note(origin, f"{SKIP} names it", fix=f"take {origin.distribution} out of {SKIP}")
                    continue
                with _named_when_slow(origin, self._slow_s):
                    self.add(origin, entry_point.load)
        return Plugins(tuple(self._loaded), self._things, self._broken)

    def add(self, origin: Origin, load: Callable[[], object]) -> None:
        """Loads one plugin and asks it for what it gives."""
        try:
            plugin = load()
            self._manager.register(plugin, name=f"{origin.distribution}:{origin.name}:{origin.target}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- foreign code runs at import, and may leave in any way
            self._note(origin, error)
            return
        provides: dict[str, tuple[str, ...]] = {}
        for caller in self._manager.get_hookcallers(plugin) or ():
            kind = caller.name.removeprefix("loom_")
            if kind not in HOOKS:
                known = ", ".join(f"loom_{each}" for each in HOOKS)
                self._note(origin, f"Loom has no hook {caller.name}; it has {known}", kind=caller.name)
                continue
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    provides[kind] = self._ask(origin, kind, implementation.function)
        self._loaded.append(LoadedPlugin(origin=origin, provides=provides))

    def _announced(self) -> list[tuple[Origin, metadata.EntryPoint]]:
        """The installed entry points, by distribution and name."""
        try:
            found = list(metadata.entry_points(group=GROUP))
        except Exception as error:  # noqa: BLE001 -- one malformed entry_points.txt spoils the whole listing
            somebody = Origin(distribution="an installed distribution", version="?", target=GROUP, name="")
            self._note(somebody, f"its entry_points.txt cannot be read ({type(error).__name__}: {error})")
            found = _one_by_one()
        return sorted(((_origin(each), each) for each in found), key=lambda each: _order(each[0]))

    def _ask(self, origin: Origin, kind: str, hook: Callable[[], object]) -> tuple[str, ...]:
        within = f"loom_{kind}"
        try:
            given = hook()
            if not isinstance(given, Mapping):
                raise TypeError(f"a dict of name → factory was expected, not {type(given).__name__}")
            things = list(cast("Mapping[object, object]", given).items())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- foreign code
            self._note(origin, error, within=within, kind=kind)
            return ()
        accepted: list[str] = []
        for name, value in things:
            if not isinstance(name, str) or not _is_usable(kind, value):
                said = name if isinstance(name, str) else ""
                wrong = f"{_shown(name)}: {_shown(value)} is no name → factory"
                self._note(origin, wrong, within=within, kind=kind, name=said)
            elif (taken := self._things.get((kind, name))) is not None:
                other = taken.origin.distribution
                fix = f"give it another name in {origin.distribution}, or pip uninstall {origin.distribution}"
                self._note(
                    origin, f"{name!r} is given by {other} already", within=within, kind=kind, name=name, fix=fix
                )
            else:
                self._things[kind, name] = PluginEntry(value, origin)
                accepted.append(name)
        return tuple(accepted)

    def _note(
        self,
        origin: Origin,
        error: BaseException | str,
        *,
        within: str = "",
        kind: str = "",
        name: str = "",
        fix: str = "",
    ) -> None:
        problem = origin.problem(error, within=within, fix=fix)
        self._broken.append(Broken(origin=origin, problem=problem, kind=kind, name=name))


@contextlib.contextmanager
def _named_when_slow(origin: Origin, slow_s: float) -> Generator[None]:
    """Foreign code cannot be made to stop; but who waits is told for whom, and how to go on without it."""
    name = origin.distribution
    said = f"the plugin {origin.target} of {name} is still being imported after {slow_s:g} s"
    hint = f"to go on without it, interrupt and set {SKIP}={name}, or pip uninstall {name}"
    clock = threading.Timer(slow_s, _log.warning, ("%s; %s", said, hint))
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()
        clock.join()


def _is_usable(kind: str, value: object) -> bool:
    return callable(value) or (kind in ("reports", "blueprints") and is_path(value))


def _shown(value: object) -> str:
    try:
        return repr(value)[:200]
    except Exception:  # noqa: BLE001 -- a foreign object that cannot even be printed
        return type(value).__name__


def _order(origin: Origin) -> tuple[str, str]:
    return origin.distribution.lower(), origin.name


def _own(target: str) -> Origin:
    return Origin(distribution="loomlib", version=_version("loomlib"), target=target, name=target)


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
