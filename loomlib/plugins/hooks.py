"""What a plugin can give.

A plugin is a module (or an object) with some of the functions of `Hooks`, each marked with `hookimpl`:

    from loomlib.plugins import hookimpl

    @hookimpl
    def loom_evaluators():
        return {"politeness": make_politeness}      # {name: factory}; heavy imports belong inside the factory

and is announced in its distribution's metadata:

    [project.entry-points."loom.plugins"]
    politeness = "my_package.loom_plugin"

A factory is called when its thing is asked for by name. Of two plugins that give one name the first keeps it: Loom's
own plugins come first, then the others by the name of their distribution. LOOM_SKIP_PLUGINS names distributions that
are not to be loaded, such as one whose import never ends. Loom's own use the same hooks (see
`loader.OWN`), and `loom plugins new NAME` makes a distribution to start from.
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
"""The kinds of things, and what one is called. The hook of a kind is `loom_<kind>` and takes no arguments."""

Factory: TypeAlias = Callable[..., Any]
Place: TypeAlias = str | os.PathLike[str] | Callable[..., str | os.PathLike[str]]

hookimpl: Final = pluggy.HookimplMarker("loom")
_hookspec: Final = pluggy.HookspecMarker("loom")


class Hooks(Protocol):
    """The hooks, all optional. Each returns a dict of name → factory."""

    @_hookspec
    def loom_evaluators(self) -> Mapping[str, Factory]:
        """Judges of an answer, a tool call or a session."""
        ...

    @_hookspec
    def loom_models(self) -> Mapping[str, Factory]:
        """Models that the local AgentCore answers Converse with: factories that take `profile` and `url`.

        What they make is like `loomlib.local.models.ConverseModel`.
        """
        ...

    @_hookspec
    def loom_panels(self) -> Mapping[str, Factory]:
        """Interactive views for JupyterLab: factories that take the workbench as `bench`, for `bench.panel(name)`."""
        ...

    @_hookspec
    def loom_reports(self) -> Mapping[str, Place]:
        """Parameterized notebooks: the path of an .ipynb file, or a factory of it."""
        ...

    @_hookspec
    def loom_blueprints(self) -> Mapping[str, Place]:
        """Agent templates: the path of a folder with an agent.py, or a factory of it."""
        ...

    @_hookspec
    def loom_span_sources(self) -> Mapping[str, Factory]:
        """Places to read spans from, for `inv.trace(source=…)`: factories of a `loomlib.telemetry.SpanSource`."""
        ...

    @_hookspec
    def loom_commands(self) -> Mapping[str, Factory]:
        """Subcommands of `loom`: a click command, or a factory of one."""
        ...

    @_hookspec
    def loom_rules(self) -> Mapping[str, Factory]:
        """Rules of a diagnosis: factories of `loomlib.telemetry.diagnosis.Rule`."""
        ...
