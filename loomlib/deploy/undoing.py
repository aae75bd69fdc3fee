"""Undo an interrupted deployment: delete or restore the resources in its journal, whatever `loom-agent.toml` says."""

from __future__ import annotations

from ..aws import Clients, Package
from ..aws.runtime_requests import RuntimeCode, RuntimeRequest
from ..errors import DeployError
from .containers.parts import part_of_image
from .journal import DeployJournal, Intent
from .parts.endpoint import EndpointPart
from .parts.part import DeployPart, Report
from .parts.role import RolePart
from .parts.runtime import RuntimePart
from .parts.storage import BucketPart, PackagePart
from .spec import AgentSpec
from .triggers.parts import part_of_trigger


def undo_interrupted(clients: Clients, spec: AgentSpec, journal: DeployJournal, report: Report) -> list[str]:
    """Undo the changes in a journal, newest first, and return a sentence about each resource.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration, of which only the name is used.
        journal: The journal, locked for this process.
        report: Called with lines of progress.

    Raises:
        LoomError: A resource cannot be deleted or restored; it and older entries stay in the journal.
    """
    sentences: list[str] = []
    for intent in reversed(journal.intents):
        sentences.append(part_to_undo(clients, spec, intent).undo(intent, report))
        journal.remove(intent)
    return [sentence for sentence in sentences if sentence]


def part_to_undo(clients: Clients, spec: AgentSpec, intent: Intent) -> DeployPart:
    """Return the part that undoes an intent.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration, of which only the name is used.
        intent: The intent.

    Raises:
        DeployError: A later release has created a resource that this one does not support.
    """
    match intent.kind:
        case BucketPart.kind:
            return BucketPart(clients)
        case PackagePart.kind:
            return PackagePart(clients, spec.name, Package(data=b"", digest="", entry_point=""))
        case RolePart.kind:
            return RolePart(clients, spec, None)
        case RuntimePart.kind:
            return RuntimePart(clients, RuntimeRequest(name=spec.name, code=RuntimeCode(), role_arn=""))
        case EndpointPart.kind:
            return EndpointPart(clients, spec, intent.name, intent.name)
        case _:
            part = part_of_image(clients, spec, intent.kind) or part_of_trigger(clients, spec, intent.kind)
            if part is None:
                raise DeployError(
                    "The journal contains a resource that this release does not support",
                    on=f"{intent.kind} {intent.name}",
                    try_="the release of Loom whose deployment was interrupted",
                )
            return part
