"""Gateways and their targets as resources of the control plane."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from ..identity.inbound import check_authorizer
from ..identity.outbound import linked_identity
from ..resources import Behaviour, Draft, Resource, ResourceRecord, SettlementError
from ..resources.store import ResourceStore
from ..wire import invalid, not_implemented
from .interceptors import check_interceptors
from .tools import GatewayTool, TargetError

GATEWAY: Final = Resource(noun="Gateway", arn="gateway/{id}", letters="lower", update="replace")
GATEWAY_TARGET: Final = Resource(
    noun="GatewayTarget",
    arn="gateway/{parent}/target/{id}",
    id="{suffix}",
    unnamed="target-{suffix}",
    parent=GATEWAY,
    aliases={"targetId": "id"},
    update="replace",
)
_NOT_HERE: Final = {
    "policyEngineConfiguration": "policy engines of gateways",
    "domainOverride": "domains of gateways",
}

SYNCHRONIZES: Final = "synchronizes"
"""Parameter of an update that only reads a target's tools again; clients do not have it."""

_SYNCHRONIZING: Final = {"UPDATING": "SYNCHRONIZING", "UPDATE_UNSUCCESSFUL": "SYNCHRONIZE_UNSUCCESSFUL"}

ReadTools = Callable[[ResourceRecord, ResourceRecord], Awaitable[list[GatewayTool]]]
"""Reads the tools of a gateway's target."""


class GatewayBehaviour(Behaviour):
    """Checks a gateway's authorizer, and shows its address and its workload identity.

    Args:
        store: The resources.
        url: The service's address.
    """

    def __init__(self, store: ResourceStore, *, url: str) -> None:
        self._store, self._url = store, url

    async def before_create(self, draft: Draft) -> None:
        """Refuse what is not enforced here, and add the workload identity."""
        self._check(draft)
        draft.also.append(linked_identity(draft.record))

    async def before_update(self, draft: Draft) -> None:
        """Refuse another name, and what is not enforced here."""
        if draft.parameters["name"] != draft.record.name:
            raise invalid(f"The name of a gateway cannot change: {draft.record.name}")
        self._check(draft)

    async def before_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Refuse to delete a gateway that has targets."""
        if self._store.records(GATEWAY_TARGET.noun, parent=record.arn):
            raise invalid(
                f"Gateway {record.id} has targets associated with it. Delete all targets before deleting the gateway"
            )

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Delete the workload identity."""
        if identity := self._store.of_arn(linked_identity(record).arn):
            await asyncio.to_thread(self._store.remove, identity)

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Show the address and the workload identity."""
        return {
            "gatewayUrl": f"{self._url}/gateways/{record.id}/mcp",
            "workloadIdentityDetails": {"workloadIdentityArn": linked_identity(record).arn},
        }

    def _check(self, draft: Draft) -> None:
        given = draft.parameters
        for member, what in _NOT_HERE.items():
            if given.get(member):
                raise not_implemented(what)
        check_interceptors(given.get("interceptorConfigurations"))
        if given["authorizerType"] == "CUSTOM_JWT" and not given.get("authorizerConfiguration"):
            raise invalid("authorizerConfiguration is missing, which authorizerType CUSTOM_JWT needs")
        check_authorizer(given.get("authorizerConfiguration"))


class GatewayTargetBehaviour(Behaviour):
    """Reads the tools of a target in the background, renames targets, and shows their protocol.

    Args:
        store: The resources.
        read_tools: Reads the tools of a target.
    """

    settles = True

    def __init__(self, store: ResourceStore, read_tools: ReadTools) -> None:
        self._store, self._read_tools = store, read_tools

    async def before_update(self, draft: Draft) -> None:
        """Take a new name, and note whether the target is synchronized."""
        document = dict(draft.record.document)
        synchronizes = document.pop(SYNCHRONIZES, False)
        draft.record = replace(
            draft.record,
            name=draft.parameters.get("name") or draft.record.name,
            document=document,
            internal={**draft.record.internal, SYNCHRONIZES: synchronizes},
        )

    async def settle(self, record: ResourceRecord) -> ResourceRecord:
        """Read the tools.

        Raises:
            SettlementError: The target has none that can be read.
        """
        gateway = self._store.of_arn(record.parent)
        if gateway is None:
            raise SettlementError("The gateway has been deleted")
        try:
            tools = await self._read_tools(gateway, record)
        except TargetError as error:
            raise SettlementError(str(error)) from error
        moment = datetime.now(UTC)
        document = dict(record.document)
        if "mcpServer" in (document["targetConfiguration"].get("mcp") or {}):
            document["lastSynchronizedAt"] = moment.timestamp()
        internal = {**record.internal, "tools": [tool.stored() for tool in tools]}
        return replace(record, document=document, internal=internal, failure="")

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Show what the service model requires of every target."""
        kind = next(iter(record.document["targetConfiguration"]), "")
        protocol = {"mcp": "MCP", "http": "HTTP"}.get(kind)
        status = _SYNCHRONIZING.get(record.status) if record.internal.get(SYNCHRONIZES) else None
        return {
            "credentialProviderConfigurations": record.document.get("credentialProviderConfigurations") or [],
            **({"protocolType": protocol} if protocol else {}),
            **({"status": status} if status else {}),
        }
