"""The triggers of an agent, with their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...errors import LoomError
from ..spec import AgentSpec, TriggerSpec

SCHEDULE: Final = "schedule"
OBJECTS: Final = "s3"

_BEARER: Final = "remove [authorizer], or call the agent from a client that has a token"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTrigger:
    """A trigger of one agent.

    Attributes:
        agent: The agent's name.
        name: The trigger's name: its kind and its number within that kind, such as `schedule-1`.
        spec: Its configuration.
    """

    agent: str
    name: str
    spec: TriggerSpec

    @property
    def kind(self) -> str:
        """`schedule` or `s3`."""
        return SCHEDULE if self.spec.schedule else OBJECTS

    @property
    def resource_name(self) -> str:
        """The name of its AWS resources: the schedule, or the rule and the function."""
        return f"loom-{self.agent}-{self.name}"[:64]

    @property
    def bucket(self) -> str:
        """The bucket whose new objects it matches; "" for a schedule."""
        return self.spec.s3.partition("/")[0]

    @property
    def prefix(self) -> str:
        """The prefix of the object keys that it matches."""
        return self.spec.s3.partition("/")[2]


def agent_triggers(spec: AgentSpec) -> tuple[AgentTrigger, ...]:
    """Return the triggers of an agent, in the order of `loom-agent.toml`.

    Args:
        spec: The agent's configuration.

    Raises:
        LoomError: The agent accepts only bearer tokens, which triggers do not have, or its protocol has no prompts.
    """
    if spec.triggers and spec.authorizer is not None:
        raise LoomError(
            "A trigger signs its requests, but this agent accepts only bearer tokens", on=spec.name, try_=_BEARER
        )
    triggers: list[AgentTrigger] = []
    counts = {SCHEDULE: 0, OBJECTS: 0}
    for trigger in spec.triggers:
        kind = SCHEDULE if trigger.schedule else OBJECTS
        counts[kind] += 1
        name = f"{kind}-{counts[kind]}"
        if spec.protocol in ("MCP", "A2A") and not trigger.payload:
            raise LoomError(
                f"An agent with the protocol {spec.protocol} does not accept the prompt of a trigger",
                on=f"{spec.name}, {name}",
                try_="a payload with the protocol's JSON-RPC request",
            )
        triggers.append(AgentTrigger(agent=spec.name, name=name, spec=trigger))
    return tuple(triggers)


def find_trigger(spec: AgentSpec, name: str) -> AgentTrigger:
    """Return an agent's trigger by its name.

    Args:
        spec: The agent's configuration.
        name: The trigger's name, such as `schedule-1`.

    Raises:
        LoomError: There is no trigger with that name.
    """
    triggers = agent_triggers(spec)
    for trigger in triggers:
        if trigger.name == name:
            return trigger
    names = ", ".join(trigger.name for trigger in triggers)
    raise LoomError(
        f"The agent has no trigger {name!r}",
        on=spec.name,
        try_=names or "add one to loom-agent.toml: [[trigger]] with schedule or s3",
    )
