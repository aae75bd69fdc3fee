"""X-Ray's settings of Transaction Search. Here all spans go to CloudWatch Logs, and all are searchable."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from .wire import RefusedError

_RULE = "Default"


class TraceSettings:
    """Answers the operations with which samples enable Transaction Search."""

    def __init__(self) -> None:
        self._since = int(time.time())

    async def get_trace_segment_destination(self, _parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the destination of spans."""
        return {"Destination": "CloudWatchLogs", "Status": "ACTIVE"}

    async def update_trace_segment_destination(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Accept CloudWatch Logs, to which spans go in any case."""
        if parameters.get("Destination") == "XRay":
            message = "The local AgentCore stores spans in CloudWatch Logs only: leave Destination at CloudWatchLogs"
            raise RefusedError("InvalidRequestException", 400, message)
        return await self.get_trace_segment_destination(parameters)

    async def get_indexing_rules(self, _parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the one rule."""
        return {"IndexingRules": [self._rule(100.0)]}

    async def update_indexing_rule(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Accept any sampling percentage; all traces are searchable."""
        if parameters.get("Name") != _RULE:
            raise RefusedError("ResourceNotFoundException", 404, f"The only indexing rule is {_RULE}")
        rule: Mapping[str, Any] = parameters.get("Rule") or {}
        shares: Mapping[str, Any] = rule.get("Probabilistic") or {}
        percentage = shares.get("DesiredSamplingPercentage", 100.0)
        return {"IndexingRule": self._rule(float(percentage))}

    def _rule(self, percentage: float) -> Mapping[str, Any]:
        shares = {"DesiredSamplingPercentage": percentage, "ActualSamplingPercentage": 100.0}
        return {"Name": _RULE, "ModifiedAt": self._since, "Rule": {"Probabilistic": shares}}
