"""Load plugins; a broken plugin is listed with its error and never stops Loom."""

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

from .announced import announced
from .checks import is_path
from .hooks import GROUP, HOOKS, Hooks
from .listing import LoadedPlugin
from .problems import Broken, PluginOrigin
from .registry import PluginEntry, Plugins

OWN: Final[Mapping[str, str]] = {
    "evaluators": "loomlib.evals.registry",
    "models": "loomlib.local.models.builtins",
    "reports": "loomlib.reports.builtins",
    "blueprints": "loomlib.workbench.builtins",
    "span_sources": "loomlib.telemetry.builtins",
    "commands": "loomlib.cli.builtins",
    "rules": "loomlib.telemetry.diagnosis.builtins",
}
"""Loom's own plugins by kind, as dotted names like those of entry points, because this layer imports none above it.

Panels are missing: the first outside plugin, loom-widgets, provides them.
"""


SKIP: Final = "LOOM_SKIP_PLUGINS"
"""Environment variable with the distributions, separated by commas, whose plugins are not loaded."""
SLOW_S: Final = 10.0
"""Seconds after which a plugin that is still being imported is logged, since its import may hang."""

_log = logging.getLogger(__name__)


def find_plugins(*kinds: str) -> Plugins:
    """Return Loom's own plugins of some kinds, and every installed plugin.

    Args:
        *kinds: The kinds of Loom's own plugins to load (see `HOOKS`), by default all.
    """
    loader = _Loader()
    for kind, module in OWN.items():
        if not kinds or kind in kinds:
            loader.add(_own(module), partial(import_module, module))
    return loader.with_installed()


def load_plugins(builtins: Sequence[object] = (), *, slow_s: float = SLOW_S) -> Plugins:
    """Return every installed plugin after `builtins`.

    Args:
        builtins: Modules or objects with hooks, treated as Loom's own.
        slow_s: Seconds after which a plugin that is still being imported is logged.
    """
    loader = _Loader(slow_s)
    for builtin in builtins:
        name = str(getattr(builtin, "__name__", type(builtin).__name__))
        loader.add(_own(name), lambda module=builtin: module)
    return loader.with_installed()


class _Loader:
    """One pass over the plugins; every call of foreign code or metadata is guarded."""

    def __init__(self, slow_s: float = SLOW_S) -> None:
        self._slow_s = slow_s
        self._manager = pluggy.PluginManager("loom")
        self._manager.add_hookspecs(Hooks)
        self._loaded: list[LoadedPlugin] = []
        self._entries: dict[tuple[str, str], PluginEntry] = {}
        self._broken: list[Broken] = []

    def with_installed(self) -> Plugins:
        """Return the added plugins and the installed ones."""
        # What a plugin prints while it is imported must not get into a command's output.
        skipped = {name.strip().lower() for name in os.environ.get(SKIP, "").split(",")}
        with contextlib.redirect_stdout(sys.stderr):
            for origin, entry_point in self._announced():
                if origin.distribution.lower() in skipped:
                    self._note(origin, f"skipped by {SKIP}", fix=f"remove {origin.distribution} from {SKIP}")
                    continue
                with _named_when_slow(origin, self._slow_s):
                    self.add(origin, entry_point.load)
        return Plugins(tuple(self._loaded), self._entries, self._broken)

    def add(self, origin: PluginOrigin, load: Callable[[], object]) -> None:
        """Load one plugin and call its hooks."""
        try:
            plugin = load()
            self._manager.register(plugin, name=f"{origin.distribution}:{origin.name}:{origin.target}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- foreign code runs at import and can raise anything
            self._note(origin, error)
            return
        provides: dict[str, tuple[str, ...]] = {}
        for caller in self._manager.get_hookcallers(plugin) or ():
            kind = caller.name.removeprefix("loom_")
            if kind not in HOOKS:
                hook_names = ", ".join(f"loom_{name}" for name in HOOKS)
                self._note(origin, f"Loom has no hook {caller.name}; it has {hook_names}", kind=caller.name)
                continue
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    provides[kind] = self._ask(origin, kind, implementation.function)
        self._loaded.append(LoadedPlugin(origin=origin, provides=provides))

    def _announced(self) -> list[tuple[PluginOrigin, metadata.EntryPoint]]:
        """Return the installed entry points, by distribution and name."""
        installed = announced()
        if installed.failure:
            unknown = PluginOrigin(distribution="an installed distribution", version="?", target=GROUP, name="")
            self._note(unknown, f"its entry_points.txt cannot be read ({installed.failure})")
        return sorted(((_origin(point), point) for point in installed.entry_points), key=lambda pair: _order(pair[0]))

    def _ask(self, origin: PluginOrigin, kind: str, hook: Callable[[], object]) -> tuple[str, ...]:
        within = f"loom_{kind}"
        try:
            provided = hook()
            if not isinstance(provided, Mapping):
                raise TypeError(f"expected a dict of name → factory, not {type(provided).__name__}")
            entries = list(cast("Mapping[object, object]", provided).items())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- foreign code
            self._note(origin, error, within=within, kind=kind)
            return ()
        accepted: list[str] = []
        for name, value in entries:
            if not isinstance(name, str) or not _is_usable(kind, value):
                wrong = f"{_safe_repr(name)}: {_safe_repr(value)} is not a pair of name and factory"
                self._note(origin, wrong, within=within, kind=kind, name=name if isinstance(name, str) else "")
            elif (existing := self._entries.get((kind, name))) is not None:
                wrong = f"{existing.origin.distribution} provides {name!r} already"
                fix = f"rename it in {origin.distribution}, or pip uninstall {origin.distribution}"
                self._note(origin, wrong, within=within, kind=kind, name=name, fix=fix)
            else:
                self._entries[kind, name] = PluginEntry(value, origin)
                accepted.append(name)
        return tuple(accepted)

    def _note(
        self,
        origin: PluginOrigin,
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
def _named_when_slow(origin: PluginOrigin, slow_s: float) -> Generator[None]:
    """Log a plugin whose import takes long, with how to skip it: foreign code cannot be stopped."""
    name = origin.distribution
    slow = f"the plugin {origin.target} of {name} is still being imported after {slow_s:g} s"
    hint = f"to skip it, interrupt and set {SKIP}={name}, or pip uninstall {name}"
    timer = threading.Timer(slow_s, _log.warning, ("%s; %s", slow, hint))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _is_usable(kind: str, value: object) -> bool:
    return callable(value) or (kind in ("reports", "blueprints") and is_path(value))


def _safe_repr(value: object) -> str:
    try:
        return repr(value)[:200]
    except Exception:  # noqa: BLE001 -- a foreign object that cannot even be printed
        return type(value).__name__


def _order(origin: PluginOrigin) -> tuple[str, str]:
    return origin.distribution.lower(), origin.name


def _own(target: str) -> PluginOrigin:
    return PluginOrigin(distribution="loomlib", version=_version("loomlib"), target=target, name=target)


def _origin(entry_point: metadata.EntryPoint) -> PluginOrigin:
    distribution, version = "unknown", "?"
    try:
        if entry_point.dist is not None:
            distribution, version = entry_point.dist.name or distribution, entry_point.dist.version or version
    except Exception:  # noqa: BLE001 -- metadata of any quality; the plugin itself may be fine
        distribution = "unknown"
    return PluginOrigin(distribution=distribution, version=version, target=entry_point.value, name=entry_point.name)


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "?"
