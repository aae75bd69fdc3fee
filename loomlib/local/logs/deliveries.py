"""Deliveries of AgentCore's own logs ("vended logs") to log groups, which moto's CloudWatch Logs does not know.

Source: AgentCore developer guide, "Add observability to your Amazon Bedrock AgentCore resources".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from moto.logs.models import DeliveryDestination, DeliverySource

from ..resources import Place, place_of
from ..resources.store import ResourceStore
from ..tenancy import sees_resource
from ..wire import RefusedError
from .requests import group_not_found
from .store import Logs

_SERVICE: Final = ":bedrock-agentcore:"
_LOG_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "AgentRuntime": ("APPLICATION_LOGS", "USAGE_LOGS", "TRACES"),
    "Memory": ("APPLICATION_LOGS", "TRACES"),
    "Gateway": ("APPLICATION_LOGS", "TRACES"),
}


class LogDeliveries:
    """PutDeliverySource and PutDeliveryDestination as AgentCore needs them; moto answers for other services.

    Args:
        logs: The store of log groups.
        resources: The resources that have logs.
    """

    def __init__(self, logs: Logs, resources: ResourceStore) -> None:
        self._logs, self._resources = logs, resources

    async def put_delivery_source(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any] | None:
        """Make a runtime, a memory or a gateway a source of logs."""
        arn, kind = str(parameters.get("resourceArn")), str(parameters.get("logType"))
        if _SERVICE not in arn:
            return None
        record = self._resources.of_arn(arn)
        if record is None or record.place != place or record.kind not in _LOG_TYPES or not sees_resource(record.tenant):
            raise group_not_found(f"The resource {arn} does not exist or does not have logs")
        if kind not in _LOG_TYPES[record.kind]:
            raise RefusedError("ValidationException", 400, f"{arn} does not have logs of type {kind}")
        name = str(parameters.get("name"))
        with self._logs.backend_lock:
            sources: dict[str, Any] = self._logs.backend(place).delivery_sources
            if name in sources and sources[name].resource_arns != [arn]:
                raise RefusedError("ConflictException", 400, f"The delivery source {name} belongs to another resource")
            sources[name] = DeliverySource(
                account_id=place.account_id,
                region=place.region,
                name=name,
                resource_arn=arn,
                log_type=kind,
                tags=parameters.get("tags"),
            )
            return {"deliverySource": sources[name].to_dict()}

    async def put_delivery_destination(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any] | None:
        """Make X-Ray a destination of traces: its only destination without a resource of its own."""
        if parameters.get("deliveryDestinationType") != "XRAY":
            return None
        name = str(parameters.get("name"))
        destination: Any = DeliveryDestination(
            account_id=place.account_id,
            region=place.region,
            name=name,
            output_format=parameters.get("outputFormat"),
            delivery_destination_configuration={"destinationResourceArn": "arn:aws:xray"},
            tags=parameters.get("tags"),
        )
        destination.delivery_destination_type, destination.delivery_destination_configuration = "XRAY", {}
        with self._logs.backend_lock:
            self._logs.backend(place).delivery_destinations[name] = destination
        return {"deliveryDestination": destination.to_dict()}

    def groups(self, arn: str, log_type: str) -> list[str]:
        """Return the keys of the log groups to which a resource's logs are delivered.

        Args:
            arn: The resource.
            log_type: The type of the logs.
        """
        place = place_of(arn)
        backend: Any = self._logs.backend(place)
        if not backend.deliveries:
            return []
        with self._logs.backend_lock:
            source_names = {
                name
                for name, source in backend.delivery_sources.items()
                if arn in source.resource_arns and source.log_type == log_type
            }
            destination_arns = {
                delivery.delivery_destination_arn
                for delivery in backend.deliveries.values()
                if delivery.delivery_source_name in source_names
            }
            targets = [
                str(destination.delivery_destination_configuration.get("destinationResourceArn", ""))
                for destination in backend.delivery_destinations.values()
                if destination.arn in destination_arns
            ]
        return [
            self._logs.keys.of(place, target.partition(":log-group:")[2].removesuffix(":*"))
            for target in targets
            if ":log-group:" in target
        ]
