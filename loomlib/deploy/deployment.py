"""A deployment of one agent: its plan, its execution, and how an interrupted one is undone."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from ..aws import Clients, Package
from ..aws.deploy import code_bucket, local_role, own_python, package_key
from ..aws.inference_profiles import profile_models
from ..aws.runtime_requests import RuntimeCode, RuntimeRequest
from ..aws.runtime_settings import RuntimeSettings
from ..aws.runtimes import RuntimeDescription, find_runtime
from ..errors import DeployError, LoomError
from ..presentation.formats import join
from ..telemetry.cost import price_table
from .code_uses import find_uses
from .containers.parts import ImageParts
from .containers.source import image_source
from .costs import UseAssumptions, estimate_cost
from .journal import DeployJournal
from .names import SPEC_TAG, agent_tags, spec_digest
from .parts.endpoint import EndpointPart
from .parts.part import DeployPart, Report
from .parts.role import RolePart
from .parts.runtime import RuntimePart
from .parts.storage import BucketPart, PackagePart
from .policies import AwsPlace, KnownResources, RolePolicy, model_identifiers, role_policy
from .resources import locate_resources
from .spec import AgentSpec
from .steps import DeployPlan, PlanStep
from .triggers.parts import trigger_parts
from .undoing import part_to_undo

_log = logging.getLogger(__name__)

OWN_ROLE: Final = "own"
"""A role for this agent only, created by Loom with least privilege: the default on AWS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployTarget:
    """The target of an agent's deployment.

    Attributes:
        clients: The AWS clients of a connection.
        where: "local" or "aws".
        home: Loom's home folder, for the journal and custom prices.
    """

    clients: Clients
    where: str
    home: Path

    def journal(self, agent: str) -> DeployJournal:
        """Return the journal of an agent's deployments to this target."""
        return DeployJournal(self.home, self.scope, agent)

    @property
    def scope(self) -> str:
        """The environment, account and region in one string, such as "aws-123456789012-us-east-1"."""
        return f"{self.where}-{self.clients.account_id()}-{self.clients.region}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployResult:
    """The result of a deployment.

    Attributes:
        runtime: The current state of the runtime.
        steps: The resources that were created, changed or kept.
    """

    runtime: RuntimeDescription
    steps: tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployInput:
    """The input of a deployment.

    Attributes:
        spec: The agent's configuration.
        package: The agent's code with its dependencies.
        code: The agent's folder or file, from which its permissions are derived.
        variables: Environment variables beside those of the spec, such as ids of bound resources. They are neither
            shown nor stored.
        role: The ARN of an existing role, "own", or None for the default: "own" on AWS, and locally if the
            configuration names resources or secrets, else the local AgentCore's own role, whose permissions suffice for
            most agents.
        assumptions: How the agent is used, for the cost estimate.
        notes: Notes about the package for the plan.
        is_from_file: Whether the spec comes from a `loom-agent.toml`, so that triggers that are no longer in it are
            removed.
    """

    spec: AgentSpec
    package: Package
    code: Path
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    role: str | None = None
    assumptions: UseAssumptions = field(default_factory=UseAssumptions)
    notes: tuple[str, ...] = ()
    is_from_file: bool = False


class Deployment:
    """The deployment of one agent to one target.

    Args:
        target: Where to deploy.
        request: What to deploy.
    """

    def __init__(self, target: DeployTarget, request: DeployInput) -> None:
        self._target, self._input = target, request
        clients, spec = target.clients, request.spec
        self._resources = resources = locate_resources(clients, spec)
        self.policy: RolePolicy | None = None
        self._notes = (*request.notes, *resources.notes)
        self._images = (
            ImageParts(clients, spec, image_source(spec, request.code)) if spec.build == "container" else None
        )
        parts: list[DeployPart] = [BucketPart(clients)]
        parts += self._images.parts if self._images else [PackagePart(clients, spec.name, request.package)]
        role_arn = request.role
        names_resources = bool(spec.bindings() or spec.secrets)
        if role_arn == OWN_ROLE or (role_arn is None and (target.where == "aws" or names_resources)):
            self.policy = self._own_policy()
            role = RolePart(clients, spec, self.policy)
            parts.append(role)
            role_arn = role.arn
        self.request = _request(target, request, role_arn or local_role(clients.account_id()), resources.variables)
        if self._images is not None:
            self.request = replace(self.request, code=RuntimeCode(image=self._images.uri()))
        self._runtime = RuntimePart(clients, self.request)
        endpoints = [EndpointPart(clients, spec, name, purpose) for purpose, name in spec.endpoints.items()]
        has_triggers = request.is_from_file or spec.triggers  # without a file, removed triggers are unknown
        triggers = trigger_parts(clients, spec, self._agent_arn) if has_triggers else ()
        self._parts: Sequence[DeployPart] = (*parts, self._runtime, *endpoints, *triggers)

    def plan(self) -> DeployPlan:
        """Return the resources that would be created and changed; changes nothing."""
        target, spec = self._target, self._input.spec
        journal = self._journal()
        return DeployPlan(
            agent=spec.name,
            where=target.where,
            account_id=target.clients.account_id(),
            region=target.clients.region,
            steps=tuple(part.look() for part in self._parts),
            cost=estimate_cost(
                price_table(home=target.home),
                models=[binding.resource for binding in spec.resources.models],
                idle_timeout_s=spec.platform.idle_timeout_s,
                package_bytes=len(self._input.package.data),
                assumptions=self._input.assumptions,
            ),
            policy=self.policy,
            notes=((_INTERRUPTED,) if journal.is_interrupted else ()) + self._notes,
        )

    def template_policy(self) -> RolePolicy | None:
        """Return the role policy for a CloudFormation template, which always creates a role.

        None if an existing role is used.
        """
        if self.policy is not None or self._input.role not in (None, OWN_ROLE):
            return self.policy
        return self._own_policy()

    def apply(self, report: Report) -> DeployResult:
        """Carry out the plan; resources that match it are kept, so the call can be repeated.

        If a step fails, created resources are deleted and changed ones restored. A deployment that was
        interrupted, or whose process was killed, is continued.

        Args:
            report: Called with lines of progress.

        Raises:
            DeployError: Another process deploys the agent.
            LoomError: A step failed.
        """
        steps: list[PlanStep] = []
        with self._journal() as journal:
            try:
                for part in self._parts:
                    if part is self._runtime and self._images is not None:
                        self._runtime.use_image(self._images.uri())
                    step = part.look()
                    if step.action != "keep":
                        part.carry_out(step, journal, report)
                    steps.append(step)
                runtime = self._runtime.deployed
                assert runtime is not None
            except LoomError as error:  # after other exceptions, such as an interrupt, the next call continues
                self._undo_after(error, journal, report)
                raise
            journal.clear()
        report(runtime.status)
        return DeployResult(runtime=runtime, steps=tuple(steps))

    @property
    def package(self) -> Package:
        """The package that is uploaded."""
        return self._input.package

    def rollback(self, report: Report) -> tuple[str, ...]:
        """Undo an interrupted deployment; return a sentence about each resource.

        Args:
            report: Called with lines of progress.

        Raises:
            DeployError: Another process deploys the agent.
            LoomError: A resource cannot be deleted or restored.
        """
        with self._journal() as journal:
            return tuple(self._undo(journal, report))

    def _own_policy(self) -> RolePolicy:
        """Return a role policy with only the permissions that the code and the description require."""
        clients, spec, uses = self._target.clients, self._input.spec, find_uses(self._input.code)
        models = profile_models(clients, model_identifiers(spec, uses))
        return role_policy(
            spec,
            uses,
            AwsPlace(account=clients.account_id(), region=clients.region),
            known=KnownResources(ids=self._resources.ids, profile_models=models),
            repository_arn=self._images.repository_arn if self._images else "",
        )

    def _undo_after(self, error: LoomError, journal: DeployJournal, report: Report) -> None:
        """Undo the deployment after a step has failed; if that fails too, the remaining intents stay in the journal."""
        try:
            undone = self._undo(journal, report)
        except LoomError as second:
            remaining = join([f"{intent.kind} {intent.name}" for intent in journal.intents])
            raise DeployError(
                f"The deployment failed ({error}), and undoing it failed as well ({second}). Not undone: {remaining}",
                on=self._input.spec.name,
                try_="call rollback() of the plan once the cause is fixed",
            ) from error
        _log.info("Undone after a failure: %s", "; ".join(undone), extra={"agent": self._input.spec.name})

    def _undo(self, journal: DeployJournal, report: Report) -> list[str]:
        by_kind = {part.kind: part for part in self._parts}
        sentences: list[str] = []
        for intent in reversed(journal.intents):
            part = by_kind.get(intent.kind) or part_to_undo(self._target.clients, self._input.spec, intent)
            sentences.append(part.undo(intent, report))
            journal.remove(intent)
        journal.clear()
        return [sentence for sentence in sentences if sentence]

    def _agent_arn(self) -> str:
        """Return the runtime's ARN; "" before it exists."""
        if self._runtime.deployed is not None:
            return self._runtime.deployed.arn
        clients = self._target.clients
        runtime_id = find_runtime(clients, self._input.spec.name)
        place = AwsPlace(account=clients.account_id(), region=clients.region)
        return place.arn("bedrock-agentcore", f"runtime/{runtime_id}") if runtime_id else ""

    def _journal(self) -> DeployJournal:
        return self._target.journal(self._input.spec.name)


_INTERRUPTED: Final = (
    "An earlier deployment of this agent was interrupted. apply() continues it; rollback() undoes its changes."
)


def _request(
    target: DeployTarget, deploy_input: DeployInput, role_arn: str, bound: Mapping[str, str]
) -> RuntimeRequest:
    spec, clients = deploy_input.spec, target.clients
    python = f"PYTHON_{spec.python.replace('.', '_')}" if spec.python else ""
    secrets = {name: reference.removeprefix("ssm:") for name, reference in spec.secrets.items()}
    code = RuntimeCode(
        bucket=code_bucket(clients),
        key=package_key(spec.name, deploy_input.package),
        python=python or (own_python() if target.where == "local" else "PYTHON_3_13"),
        entry_point=deploy_input.package.entry_point,
    )
    return RuntimeRequest(
        name=spec.name,
        code=code,
        role_arn=role_arn,
        environment={**spec.environment, **secrets, **bound, **deploy_input.variables},
        description=spec.description,
        settings=RuntimeSettings(
            platform_version=spec.platform.version,
            warmup=spec.platform.warmup,
            idle_timeout_s=spec.platform.idle_timeout_s,
            max_lifetime_s=spec.platform.max_lifetime_s,
            protocol=spec.protocol,
            storage=spec.platform.storage,
            authorizer=spec.authorizer,
            subnets=spec.network.subnets,
            security_groups=spec.network.security_groups,
        ),
        tags={**agent_tags(spec), SPEC_TAG: spec_digest(spec)},
    )
