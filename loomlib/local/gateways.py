"""Gateways and their targets as resources of the control plane. Nothing serves a gateway's address yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from .resources import Behaviour, Draft, Resource, ResourceRecord
from .resources.store import ResourceStore
from .wire import invalid

GATEWAY: Final = Resource(noun="Gateway", arn="gateway/{id}", lowercase=True, update="replace")
GATEWAY_TARGET: Final = Resource(
    noun="GatewayTarget",
    arn="gateway/{parent}/target/{id}",
    id="{suffix}",
    unnamed="target-{suffix}",
    parent=GATEWAY,
    aliases={"targetId": "id"},
    update="replace",
)


class GatewayBehaviour(Behaviour):
    """Checks a gateway's authorizer, and shows its address and its workload identity.

    Args:
        store: The resources.
        url: The service's address: what a client sends to a gateway reaches this service, which refuses it by name.
    """

    def __init__(self, store: ResourceStore, *, url: str) -> None:
        self._store, self._url = store, url

    async def before_create(self, draft: Draft) -> None:
        """Refuse an authorizer without its configuration."""
        self._check(draft)

    async def before_update(self, draft: Draft) -> None:
        """Refuse another name, and an authorizer without its configuration."""
        if draft.parameters["name"] != draft.record.name:
            raise invalid(f"The name of a gateway cannot change: {draft.record.name}")
        self._check(draft)

    async def before_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Refuse to delete a gateway that has targets."""
        if self._store.records(GATEWAY_TARGET.noun, parent=record.arn):
            raise invalid(
                f"Gateway {record.id} has targets associated with it. Delete all targets before deleting the gateway"
            )

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Show the address and the workload identity."""
        directory = f"{record.arn.partition(':gateway/')[0]}:workload-identity-directory/default"
        return {
            "gatewayUrl": f"{self._url}/gateways/{record.id}/mcp",
            "workloadIdentityDetails": {"workloadIdentityArn": f"{directory}/workload-identity/{record.id}"},
        }

    def _check(self, draft: Draft) -> None:
        given = draft.parameters
        if given["authorizerType"] == "CUSTOM_JWT" and not given.get("authorizerConfiguration"):
            raise invalid("authorizerConfiguration is missing, which authorizerType CUSTOM_JWT needs")


class GatewayTargetBehaviour(Behaviour):
    """Renames targets, and shows their protocol."""

    async def before_update(self, draft: Draft) -> None:
        """Take a new name."""
        if name := draft.parameters.get("name"):
            draft.record = replace(draft.record, name=name)

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Show what the service model requires of every target."""
        kind = next(iter(record.document["targetConfiguration"]), "")
        protocol = {"mcp": "MCP", "http": "HTTP"}.get(kind)
        return {
            "credentialProviderConfigurations": record.document.get("credentialProviderConfigurations") or [],
            **({"protocolType": protocol} if protocol else {}),
        }
