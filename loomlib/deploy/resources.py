"""The resources in a configuration, looked up in the account: their ids, and the variables bound to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ..aws import Clients
from ..aws.functions import find_function
from ..aws.gateways import find_gateway
from ..aws.guardrails import find_guardrail
from ..aws.knowledge_bases import find_knowledge_base
from ..aws.memory import list_memories
from ..aws.runtimes import find_runtime
from ..errors import DeployError, ResourceNotFoundError
from .policies import AwsPlace
from .spec import AgentSpec, ResourceBinding

_AGENTCORE_ID: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,99}-[a-zA-Z0-9]{10}")
_IDS: Final[Mapping[str, re.Pattern[str]]] = {
    "memories": _AGENTCORE_ID,
    "gateways": _AGENTCORE_ID,
    "agents": _AGENTCORE_ID,
    "knowledge_bases": re.compile(r"[0-9A-Z]{10}"),
    "guardrails": re.compile(r"(?=.*\d)[a-z0-9]{8,15}"),
}
"""The form of ids, for the kinds whose resources can also be given by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedResource:
    """A resource that was found in the account.

    Attributes:
        id: Its id.
        arn: Its ARN.
        name: Its name.
        url: Its address; "" if it has none.
    """

    id: str
    arn: str = ""
    name: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedResources:
    """The resources of a configuration.

    Attributes:
        ids: The ids by kind and by the text in the configuration.
        variables: The environment variables that are bound to a resource.
        notes: Notes about resources that the account does not have.
    """

    ids: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()


def locate_resources(clients: Clients, spec: AgentSpec) -> LocatedResources:
    """Look up the resources in a configuration; changes nothing.

    A variable is set to the resource's id, or to the ARN of a function or an agent. A variable whose name ends with
    `_ARN`, `_URL` or `_NAME` is set to that attribute.

    Args:
        clients: The AWS clients of a connection.
        spec: The deployment.

    Raises:
        DeployError: A resource that is given by name, not by id or ARN, is not in the account.
    """
    ids: dict[tuple[str, str], str] = {}
    variables: dict[str, str] = {}
    notes: list[str] = []
    for kind, binding in spec.bindings():
        located = _locate(clients, kind, binding)
        if located is None:
            notes.append(
                f"The account has no {_singular(kind)} {binding.resource}; the agent is still configured with it."
            )
        elif located.id != binding.resource and not binding.resource.startswith("arn:"):
            ids[kind, binding.resource] = located.id
        if binding.variable:
            variables[binding.variable] = _value(kind, binding, located)
    return LocatedResources(ids=ids, variables=variables, notes=tuple(notes))


def _locate(clients: Clients, kind: str, binding: ResourceBinding) -> LocatedResource | None:
    find = _FINDERS.get(kind)
    if find is None:
        return LocatedResource(id=binding.resource)
    try:
        return find(clients, binding.resource)
    except ResourceNotFoundError as error:
        form = _IDS.get(kind)
        if binding.resource.startswith("arn:") or form is None or form.fullmatch(binding.resource):
            return None
        raise DeployError(
            f"The account has no {_singular(kind)} with that name",
            on=f"{binding.resource} in [resources] {kind}",
            try_="create it first, or give its id or ARN",
        ) from error


def _value(kind: str, binding: ResourceBinding, located: LocatedResource | None) -> str:
    resource = located or LocatedResource(id=binding.resource)
    for ending, value in (("_ARN", resource.arn), ("_URL", resource.url), ("_NAME", resource.name)):
        if binding.variable.endswith(ending) and value:
            return value
    return (resource.arn if kind in ("functions", "agents") else "") or resource.id


def _memory(clients: Clients, key: str) -> LocatedResource:
    for memory in list_memories(clients):
        if key in (memory.name, memory.memory_id, memory.arn):
            return LocatedResource(id=memory.memory_id, arn=memory.arn, name=memory.name)
    raise ResourceNotFoundError("There is no such memory", on=key)


def _gateway(clients: Clients, key: str) -> LocatedResource:
    gateway = find_gateway(clients, key)
    return LocatedResource(id=gateway.id, arn=gateway.arn, name=gateway.name, url=gateway.url)


def _knowledge_base(clients: Clients, key: str) -> LocatedResource:
    base = find_knowledge_base(clients, key)
    return LocatedResource(id=base.id, arn=base.arn, name=base.name)


def _guardrail(clients: Clients, key: str) -> LocatedResource:
    guardrail = find_guardrail(clients, key)
    return LocatedResource(id=guardrail.id, arn=guardrail.arn, name=guardrail.name)


def _function(clients: Clients, key: str) -> LocatedResource:
    function = find_function(clients, key)
    return LocatedResource(id=function.arn, arn=function.arn, name=function.name)


def _agent(clients: Clients, key: str) -> LocatedResource:
    if key.startswith("arn:"):
        return LocatedResource(id=key, arn=key, name=key.rpartition("/")[2].rpartition("-")[0])
    runtime_id = key if _AGENTCORE_ID.fullmatch(key) else find_runtime(clients, key)
    if runtime_id is None:
        raise ResourceNotFoundError("There is no such agent", on=key)
    place = AwsPlace(account=clients.account_id(), region=clients.region)
    arn = place.arn("bedrock-agentcore", f"runtime/{runtime_id}")
    return LocatedResource(id=arn, arn=arn, name=runtime_id.rpartition("-")[0])


_FINDERS: Final[Mapping[str, Callable[[Clients, str], LocatedResource]]] = {
    "memories": _memory,
    "gateways": _gateway,
    "knowledge_bases": _knowledge_base,
    "guardrails": _guardrail,
    "functions": _function,
    "agents": _agent,
}


def _singular(kind: str) -> str:
    return {"memories": "memory", "knowledge_bases": "knowledge base"}.get(kind, kind.removesuffix("s"))
