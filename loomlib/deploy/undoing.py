"""Undoing an interrupted deployment: what its journal names is deleted or restored, whatever the file says by now."""

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
    """Undo what a journal names, newest first, and return a sentence about each resource.

    Args:
        clients: The connection.
        spec: The agent's configuration, of which its name counts.
        journal: The journal, locked for this process.
        report: Called with lines of progress.

    Raises:
        LoomError: A resource cannot be deleted or restored; the journal keeps it and what is older.
    """
    sentences: list[str] = []
    for intent in reversed(journal.intents):
        sentences.append(part_to_undo(clients, spec, intent).undo(intent, report))
        journal.remove(intent)
    return [sentence for sentence in sentences if sentence]


def part_to_undo(clients: Clients, spec: AgentSpec, intent: Intent) -> DeployPart:
    """Return the part that undoes an intent.

    Args:
        clients: The connection.
        spec: The agent's configuration, of which its name counts.
        intent: The intent.

    Raises:
        DeployError: A later release has made a resource that this one does not know.
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
                    "The journal names a resource that this release does not know",
                    on=f"{intent.kind} {intent.name}",
                    try_="the release of Loom that was interrupted",
                )
            return part
