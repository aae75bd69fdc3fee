"""An endpoint that represents an environment, such as prod."""

from __future__ import annotations

from ...aws import Clients
from ...aws.endpoints import create_endpoint, delete_endpoint, describe_endpoint
from ...aws.runtimes import describe_runtime, find_runtime
from ...aws.tags import read_tags
from ...errors import ConflictError, DeployError
from ..journal import DeployJournal, Intent
from ..names import AGENT_TAG, agent_tags
from ..spec import AgentSpec
from ..steps import PlanStep
from .part import Report


class EndpointPart:
    """An endpoint of the agent's runtime. A new one serves the deployed version; later versions have to be promoted.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration.
        name: The endpoint's name.
        purpose: The environment that it represents.
    """

    kind = "endpoint"

    def __init__(self, clients: Clients, spec: AgentSpec, name: str, purpose: str) -> None:
        self._clients, self._spec, self._name, self._purpose = clients, spec, name, purpose

    def look(self) -> PlanStep:
        """Check whether the endpoint exists."""
        runtime_id = find_runtime(self._clients, self._spec.name)
        endpoint = describe_endpoint(self._clients, runtime_id, self._name) if runtime_id else None
        if endpoint is None:
            note = f"environment {self._purpose}; it serves the version that is deployed now"
            return PlanStep(kind=self.kind, name=self._name, action="create", note=note)
        note = (
            f"environment {self._purpose}; it serves version {endpoint.version or endpoint.target_version} "
            "until promoted"
        )
        return PlanStep(kind=self.kind, name=self._name, action="keep", note=note)

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create the endpoint."""
        runtime_id = find_runtime(self._clients, self._spec.name)
        if runtime_id is None:
            raise DeployError("The runtime no longer exists", on=self._spec.name, try_="deploy again")
        journal.add(Intent(kind=self.kind, name=step.name, action="create"))
        report(f"creating the endpoint {step.name}")
        version = describe_runtime(self._clients, runtime_id).version
        try:
            create_endpoint(self._clients, runtime_id, step.name, version, tags=agent_tags(self._spec), progress=report)
        except ConflictError:
            if describe_endpoint(self._clients, runtime_id, step.name) is None:
                raise

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the endpoint if Loom created it."""
        runtime_id = find_runtime(self._clients, self._spec.name)
        endpoint = describe_endpoint(self._clients, runtime_id, intent.name) if runtime_id else None
        if runtime_id is None or endpoint is None:
            return ""
        if read_tags(self._clients, endpoint.arn).get(AGENT_TAG) != self._spec.name:
            return f"kept the endpoint {intent.name}, which Loom did not create"
        report(f"deleting the endpoint {intent.name}")
        delete_endpoint(self._clients, runtime_id, intent.name)
        return f"deleted the endpoint {intent.name}"
