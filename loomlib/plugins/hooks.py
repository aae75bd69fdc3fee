"""The hooks that a plugin can implement.

A plugin is a module (or an object) with some of the functions of `Hooks`, each marked with `hookimpl`:

    from loomlib.plugins import hookimpl

    @hookimpl
    def loom_evaluators():
        return {"politeness": make_politeness}      # {name: factory}; heavy imports belong inside the factory

It is registered in its distribution's metadata:

    [project.entry-points."loom.plugins"]
    politeness = "my_package.loom_plugin"

A factory is called when its entry is requested by name. When two plugins provide the same name, the first one keeps it:
Loom's own plugins come first, then the others by the name of their distribution. LOOM_SKIP_PLUGINS names distributions
that are not loaded, such as one whose import hangs. Loom's own plugins use the same hooks (see `loader.OWN`), and `loom
plugins new NAME` creates a distribution to start from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

import pluggy

GROUP: Final = "loom.plugins"

HOOKS: Final[Mapping[str, str]] = {
    "evaluators": "evaluator",
    "models": "model",
    "panels": "panel",
    "reports": "report",
    "blueprints": "blueprint",
    "span_sources": "span source",
    "commands": "command",
    "rules": "diagnosis rule",
}
"""The kinds of entries, with the word for one. The hook of a kind is `loom_<kind>` and takes no arguments."""

Factory: TypeAlias = Callable[..., Any]
Place: TypeAlias = str | os.PathLike[str] | Callable[..., str | os.PathLike[str]]

hookimpl: Final = pluggy.HookimplMarker("loom")
_hookspec: Final = pluggy.HookspecMarker("loom")


class Hooks(Protocol):
    """The hooks, all optional. Each returns a dict of name → factory."""

    @_hookspec
    def loom_evaluators(self) -> Mapping[str, Factory]:
        """Return evaluators of an answer, a tool call or a session."""
        ...

    @_hookspec
    def loom_models(self) -> Mapping[str, Factory]:
        """Return models with which the local AgentCore answers Converse: factories that take `profile` and `url`.

        A factory returns an object like `loomlib.local.models.ConverseModel`.
        """
        ...

    @_hookspec
    def loom_panels(self) -> Mapping[str, Factory]:
        """Return interactive views for JupyterLab: factories that take the workbench as `bench`."""
        ...

    @_hookspec
    def loom_reports(self) -> Mapping[str, Place]:
        """Return parameterized notebooks: the path of an .ipynb file, or a factory that returns one."""
        ...

    @_hookspec
    def loom_blueprints(self) -> Mapping[str, Place]:
        """Return agent templates: the path of a folder with an agent.py, or a factory that returns one."""
        ...

    @_hookspec
    def loom_span_sources(self) -> Mapping[str, Factory]:
        """Return sources of spans for `inv.trace(source=…)`: factories of a `loomlib.telemetry.SpanSource`."""
        ...

    @_hookspec
    def loom_commands(self) -> Mapping[str, Factory]:
        """Return subcommands of `loom`: a click command, or a factory that returns one."""
        ...

    @_hookspec
    def loom_rules(self) -> Mapping[str, Factory]:
        """Return diagnosis rules: factories of `loomlib.telemetry.diagnosis.Rule`."""
        ...
