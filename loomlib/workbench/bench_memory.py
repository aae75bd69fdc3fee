"""The part of the workbench that finds memories and makes them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..errors import ResourceNotFoundError

if TYPE_CHECKING:
    from ..aws import Clients
    from .memory import Memory
    from .memory_frame import MemoryFrame

_ARN: Final = re.compile(r"arn:[\w-]+:bedrock-agentcore:([a-z0-9-]+):\d{12}:memory/([A-Za-z0-9_-]+)")
_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*-[A-Za-z0-9]{10}")
_STRATEGIES: Final[Mapping[str, tuple[str, str]]] = {
    "semantic": ("semanticMemoryStrategy", "/facts/{actorId}/"),
    "summary": ("summaryMemoryStrategy", "/summaries/{actorId}/{sessionId}/"),
    "preferences": ("userPreferenceMemoryStrategy", "/preferences/{actorId}/"),
    "episodic": ("episodicMemoryStrategy", "/episodes/{actorId}/{sessionId}/"),
}
_OTHER_NAMES: Final[Mapping[str, str]] = {
    "userpreference": "preferences", "userpreferences": "preferences", "preference": "preferences",
    "summarization": "summary", "summaries": "summary",
}  # fmt: skip
"""AWS's own words for them, without their signs."""
_EMPTY: Final = 'No memories yet. bench.create_memory("assistant", strategies=["semantic"]) makes one.'


class BenchMemory:
    """What `Workbench` offers about memories."""

    clients: Clients
    labels: tuple[str, ...]

    def memories(self, *, region: str | None = None) -> MemoryFrame:
        """The memories of the account in a region (the connection's unless another is named)."""
        from ..aws.memory import list_memories
        from . import memory_tables as tables

        rows = (tables.memory_row(each) for each in list_memories(self.clients, region=region))
        return tables.frame(rows, tables.MEMORIES, title="Memories", empty=_EMPTY)

    def memory(self, key: str, *, region: str | None = None) -> Memory:
        """The memory of that name, id or ARN (which names its region). Raises `ResourceNotFoundError`, naming all others."""
        from ..aws.memory import describe_memory, list_memories
        from .memory import Memory

        arn = _ARN.fullmatch(key)
        if arn is not None:
            region, key = arn[1], arn[2]
        if _ID.fullmatch(key):
            with contextlib.suppress(ResourceNotFoundError):
                return Memory(self.clients, describe_memory(self.clients, key, region=region), labels=self.labels)
        known = list(list_memories(self.clients, region=region))
        found = next((each for each in known if key == each.name), None)
        if found is None:
            names = ", ".join(sorted(each.name for each in known)[:12]) or "none; bench.create_memory(name) makes one"
            raise ResourceNotFoundError(
                f"There is no memory {key!r}", on=region or self.clients.region, try_=f"one of: {names}", status=404
            )
        described = describe_memory(self.clients, found.memory_id, region=region)
        return Memory(self.clients, described, labels=self.labels)

    def create_memory(
        self,
        name: str,
        *,
        strategies: Sequence[str | Mapping[str, Any]] = (),
        event_expiry_days: int = 90,
        description: str = "",
        role_arn: str | None = None,
        region: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Memory:
        """A new memory, once it is ACTIVE.

        Strategies are "semantic" (into /facts/{actorId}/), "summary" (/summaries/{actorId}/{sessionId}/),
        "preferences" (/preferences/{actorId}/) and "episodic" (/episodes/{actorId}/{sessionId}/, with reflections in
        /reflections/{actorId}/), by these names or AWS's ("userPreference"), or mappings in AWS's own form.

            bench.create_memory("assistant", strategies=["semantic", "preferences"])
        """
        from ..aws.memory import create_memory, wait_until_active
        from .memory import Memory
        from .wait_line import WaitLine

        made = create_memory(
            self.clients,
            name,
            strategies=[_strategy(each) for each in strategies],
            event_expiry_days=event_expiry_days,
            description=description,
            role_arn=role_arn,
            region=region,
        )
        active = wait_until_active(self.clients, made.memory_id, region=region, progress=progress or WaitLine())
        return Memory(self.clients, active, labels=self.labels)

    def memory_variables(self, memory: Memory | str, agent_name: str) -> dict[str, str]:
        """The variables that tell an agent its memory, as `deploy(…, memory=…)` sets them; AgentCore's own name too."""
        found = self.memory(memory) if isinstance(memory, str) else memory
        return {"LOOM_MEMORY_ID": found.id, "BEDROCK_AGENTCORE_MEMORY_ID": found.id, "LOOM_AGENT_NAME": agent_name}

    def delete_memory(self, key: str, *, region: str | None = None) -> None:
        """Delete a memory with everything in it; it cannot be had back."""
        from ..aws.memory import delete_memory

        found = self.memory(key, region=region)
        delete_memory(self.clients, found.id, region=found.description.region)


def _strategy(given: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(given, str):
        return given
    plain = given.replace("_", "").replace("-", "").lower().removesuffix("memorystrategy").removesuffix("strategy")
    name = _OTHER_NAMES.get(plain, plain)
    if name not in _STRATEGIES:
        raise ValueError(f"{given!r} is no strategy: one of {', '.join(_STRATEGIES)}, or a mapping in AWS's form")
    shape, template = _STRATEGIES[name]
    asked: dict[str, Any] = {"name": name, "namespaceTemplates": [template]}
    if name == "episodic":
        asked["reflectionConfiguration"] = {"namespaceTemplates": ["/reflections/{actorId}/"]}
    return {shape: asked}
