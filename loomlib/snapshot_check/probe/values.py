"""Values created at start-up that requests will read: ids, random numbers, clocks, credentials and caches."""

from __future__ import annotations

import ast
import base64
import datetime
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from typing import Any, cast

from .agent_code import AgentCode
from .findings import Findings
from .matching import LineSpan, Matcher, is_part_of
from .objects import SCALARS, Node, Objects
from .sources import CLOCK, ID, RANDOM, SEED
from .tracing import CallTracer, Event, SourceLine

_TOKEN_NAMES = frozenset(
    {"access_token", "accesstoken", "id_token", "token", "sessiontoken", "session_token", "aws_session_token", "jwt"}
    | {"bearer", "secretaccesskey", "refresh_token", "credentials", "authorization"}
)
_EXPIRY_NAMES = frozenset(
    {"expires_in", "expires_at", "expires", "expiry", "expiration", "exp", "valid_until", "expires_on", "expire_at"}
)
_CACHE_NAMES = frozenset(
    {"loaded_at", "fetched_at", "cached_at", "expires", "expires_at", "expiry", "ttl", "timestamp", "ts", "updated_at"}
    | {"refreshed_at", "last_refresh", "last_fetch", "stored_at", "valid_until", "age", "loaded", "fetched", "cached"}
)
_SECRET = re.compile(r"token|jwt|bearer|credential|passw|api_?key|secret|authorization|session_key", re.I)
_JWT = re.compile(r"\b(eyJ[\w-]{5,})\.(eyJ[\w-]{5,})\.[\w-]*")
_PRESIGNED = re.compile(r"[?&](X-Amz-Signature|X-Goog-Signature|Signature|sig)=", re.I)
_KINDS = {ID: 0, RANDOM: 1, CLOCK: 2}
_MOST_LEAVES = 5_000
_MOST_FIELDS = 200


class Values:
    """Examines every reachable value once; after it, `is_complete` says whether all of the agent's own are kept.

    Args:
        code: The agent's code.
        tracer: What was traced.
        objects: The reachable objects.
        findings: Where findings go.
    """

    def __init__(self, code: AgentCode, tracer: CallTracer, objects: Objects, findings: Findings) -> None:
        self._code, self._tracer, self._objects, self._findings = code, tracer, objects, findings
        self._events = list(tracer.events.values())
        if any(self._has_fixed_seed(event) for event in self._events):
            self._events = [event for event in self._events if not event.source.name.startswith("random.")]
        self._matcher = Matcher(self._events)
        self._environment = {value for value in os.environ.values() if len(value) >= 6}
        self._own_places = [code.root, os.path.realpath(code.root), os.environ.get("LOOM_SESSION") or "\0"]
        self.leaves: dict[str, tuple[str, str, str, int, str]] = {}
        self.is_complete = True

    def _has_fixed_seed(self, event: Event) -> bool:
        """Return whether a call seeds the shared generator with a constant, so that each start draws the same."""
        if event.source.kind != SEED or not event.is_direct or event.root is None:
            return False
        source = self._code.source(event.line[0])
        statement = source.statement(event.line[1]) if source else None
        call = getattr(statement, "value", None)
        return isinstance(call, ast.Call) and bool(call.args) and isinstance(call.args[0], ast.Constant)

    def examine(self, node: Node) -> None:
        """Report what one object shows."""
        value: Any = node.value
        if isinstance(value, SCALARS):
            event = self._matcher.match(value, self._span(self.line_of(node)))
            if event is not None and not self._is_constant(node):
                kind = self._kind_of(node, event)
                self._findings.add(kind, event.line, path=node.path(), made_by=event.source.name)
            elif isinstance(value, str):
                self._examine_text(node, value)
            if event is None:
                self._add_leaf(node)
            return
        self._examine_record(node)
        self._examine_library(node)

    def assigned_by_statement(self) -> None:
        """Report scalars that the same statement of a module or class both computes from a source and assigns."""
        for event in self._events:
            if not event.is_direct or event.root is None or event.source.kind not in _KINDS:
                continue
            if event.root != event.line and not event.returns:
                continue
            if self._findings.has("cache", event.line):
                continue
            source = self._code.source(event.root[0])
            statement = source.statement(event.root[1]) if source else None
            if source is None or statement is None:
                continue
            for names in source.assigned(event.root[1]):
                value = self._lookup(event.root[0], names)
                if names[-1] in self._objects.used and self._depends(event, value):
                    self._findings.add(event.source.kind, event.line, path=".".join(names), made_by=event.source.name)
            if event.source.kind == CLOCK:
                self._cached_call(event, statement)

    def _cached_call(self, event: Event, statement: ast.stmt) -> None:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                function = self._lookup(event.root[0] if event.root else "", (node.func.id,))
                if hasattr(function, "cache_info") and function.cache_info().currsize:
                    self._findings.add("cache", event.line, path=f"{node.func.id}()", made_by=event.source.name)

    def _depends(self, event: Event, value: Any) -> bool:
        """Return whether a value that was assigned can be what the source returned, or be derived from it."""
        if isinstance(value, list | tuple | set | frozenset | dict) and event.source.kind != CLOCK:
            return bool(value) and event.root == event.line  # pyright: ignore
        if value is None or not isinstance(value, SCALARS):
            return False
        if event.source.kind != CLOCK:
            return True
        if event.source.family == "monotonic":
            late = [reading for reading in event.values if isinstance(reading, float) and reading > 100]
            is_later = isinstance(value, float) and any(value > reading - 1 for reading in late)  # no duration
            return is_later or self._matcher.match(value, (*event.line, event.line[1])) is not None
        if isinstance(value, float):
            return value > 1e9
        if event.source.family == "epoch" and isinstance(value, int) and not isinstance(value, bool):
            return abs(value) >= 10_000
        return not isinstance(value, datetime.timedelta)

    def _lookup(self, path: str, names: tuple[str, ...]) -> Any:
        for module in self._objects.modules.values():
            if module.__file__ is not None and os.path.abspath(module.__file__) == os.path.abspath(path):
                value: Any = module
                for name in names:
                    names_there: dict[str, Any] = getattr(value, "__dict__", {})
                    value = names_there.get(name)
                    if value is None:
                        break
                if value is not None:
                    return value
        return None

    def _kind_of(self, node: Node, event: Event) -> str:
        if event.source.kind != CLOCK:
            return event.source.kind
        if node.is_cached or self._matcher.match_bucket(node.value) is not None or _CACHE_NAMES & set(node.labels()):
            return "cache"
        return CLOCK

    def _is_constant(self, node: Node) -> bool:
        return isinstance(node.value, str) and any(place in node.value for place in self._own_places)

    def _examine_text(self, node: Node, text: str) -> None:
        if not node.is_own or len(text) > 20_000 or text in self._environment:
            return
        line = self.line_of(node)
        token = _JWT.search(text)
        if token is not None and _expires(token[2]):
            self._findings.add("credential", line, path=node.path(), made_by="a JSON Web Token with an expiry")
        elif _PRESIGNED.search(text) and "://" in text:
            self._findings.add("credential", line, path=node.path(), made_by="a presigned URL")
        elif len(text) >= 8 and _SECRET.search(node.labels()[0]) and line in self._tracer.networked:
            self._findings.add("credential", line, path=node.path(), made_by="a credential read over the network")

    def _examine_record(self, node: Node) -> None:
        value: Any = node.value
        fields: dict[Any, Any] = {}
        if isinstance(value, dict):
            fields = value  # pyright: ignore[reportUnknownVariableType]
        elif node.is_own and not isinstance(value, type):
            fields = getattr(value, "__dict__", {})
        if not fields or len(fields) > _MOST_FIELDS:
            return
        by_name = {str(name).lower().lstrip("_"): item for name, item in list(fields.items())}
        tokens = [name for name in _TOKEN_NAMES & set(by_name) if isinstance(by_name[name], str) and by_name[name]]
        if tokens and any(by_name[name] for name in _EXPIRY_NAMES & set(by_name)):
            self._findings.add("credential", self.line_of(node), path=node.path(), made_by="a token with an expiry")

    def _examine_library(self, node: Node) -> None:
        value: Any = node.value
        kind = cast("Any", type(value))
        module, name = kind.__module__ or "", kind.__name__
        description = ""
        if module == "botocore.credentials":
            if name == "ReadOnlyCredentials" or getattr(value, "method", "") == "explicit":
                description = "fixed AWS credentials" if getattr(value, "token", None) else ""
        elif module.startswith(("botocore.", "boto3.")):
            credentials = _client_credentials(value)
            if getattr(credentials, "token", None) and getattr(credentials, "method", "") == "explicit":
                description = "a client with fixed temporary credentials"
        elif module.startswith("cachetools") and "ttl" in name.lower() and len(value):
            self._findings.add("cache", self.line_of(node), path=node.path(), made_by=f"{module}.{name}")
        if description:
            self._findings.add("credential", self.line_of(node), path=node.path(), made_by=description)

    def line_of(self, node: Node) -> SourceLine:
        """Return the agent's line that assigns the object's root, or its attribute."""
        module = self._objects.modules.get(node.root[0])
        path = str(module.__file__) if module is not None else ""
        source = self._code.source(path) if path else None
        if source is None:
            return "", 0
        for names in (node.root[1:], node.root[1:2]):
            if line := source.line_of(names):
                return path, line
        if line := source.line_in_function(node.root[-1]):
            return path, line  # a global that a function assigns
        for other in self._objects.modules.values():  # an attribute that another module assigns
            other_source = self._code.source(str(other.__file__))
            if other_source is not None and (line := other_source.attribute_line(node.root[-1])):
                return str(other.__file__), line
        return path, 0

    def _add_leaf(self, node: Node) -> None:
        """Keep a digest of a scalar of the agent's own, which is compared with that of a second start."""
        value = node.value
        if not node.is_own or isinstance(value, time.struct_time | bytearray):
            return
        if len(self.leaves) >= _MOST_LEAVES:
            self.is_complete = False
            return
        line = self.line_of(node)
        if not line[1]:
            return
        if isinstance(value, str):
            for place in (*self._own_places, *self._environment):
                value = value.replace(place, "")
        event = self._maker_of(node, line)
        if event is not None and event.is_direct and event.source.kind in (ID, RANDOM) and is_part_of(value, event):
            # Found by what the call returned: two starts can make the same short id or the same draw by chance.
            self._findings.add(event.source.kind, event.line, path=node.path(), made_by=event.source.name)
            return
        kind, made_by, place = (event.source.kind, event.source.name, event.line) if event else ("", "", line)
        if not kind and self._mentions_random(line):
            kind = RANDOM
        if isinstance(value, float) and kind in ("", CLOCK) and value < 1e9:
            return  # a duration
        if event is not None and kind == CLOCK and (event.source.family == "monotonic" or not event.is_direct):
            return
        digest = hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()[:16]
        if kind == CLOCK and _CACHE_NAMES & set(node.labels()):
            kind = "cache"
        self.leaves[node.path()] = (digest, kind or ID, self._code.relative(place[0]), place[1], made_by)

    def _maker_of(self, node: Node, line: SourceLine) -> Event | None:
        """Return the traced call that most likely made a value of which only the assigning line is known."""
        source, last = self._code.source(line[0]), self._span(line)[2]
        name = node.label.removeprefix(".")

        def order(event: Event) -> tuple[bool, bool, int]:
            made_in = self._code.source(event.line[0])
            assigns = made_in is not None and made_in.assigns(event.line[1], name)
            return not assigns, not event.is_direct, _KINDS[event.source.kind]

        events = [event for event in self._events if event.root and event.source.kind in _KINDS]
        candidates = [
            event for event in events if event.root and event.root[0] == line[0] and line[1] <= event.root[1] <= last
        ]
        if not candidates and source is not None:  # a statement that changes it, such as random.shuffle(ORDER)
            candidates = [
                event for event in events
                if event.is_direct and event.root and event.root[0] == line[0]
                and node.root[-1] in source.names_at(event.root[1])
            ]  # fmt: skip
        if not candidates:  # a function that assigns it and ran at start-up
            candidates = [event for event in events if event.is_direct and self._assigns(event, node.root[-1])]
        return min(candidates, key=order, default=None)

    def _assigns(self, event: Event, name: str) -> bool:
        source = self._code.source(event.line[0])
        return source is not None and source.assigns(event.line[1], name)

    def _span(self, line: SourceLine) -> LineSpan:
        source = self._code.source(line[0]) if line[0] else None
        statement = source.statement(line[1]) if source else None
        return (*line, max(line[1], (statement.end_lineno or 0) if statement else 0))

    def _mentions_random(self, line: SourceLine) -> bool:
        source = self._code.source(line[0])
        return source is not None and bool({"random", "rand", "rng"} & source.names_at(line[1]))


def _client_credentials(value: Any) -> Any:
    for names in (("_request_signer", "_credentials"), ("_session", "_credentials"), ("_credentials",)):
        current = value
        for name in names:
            current = getattr(current, "__dict__", {}).get(name)
        if current is not None:
            return current
    client = getattr(getattr(value, "meta", None), "client", None)  # a resource of boto3
    return _client_credentials(client) if client is not None and client is not value else None


def _expires(part: str) -> bool:
    try:
        claims: Mapping[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return False
    return isinstance(claims, dict) and "exp" in claims
