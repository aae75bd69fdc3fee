"""Gateways as resources of the control plane, and the declaration of their targets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from ..identity.inbound import check_authorizer
from ..identity.outbound import linked_identity
from ..resources import Behaviour, Draft, Resource, ResourceRecord
from ..resources.store import ResourceStore
from ..wire import invalid, not_implemented
from .interceptors import check_interceptors

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

_HIDDEN_CAUSE: Final = "An internal error occurred. Please retry later."


def shown_cause(gateway: ResourceRecord, error: Exception) -> str:
    """Return an error message as a gateway's callers see it (AgentCore developer guide, "Debug your gateway")."""
    return str(error) if gateway.document.get("exceptionLevel") == "DEBUG" else _HIDDEN_CAUSE


class GatewayBehaviour(Behaviour):
    """Checks a gateway's authorizer, and adds its URL and its workload identity.

    Args:
        store: The resources.
        url: The service's address.
    """

    def __init__(self, store: ResourceStore, *, url: str) -> None:
        self._store, self._url = store, url

    async def before_create(self, draft: Draft) -> None:
        """Refuse settings that are not enforced here, and add the workload identity."""
        self._check(draft)
        draft.also.append(linked_identity(draft.record))

    async def before_update(self, draft: Draft) -> None:
        """Refuse another name, and settings that are not enforced here."""
        if draft.parameters["name"] != draft.record.name:
            raise invalid(f"The name of a gateway cannot be changed: {draft.record.name}")
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
        """Return the URL and the workload identity."""
        return {
            "gatewayUrl": f"{self._url}/gateways/{record.id}/mcp",
            "workloadIdentityDetails": {"workloadIdentityArn": linked_identity(record).arn},
        }

    def _check(self, draft: Draft) -> None:
        parameters = draft.parameters
        for member, feature in _NOT_HERE.items():
            if parameters.get(member):
                raise not_implemented(feature)
        check_interceptors(parameters.get("interceptorConfigurations"))
        if parameters["authorizerType"] == "CUSTOM_JWT" and not parameters.get("authorizerConfiguration"):
            raise invalid("authorizerType CUSTOM_JWT requires an authorizerConfiguration")
        check_authorizer(parameters.get("authorizerConfiguration"))
