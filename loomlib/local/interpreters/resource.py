"""Code interpreters as resources of the control plane, with the one that AWS manages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ..resources import Behaviour, Draft, Resource, ResourceRecord
from ..wire import invalid

MANAGED_ID: Final = "aws.codeinterpreter.v1"

_MANAGED: Final = ResourceRecord(
    kind="CodeInterpreter",
    region="",
    id=MANAGED_ID,
    name="Amazon Bedrock AgentCore Code Interpreter",  # AWS's developer guide, "Resource management"
    arn="arn:{partition}:bedrock-agentcore:{region}:aws:code-interpreter/" + MANAGED_ID,
    status="READY",
    document={
        "description": "AWS built-in code interpreter for secure code execution",
        "networkConfiguration": {"networkMode": "SANDBOX"},
    },
    created_at=datetime(2025, 7, 16, tzinfo=UTC),
    updated_at=datetime(2025, 7, 16, tzinfo=UTC),
)

CODE_INTERPRETER: Final = Resource(
    noun="CodeInterpreter", arn="code-interpreter-custom/{id}", presets=(_MANAGED,), page_size=10
)


class CodeInterpreterBehaviour(Behaviour):
    """Ends the sessions of a deleted code interpreter, and lists by type.

    Args:
        on_deleted: Called with the id of a deleted code interpreter.
    """

    def __init__(self, on_deleted: Callable[[str], object]) -> None:
        self._on_deleted = on_deleted

    async def before_create(self, draft: Draft) -> None:
        """Refuse settings that the local service cannot provide to a session."""
        network: Mapping[str, Any] = draft.parameters["networkConfiguration"]
        if (network["networkMode"] == "VPC") != bool(network.get("vpcConfig")):
            raise invalid("networkConfiguration.vpcConfig is required for the network mode VPC, and only for it")
        for member in ("certificates", "filesystemConfigurations"):
            if draft.parameters.get(member):
                raise invalid(f"The local AgentCore does not support {member} of code interpreters")

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """End the sessions."""
        self._on_deleted(record.id)

    def is_listed(self, record: ResourceRecord, parameters: Mapping[str, Any]) -> bool:
        """Return whether a resource has the type that `ListCodeInterpreters` requests: SYSTEM or CUSTOM."""
        interpreter_type = parameters.get("type")
        return interpreter_type is None or interpreter_type == ("CUSTOM" if record.number else "SYSTEM")
