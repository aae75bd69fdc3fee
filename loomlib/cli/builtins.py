"""Loom's own commands, registered through the same hook as a plugin's."""

from __future__ import annotations

import click

from ..plugins import hookimpl
from . import (
    agents,
    alerts,
    bedrock_agents,
    capture,
    catalog,
    check,
    deploying,
    doctor,
    evals,
    history,
    hub,
    identity,
    lab,
    load,
    memory,
    notebooks,
    plugins,
    releases,
    service,
    store,
    tenants,
    triggers,
    trust,
    watch,
    workshop,
)


@hookimpl
def loom_commands() -> dict[str, click.Command]:
    """Return Loom's own commands by name."""
    modules = (
        service,
        deploying,
        agents,
        catalog,
        releases,
        triggers,
        alerts,
        bedrock_agents,
        evals,
        capture,
        check,
        memory,
        notebooks,
        watch,
        load,
        lab,
        workshop,
        plugins,
        doctor,
        trust,
        identity,
        tenants,
        store,
        history,
        hub,
    )
    return {str(command.name): command for module in modules for command in module.COMMANDS}
