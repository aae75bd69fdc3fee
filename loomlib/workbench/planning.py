"""Plans of deployments: the agent's code is read and packaged, its resources are looked up."""

from __future__ import annotations

from pathlib import Path

from ..deploy.deployment import Deployment, DeployTarget
from .agent_plan import AgentPlan
from .context import Context
from .deploy_options import DeployOptions, deploy_input, package_of, read_source


def plan_agent(context: Context, what: str | Path, options: DeployOptions) -> AgentPlan:
    """Return the plan of an agent's deployment; see `Workbench.plan`.

    Args:
        context: The workbench's resources.
        what: A blueprint's name, or the path of an `agent.py` or of its folder.
        options: What counts in place of the agent's file.
    """
    source = read_source(context, what, options)
    package = package_of(source)
    target = DeployTarget(clients=context.clients, where=context.where, home=context.settings.home)
    deployment = Deployment(target, deploy_input(source, package, options))
    return AgentPlan(context, source, deployment, deployment.plan())
