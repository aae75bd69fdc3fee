"""The plan of a deployment, as notebooks show it; applied on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..deploy.deployment import Deployment
from ..deploy.steps import DeployPlan
from ..errors import LoomError
from .agent import Agent
from .blueprints import advising_folder
from .context import Context
from .deploy_options import AgentSource
from .plan_view import plan_html, plan_text
from .policy_view import PolicyView
from .wait_line import WaitLine

if TYPE_CHECKING:
    from ..deploy.spec import AgentSpec


class AgentPlan:
    """What deploying an agent would make, change and cost; made by `Workbench.plan`.

        plan = bench.plan("my_agent")
        plan                  # the steps, the changes and the cost
        agent = plan.apply()

    Args:
        context: The workbench's resources.
        source: The agent's code and how it is deployed.
        deployment: The deployment.
        plan: The plan.
    """

    def __init__(self, context: Context, source: AgentSource, deployment: Deployment, plan: DeployPlan) -> None:
        self._context, self._source, self._deployment, self._plan = context, source, deployment, plan

    @property
    def value(self) -> DeployPlan:
        """The plan's steps, costs and notes."""
        return self._plan

    @property
    def spec(self) -> AgentSpec:
        """The deployment's description, as a `loom-agent.toml` holds it."""
        return self._source.spec

    @property
    def source(self) -> AgentSource:
        """The agent's code, and its `loom-agent.toml` if it has one."""
        return self._source

    def apply(self, *, progress: Callable[[str], None] | None = None) -> Agent:
        """Make and change what the plan says, wait until the agent is READY, and return it.

        It looks again before each step, so it may be called again: what is as it should be is kept. When a step fails,
        what this call made is deleted, and what it changed is restored. After its process was killed, the next call
        continues.

        Args:
            progress: Called with a line at each step; a line in the notebook by default.

        Raises:
            DeployError: Another process deploys the agent.
            LoomError: A step failed.
        """
        with advising_folder(self._source.code):
            result = self._deployment.apply(progress or WaitLine())
        return Agent(self._context.catalog.add(result.runtime), self._context)

    def rollback(self, *, progress: Callable[[str], None] | None = None) -> list[str]:
        """Undo a deployment of this agent that was interrupted; return a sentence about each resource.

        Args:
            progress: Called with a line at each step; a line in the notebook by default.

        Raises:
            DeployError: Another process deploys the agent.
            LoomError: A resource cannot be deleted or restored.
        """
        return list(self._deployment.rollback(progress or WaitLine()))

    def policy(self) -> PolicyView:
        """Return what the agent's role may do, with the reason for each permission, and what is left open.

        Raises:
            LoomError: The role is given: Loom neither makes nor changes it.
        """
        if self._plan.policy is None:
            raise LoomError(
                "The agent runs as a role that is given", on=self._plan.agent, try_='bench.plan(…, role="own")'
            )
        return PolicyView(self._plan.policy)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan ready for JSON."""
        return self._plan.to_dict()

    def __repr__(self) -> str:
        return plan_text(self._plan)

    def _repr_html_(self) -> str:
        return plan_html(self._plan, self._context.labels)
