"""The plan of a deployment, as notebooks show it; applied on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..aws.addresses import is_loopback
from ..deploy.agent_file import looks_like_secret, write_agent_file
from ..deploy.cloudformation import stack_template
from ..deploy.deployment import Deployment
from ..deploy.policies import AwsPlace
from ..deploy.spec import AgentSpec
from ..deploy.steps import DeployPlan
from ..errors import LoomError
from ..jobs import file_errors
from .agent import Agent
from .blueprints import advising_folder
from .context import Context
from .deploy_options import AgentSource
from .plan_view import plan_html, plan_text
from .policy_view import PolicyView
from .template_view import TemplateView
from .wait_line import WaitLine


class AgentPlan:
    """The plan of a deployment: what it would create, change and cost; returned by `Workbench.plan`.

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
        """The deployment's description, as stored in a `loom-agent.toml`."""
        return self._source.spec

    @property
    def file(self) -> Path | None:
        """The `loom-agent.toml` that was read, or None."""
        return self._source.file

    @property
    def may_have_file(self) -> bool:
        """Whether a `loom-agent.toml` may be written beside the code; it may not for a blueprint."""
        return not self._source.is_blueprint

    def write_file(self, environment: Mapping[str, str] | None = None) -> tuple[Path, list[str]]:
        """Write the `loom-agent.toml` beside the code, which the next deployment reads.

        Args:
            environment: Environment variables for the file, in addition to the spec's.

        Returns:
            The file, and the names of variables that are left out because they look like secrets.

        Raises:
            LoomError: The code is a blueprint's, the file cannot be written, or it cannot express a setting.
        """
        spec, code = self._source.spec, self._source.code
        if not self.may_have_file:
            raise LoomError("A blueprint's folder cannot be written to", on=str(code), try_="a copy of the folder")
        if spec.authorizer is not None and is_loopback(spec.authorizer.discovery_url):
            raise LoomError(
                "The address of the local token issuer can change",
                on=spec.authorizer.discovery_url,
                try_='name it at each deployment: authorizer="local"',
            )
        variables = environment or {}
        secret_names = [name for name, value in variables.items() if looks_like_secret(name, value)]
        plain_variables = {name: value for name, value in variables.items() if name not in secret_names}
        complete = replace(
            spec,
            entry_point=spec.entry_point or self._deployment.request.code.entry_point,
            environment={**spec.environment, **plain_variables},
        )
        return write_agent_file(complete, code if code.is_dir() else code.parent), secret_names

    def apply(self, *, progress: Callable[[str], None] | None = None) -> Agent:
        """Create and change the planned resources, wait until the agent is READY, and return it.

        The current state is read again before each step, so the call can be repeated: resources that already match the
        plan are kept. If a step fails, what this call created is deleted, and what it changed is restored. If the
        process is killed, the next call continues.

        Args:
            progress: Called with a line at each step; displayed in the notebook by default.

        Raises:
            DeployError: Another process deploys the agent.
            LoomError: A step failed.
        """
        with advising_folder(self._source.code):
            result = self._deployment.apply(progress or WaitLine())
        return Agent(self._context.catalog.add(result.runtime), self._context)

    def rollback(self, *, progress: Callable[[str], None] | None = None) -> list[str]:
        """Undo an interrupted deployment of this agent; return a sentence about each resource.

        Args:
            progress: Called with a line at each step; displayed in the notebook by default.

        Raises:
            DeployError: Another process deploys the agent.
            LoomError: A resource cannot be deleted or restored.
        """
        return list(self._deployment.rollback(progress or WaitLine()))

    def policy(self) -> PolicyView:
        """Return the permissions of the agent's role, with the reason for each, and those that are unresolved.

        Raises:
            LoomError: The agent uses an existing role, which Loom neither creates nor changes.
        """
        if self._plan.policy is None:
            raise LoomError("The agent runs as an existing role", on=self._plan.agent, try_='bench.plan(…, role="own")')
        return PolicyView(self._plan.policy)

    def write_package(self, path: Path | str) -> Path:
        """Write the package to a file, for a pipeline that uploads it itself, and return the file.

        Raises:
            LoomError: It cannot be written.
        """
        target = Path(path)
        with file_errors("The package", target):
            target.write_bytes(self._deployment.package.data)
        return target

    def template(self) -> TemplateView:
        """Return the deployment as a CloudFormation template, for teams that deploy through a pipeline.

        It contains a role for the agent unless an existing role is specified, even if the local AgentCore needs none.

            print(plan.template().yaml())

        Raises:
            NotSupportedError: The CloudFormation resource type for runtimes has no property for a setting.
        """
        place = AwsPlace(account=self._plan.account_id, region=self._plan.region)
        request = self._deployment.request
        return TemplateView(stack_template(self.spec, request, place, policy=self._deployment.template_policy()))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan ready for JSON."""
        return self._plan.to_dict()

    def __repr__(self) -> str:
        return plan_text(self._plan)

    def _repr_html_(self) -> str:
        return plan_html(self._plan, self._context.labels)
