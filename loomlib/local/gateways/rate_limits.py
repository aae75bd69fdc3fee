"""Rate limits of gateways: the number of requests per second or minute for a target, a tool or a caller.

The rules are those of AgentCore's developer guide, "Add rate limits to a gateway" and the pages below it. Limits are
exact here and take effect at once; AWS's are approximate and take effect within 30 seconds.
"""

from __future__ import annotations

import json
import math
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from ..resources import Behaviour, Draft, Resource, ResourceRecord
from ..resources.store import ResourceStore
from ..wire import conflict, invalid, not_implemented
from .resources import GATEWAY

GATEWAY_RATE_LIMIT: Final = Resource(
    noun="GatewayRateLimit",
    arn="gateway/{parent}/rate-limit/{id}",
    id="{name}",
    unnamed="rl-{suffix}",
    parent=GATEWAY,
    aliases={"rateLimitId": "id"},
)
ANY: Final = "*"
_MOST_LIMITS: Final = 50
_MOST_BUCKETS: Final = 100_000
_PERIOD_S: Final = {"second": 1.0, "minute": 60.0}
_ATTRIBUTES: Final = "aws.agentcore.gateway.throttle.customer"
_CONTEXT: Final = "$.context."
_FREELY_CHOSEN: Final = (f"{_CONTEXT}request.header.", f"{_CONTEXT}request.body.")
_TRUSTED: Final = (f"{_CONTEXT}jwt.", f"{_CONTEXT}iam.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedRequest:
    """The properties of a request that rate limits use.

    Attributes:
        target: The name of its target; "" for a request without one.
        tool: The full name of its tool; "" for a request without one.
        principal: The ARN of the IAM principal that signed it; "" for none.
        claims: The claims of its verified token.
        headers: Its header fields by lower-case names.
        body: The JSON-RPC message.
    """

    target: str
    tool: str
    principal: str
    claims: Mapping[str, Any]
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    def value(self, key: str) -> str | None:
        """Return the value of a dimension; None if this request does not have it."""
        if key in ("targetName", "toolName"):
            return (self.target if key == "targetName" else self.tool) or None
        kind, _, rest = key.removeprefix(_CONTEXT).partition(".")
        value: Any = None
        if kind == "iam":
            value = self.principal if rest == "principal" else None
        elif kind == "jwt":
            value = self.claims.get(rest)
        elif rest.startswith("header."):
            value = self.headers.get(rest.removeprefix("header.").lower())
        elif rest.startswith("body."):
            value = self.body
            for part in rest.removeprefix("body.").split("."):
                value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
        if value is None or value == "" or isinstance(value, dict | list):
            return None
        return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttled:
    """A request that a rate limit refuses.

    Attributes:
        limit_id: The rate limit's id.
        values: The values of its dimensions, by their keys.
        retry_after_s: Whole seconds until the next request is allowed.
    """

    limit_id: str
    values: Mapping[str, str]
    retry_after_s: int

    @property
    def message(self) -> str:
        """AWS's message."""
        return "Rate limit exceeded"

    def data(self) -> dict[str, Any]:
        """Return the limit that was reached, and the time to retry."""
        values = ",".join(f"{key}={value}" for key, value in self.values.items())
        return {"limitKey": f"{self.limit_id}/{values}", "metric": "requests", "retryAfter": self.retry_after_s}

    def error(self, identity: Any) -> dict[str, Any]:
        """Return AWS's response to an MCP client."""
        error = {"code": -32003, "message": self.message, "data": self.data()}
        return {"jsonrpc": "2.0", "id": identity, "error": error}

    def attributes(self) -> dict[str, str]:
        """Return the attributes of the request's span."""
        return {
            f"{_ATTRIBUTES}.decision": "throttled",
            f"{_ATTRIBUTES}.limit_key": self.limit_id,
            f"{_ATTRIBUTES}.metric": "requests",
            f"{_ATTRIBUTES}.matched_entry": ",".join(self.values.values()),
        }


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


@dataclass(frozen=True, slots=True)
class _Match:
    """The entry of a limit that applies to a request."""

    limit: ResourceRecord
    values: tuple[str, ...]
    rate: float
    period_s: float = field(default=1.0)


class RateLimits:
    """Counts the requests of all gateways.

    Args:
        store: The resources.
    """

    def __init__(self, store: ResourceStore) -> None:
        self._store = store
        self._buckets: OrderedDict[tuple[str, str, tuple[str, ...]], _Bucket] = OrderedDict()

    def throttled(self, gateway: ResourceRecord, request: LimitedRequest) -> Throttled | None:
        """Count a request; return the refusal, or None if it is allowed."""
        candidates = [
            _match(limit, request) for limit in self._store.records(GATEWAY_RATE_LIMIT.noun, parent=gateway.arn)
        ]
        matches = [match for match in candidates if match is not None]
        for match in sorted(matches, key=lambda item: (-len(item.values), item.rate / item.period_s)):
            wait_s = self._take(match)
            if wait_s > 0:
                keys: Sequence[str] = match.limit.document["dimensionKeys"]
                values = dict(zip(keys, match.values, strict=True))
                return Throttled(limit_id=match.limit.id, values=values, retry_after_s=max(1, math.ceil(wait_s)))
        return None

    def _take(self, match: _Match) -> float:
        """Take one request out of a token bucket; return the seconds to wait if it is empty, else 0."""
        if match.rate <= 0:
            return match.period_s
        key = (match.limit.arn, match.limit.updated_at.isoformat(), match.values)
        now, most, speed = time.monotonic(), max(1.0, match.rate), match.rate / match.period_s
        bucket = self._buckets.pop(key, None) or _Bucket(most, now)
        self._buckets[key] = bucket
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        bucket.left, bucket.at = min(most, bucket.left + (now - bucket.at) * speed), now
        if bucket.left < 1:
            return (1 - bucket.left) / speed
        bucket.left -= 1
        return 0.0


class RateLimitBehaviour(Behaviour):
    """Checks rate limits, and adds the gateway that they belong to.

    Args:
        store: The resources.
    """

    def __init__(self, store: ResourceStore) -> None:
        self._store = store

    async def before_create(self, draft: Draft) -> None:
        """Use the caller's id, and refuse a second limit with the same dimensions."""
        assert draft.parent is not None
        others = self._store.records(GATEWAY_RATE_LIMIT.noun, parent=draft.parent.arn)
        draft.record = with_requested_id(draft.record, draft.parameters.get("rateLimitId"), draft.parent)
        check_limits([*(other.document for other in others), draft.parameters])
        if any(other.id == draft.record.id for other in others):
            raise conflict(f"The gateway already has a rate limit {draft.record.id}")

    async def before_update(self, draft: Draft) -> None:
        """Refuse entries that do not fit the dimensions, which cannot change."""
        check_limits([draft.record.document])

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Show the id of the gateway."""
        return {"gatewayIdentifier": record.parent.rpartition("/")[2]}


def with_requested_id(record: ResourceRecord, identity: str | None, gateway: ResourceRecord) -> ResourceRecord:
    """Return a new rate limit with the id from its caller; unchanged without one."""
    if not identity:
        return record
    arn = GATEWAY_RATE_LIMIT.arn_of(id=identity, name=identity, **gateway.place._asdict(), parent=gateway)
    return replace(record, id=identity, name=identity, arn=arn)


def check_limits(documents: Sequence[Mapping[str, Any]]) -> None:
    """Refuse the rate limits of a gateway that AWS would reject, or that would have no effect here.

    Raises:
        RefusedError: One of them is invalid, or two have the same dimensions.
    """
    if len(documents) > _MOST_LIMITS:
        raise invalid(f"A gateway can have at most {_MOST_LIMITS} rate limits")
    dimension_sets: set[frozenset[str]] = set()
    for document in documents:
        keys: list[str] = document["dimensionKeys"]
        if len(set(keys)) != len(keys):
            raise invalid("dimensionKeys names a dimension twice")
        if frozenset(keys) in dimension_sets:
            raise conflict(f"The gateway already has a rate limit with the dimensions {', '.join(keys)}")
        dimension_sets.add(frozenset(keys))
        if any(key.startswith(_FREELY_CHOSEN) for key in keys) and not any(key.startswith(_TRUSTED) for key in keys):
            raise invalid(
                "A dimension of the request's headers or body must be combined with one of the caller's identity"
            )
        _check_entries(keys, document["entries"])


def _check_entries(keys: Sequence[str], entries: Sequence[Mapping[str, Any]]) -> None:
    value_tuples: set[tuple[str, ...]] = set()
    for entry in entries:
        dimensions: Mapping[str, str] = entry["dimensions"]
        if set(dimensions) != set(keys):
            raise invalid(f"An entry must have the dimensions {', '.join(keys)}")
        values = tuple(dimensions[key] for key in keys)
        if values in value_tuples:
            raise invalid(f"Two entries have the dimensions {', '.join(values)}")
        value_tuples.add(values)
        if ANY in values and any(value != ANY for value in values[values.index(ANY) :]):
            raise invalid("In the dimensions of an entry, only * may follow *")
        for member, feature in (("tokens", "token limits"), ("connections", "connection limits")):
            if entry.get(member):
                raise not_implemented(f"{feature} of gateways")
        if not entry.get("requests"):
            raise invalid("An entry must have a request rate")


def _match(limit: ResourceRecord, request: LimitedRequest) -> _Match | None:
    """Return the most specific entry that matches a request; None if the limit does not apply to it."""
    keys: Sequence[str] = limit.document["dimensionKeys"]
    key_values = [request.value(key) for key in keys]
    values = tuple(value for value in key_values if value is not None)
    if len(values) != len(keys):
        return None
    entries = {tuple(entry["dimensions"][key] for key in keys): entry for entry in limit.document["entries"]}
    for prefix_length in range(len(keys), -1, -1):
        entry = entries.get((*values[:prefix_length], *[ANY] * (len(keys) - prefix_length)))
        if entry is not None:
            rate = entry["requests"][0]
            return _Match(limit, values, float(rate["rate"]), _PERIOD_S[rate["period"]])
    return None
