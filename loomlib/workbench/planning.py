"""Plans of deployments: the agent's code is read and packaged, its resources are looked up."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from .. import local
from ..deploy.building import build_package
from ..deploy.deployment import Deployment, DeployTarget
from ..deploy.undoing import undo_interrupted
from .agent_plan import AgentPlan
from .context import Context
from .deploy_options import DeployOptions, deploy_input, read_source
from .wait_line import WaitLine


def plan_agent(context: Context, source: str | Path, options: DeployOptions) -> AgentPlan:
    """Return the plan of an agent's deployment; see `Workbench.plan`.

    Args:
        context: The workbench's resources.
        source: A blueprint's name, or the path of an `agent.py` or of its folder.
        options: Options that override the agent's file.
    """
    agent = read_source(context, source, options)
    if context.where == "aws":
        context.clients.account_id()  # fails early without credentials, before requirements are installed
    report = options.get("progress") or WaitLine()
    where = "local" if agent.spec.build == "container" else context.where  # an image installs its requirements itself
    built = build_package(agent.code, agent.spec, where=where, environment=_installer_environment, report=report)
    target = DeployTarget(clients=context.clients, where=context.where, home=context.settings.home)
    deployment = Deployment(target, deploy_input(agent, built, options))
    return AgentPlan(context, agent, deployment, deployment.plan())


def roll_back(
    context: Context, source: str | Path, options: DeployOptions, *, report: Callable[[str], None]
) -> list[str]:
    """Undo an interrupted deployment of an agent, without planning or packaging it, and return a sentence per resource.

    Args:
        context: The workbench's resources.
        source: A blueprint's name, or the path of an `agent.py` or of its folder.
        options: The options, of which only `name` is used.
        report: Called with lines of progress.

    Raises:
        DeployError: Another process deploys the agent.
        LoomError: A resource cannot be deleted or restored.
    """
    spec = read_source(context, source, options).spec
    target = DeployTarget(clients=context.clients, where=context.where, home=context.settings.home)
    with target.journal(spec.name) as journal:
        return undo_interrupted(context.clients, spec, journal, report)


def _installer_environment(scratch: Path) -> Mapping[str, str]:
    """Return the environment variables for pip's process: pip's own settings, but no credentials of the user."""
    return local.installer_environment(local.service_environment(os.environ), scratch)
