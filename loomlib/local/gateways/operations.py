"""Operations on gateways that concern several resources: synchronization, and all rate limits at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..resources import Place, ResourceRecord
from ..resources.engine import ResourceEngine
from ..wire import invalid
from .rate_limits import GATEWAY_RATE_LIMIT, check_limits, with_requested_id
from .resources import GATEWAY
from .target_resources import SYNCHRONIZES


class GatewayOperations:
    """SynchronizeGatewayTargets and BatchPutGatewayRateLimits.

    Args:
        engine: The resources.
    """

    def __init__(self, engine: ResourceEngine) -> None:
        self._engine = engine
        self.handlers = {
            "SynchronizeGatewayTargets": self.synchronize,
            "BatchPutGatewayRateLimits": self.put_rate_limits,
        }

    async def synchronize(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Read the tools of a target again."""
        identity, where = parameters["gatewayIdentifier"], {"region": place.region, "account_id": place.account_id}
        answers: list[dict[str, Any]] = []
        for target_id in parameters["targetIdList"]:
            identifiers = {"gatewayIdentifier": identity, "targetId": target_id}
            target = await self._engine.call("GetGatewayTarget", identifiers, **where)
            if "mcpServer" not in (target["targetConfiguration"].get("mcp") or {}):
                raise invalid(f"Target {target_id} is not an MCP server, so there is nothing to synchronize")
            stored = self._engine.store.of_arn(f"{target['gatewayArn']}/target/{target_id}")
            document = {"name": target["name"], **(stored.document if stored else {}), SYNCHRONIZES: True}
            answers.append(await self._engine.call("UpdateGatewayTarget", {**identifiers, **document}, **where))
        return {"targets": answers}

    async def put_rate_limits(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Replace all rate limits of a gateway."""
        identity, store = parameters["gatewayIdentifier"], self._engine.store
        where = {"region": place.region, "account_id": place.account_id}
        await self._engine.call("GetGateway", {"gatewayIdentifier": identity}, **where)
        gateway = store.find(GATEWAY.noun, place, identity)
        assert gateway is not None
        limits: list[Mapping[str, Any]] = parameters["rateLimits"]
        check_limits(limits)
        former = {limit.id: limit for limit in store.records(GATEWAY_RATE_LIMIT.noun, parent=gateway.arn)}
        # No await between reading and writing, so that no other request changes the limits meanwhile.
        records = [_limit_record(limit, former, gateway) for limit in limits]
        if len({record.id for record in records}) != len(records):
            raise invalid("Two rate limits have the same rateLimitId")
        store.put(records)
        for limit in former.values():
            if all(limit.id != record.id for record in records):
                store.remove(limit)
        documents = [
            await self._engine.call(
                "GetGatewayRateLimit", {"gatewayIdentifier": identity, "rateLimitId": record.id}, **where
            )
            for record in records
        ]
        return {"rateLimits": documents}


def _limit_record(
    limit: Mapping[str, Any], former: Mapping[str, ResourceRecord], gateway: ResourceRecord
) -> ResourceRecord:
    """Return the record of one rate limit, changed or new."""
    document = {name: limit[name] for name in ("description", "dimensionKeys", "entries") if name in limit}
    moment = datetime.now(UTC)
    former_limit = former.get(limit.get("rateLimitId") or "")
    if former_limit is not None:
        if former_limit.document["dimensionKeys"] != document["dimensionKeys"]:
            raise invalid(f"The dimensionKeys of the rate limit {former_limit.id} cannot be changed")
        return replace(former_limit, document=document, updated_at=moment)
    identity = limit.get("rateLimitId") or GATEWAY_RATE_LIMIT.name_of(None)
    record = ResourceRecord(
        kind=GATEWAY_RATE_LIMIT.noun,
        region=gateway.region,
        parent=gateway.arn,
        id=identity,
        name=identity,
        arn="",
        version=0,
        status="ACTIVE",
        document=document,
        created_at=moment,
        updated_at=moment,
    )
    return with_requested_id(record, identity, gateway)
