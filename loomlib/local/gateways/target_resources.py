"""Targets of gateways in the control plane: it reads their tools, or checks their addresses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from ..resources import Behaviour, Draft, ProvisioningError, ResourceRecord
from ..resources.store import ResourceStore
from ..tenancy import sees_resource
from ..wire import not_found
from .http_targets import check_http_target, check_new_target, http_configuration
from .tools import GatewayTool, TargetError

SYNCHRONIZES: Final = "synchronizes"
"""Parameter of an update that only reads a target's tools again; it is not available to clients."""

_SYNCHRONIZING: Final = {"UPDATING": "SYNCHRONIZING", "UPDATE_UNSUCCESSFUL": "SYNCHRONIZE_UNSUCCESSFUL"}

ReadTools = Callable[[ResourceRecord, ResourceRecord], Awaitable[list[GatewayTool]]]
"""Reads the tools of a gateway's target."""


class GatewayTargetBehaviour(Behaviour):
    """Reads the tools of a target in the background, renames targets, and adds their protocol.

    Args:
        store: The resources.
        read_tools: Reads the tools of a target.
    """

    needs_provisioning = True

    def __init__(self, store: ResourceStore, read_tools: ReadTools) -> None:
        self._store, self._read_tools = store, read_tools

    async def before_create(self, draft: Draft) -> None:
        """Refuse an HTTP target that the gateway cannot have."""
        assert draft.parent is not None
        check_new_target(draft.parent, draft.record.name, draft.parameters["targetConfiguration"])
        self._check_providers(draft)

    async def before_update(self, draft: Draft) -> None:
        """Set a new name, and record whether the target is synchronized."""
        document = dict(draft.record.document)
        synchronizes = document.pop(SYNCHRONIZES, False)
        draft.record = replace(
            draft.record,
            name=draft.parameters.get("name") or draft.record.name,
            document=document,
            internal={**draft.record.internal, SYNCHRONIZES: synchronizes},
        )
        assert draft.parent is not None
        check_new_target(draft.parent, draft.record.name, document["targetConfiguration"])
        self._check_providers(draft)

    def _check_providers(self, draft: Draft) -> None:
        """Refuse a credential provider of another tenant: the gateway would send its secret to the target."""
        configurations: Sequence[Mapping[str, Any]] = (
            draft.record.document.get("credentialProviderConfigurations") or ()
        )
        for configuration in configurations:
            providers: Mapping[str, Mapping[str, Any]] = configuration.get("credentialProvider") or {}
            for provider in providers.values():
                name = str(provider.get("providerArn") or "").rpartition("/")[2]
                for kind in ("ApiKeyCredentialProvider", "Oauth2CredentialProvider"):
                    record = self._store.find(kind, draft.record.place, name, by_name=True)
                    if record is not None and not sees_resource(record.tenant):
                        raise not_found(f"Credential provider with name: {name} does not exist")

    async def provision(self, record: ResourceRecord) -> ResourceRecord:
        """Read the tools.

        Raises:
            ProvisioningError: The tools of the target cannot be read.
        """
        gateway = self._store.of_arn(record.parent)
        if gateway is None:
            raise ProvisioningError("The gateway has been deleted")
        kind = http_configuration(record)[0] if "http" in record.document["targetConfiguration"] else ""
        try:
            if kind in ("agentcoreRuntime", "passthrough"):
                check_http_target(record, self._store)
                tools: list[GatewayTool] = []
            else:
                tools = await self._read_tools(gateway, record)
        except TargetError as error:
            raise ProvisioningError(str(error)) from error
        moment = datetime.now(UTC)
        document = dict(record.document)
        if "mcpServer" in (document["targetConfiguration"].get("mcp") or {}):
            document["lastSynchronizedAt"] = moment.timestamp()
        internal = {**record.internal, "tools": [tool.stored() for tool in tools]}
        return replace(record, document=document, internal=internal, failure="")

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return the members that the service model requires of every target."""
        kind = next(iter(record.document["targetConfiguration"]), "")
        protocol = {"mcp": "MCP", "http": "HTTP"}.get(kind)
        status = _SYNCHRONIZING.get(record.status) if record.internal.get(SYNCHRONIZES) else None
        return {
            "credentialProviderConfigurations": record.document.get("credentialProviderConfigurations") or [],
            **({"protocolType": protocol} if protocol else {}),
            **({"status": status} if status else {}),
        }
