"""Routing of requests to HTTP targets by the gateway's rules; a weighted decision applies to a whole session.

Source: AgentCore developer guide, "Session stickiness for weighted rules". Decisions are kept in memory.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..resources import ResourceRecord
from ..resources.store import ResourceStore
from .callers import GatewayCaller
from .http_targets import http_target, session_of, session_timeout_s
from .rules import bundle_entries, matching_rules, route_entries

_MOST_SESSIONS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The target of a request, and the configuration bundle that is sent with it.

    Attributes:
        target: The target's name.
        bundle: ARN and version of a configuration bundle; None without one.
        is_weighted: Whether the decision was random, by weights.
        session: The session to which the decision applies; empty without one.
    """

    target: str
    bundle: tuple[str, str] | None = None
    is_weighted: bool = False
    session: tuple[str, ...] = ()

    def baggage(self, header: str) -> str:
        """Return a request's baggage with the configuration bundle of this route instead of any other."""
        items = [item.strip() for item in header.split(",") if item.strip() and not item.strip().startswith(_BUNDLE)]
        if self.bundle is not None:
            items += [f"{_BUNDLE}_arn={self.bundle[0]}", f"{_BUNDLE}_version={self.bundle[1]}"]
        return ",".join(items)

    def attributes(self) -> dict[str, str]:
        """Return AWS's attributes of the request's span."""
        attributes = {"aws.agentcore.gateway.resolved_target_name": self.target}
        if self.bundle is not None:
            attributes |= {f"{_BUNDLE}_arn": self.bundle[0], f"{_BUNDLE}_version": self.bundle[1]}
        return attributes


_BUNDLE: Final = "aws.agentcore.configbundle"


class Routing:
    """Routes requests by the rules of gateways, and remembers weighted decisions for each session.

    Args:
        store: The resources.
    """

    def __init__(self, store: ResourceStore) -> None:
        self._store = store
        self._route_cache: OrderedDict[tuple[str, ...], tuple[Route, float]] = OrderedDict()

    def route(self, gateway: ResourceRecord, target: ResourceRecord, caller: GatewayCaller) -> Route:
        """Return the route of a request.

        Args:
            gateway: The gateway.
            target: The target that the request's path names.
            caller: The caller, with the request's header fields.
        """
        session = session_of(target, caller.fields)
        key = (target.arn, *session)
        entry = self._route_cache.pop(key, None) if session else None
        if entry is not None and entry[1] > time.monotonic() and http_target(self._store, gateway, entry[0].target):
            self._keep(key, target, entry[0])
            return entry[0]
        name, bundle, weighted = "", None, False
        for rule in matching_rules(self._store, gateway, target=target.name, arns=caller.arns):
            for action in rule.document["actions"]:
                if not name and (entries := route_entries(action)):
                    name = str(_chosen(entries)["targetName"])
                    weighted = weighted or len(entries) > 1
                if bundle is None and (entries := bundle_entries(action)):
                    bundle_entry = _chosen(entries)
                    bundle_entry = bundle_entry.get("configurationBundle") or bundle_entry
                    bundle = (str(bundle_entry["bundleArn"]), str(bundle_entry["bundleVersion"]))
                    weighted = weighted or len(entries) > 1
        route = Route(target=name or target.name, bundle=bundle, is_weighted=weighted, session=session)
        if weighted and session:
            self._keep(key, target, route)
        return route

    def began(self, target: ResourceRecord, route: Route, session_id: str) -> None:
        """Store the route for a session that started with this request; the runtime has chosen the session id."""
        if route.is_weighted and not route.session and session_id:
            self._keep((target.arn, session_id), target, route)

    def _keep(self, key: tuple[str, ...], target: ResourceRecord, route: Route) -> None:
        self._route_cache[key] = (route, time.monotonic() + session_timeout_s(target))
        if len(self._route_cache) > _MOST_SESSIONS:
            self._route_cache.popitem(last=False)


def _chosen(entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return entries[0] if len(entries) == 1 or secrets.randbelow(100) < entries[0]["weight"] else entries[1]
