"""The memories of an account: list, open, create, delete."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..deprecation import warn_renamed
from ..errors import ResourceNotFoundError
from .context import Context
from .wait_line import WaitLine

if TYPE_CHECKING:
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
_ALIASES: Final[Mapping[str, str]] = {
    "userpreference": "preferences", "userpreferences": "preferences", "preference": "preferences",
    "summarization": "summary", "summaries": "summary",
}  # fmt: skip
"""AWS's names for the strategies, in lower case and without punctuation."""
_EMPTY: Final = 'No memories yet. bench.memories.create("assistant", strategies=["semantic"]) creates one.'


class Memories:
    """The memories that a workbench can reach; `bench.memories`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def table(self, *, region: str | None = None) -> MemoryFrame:
        """Return the account's memories in a region, one row each.

        Args:
            region: The AWS region; the connection's by default.
        """
        from ..aws.memory import list_memories
        from . import memory_tables as tables

        rows = (tables.memory_row(memory) for memory in list_memories(self._context.clients, region=region))
        return tables.frame(rows, tables.MEMORIES, title="Memories", empty=_EMPTY)

    def get(self, key: str, *, region: str | None = None) -> Memory:
        """Return a memory.

        Args:
            key: Its name, id or ARN. An ARN names its region.
            region: The AWS region; the connection's by default.

        Raises:
            ResourceNotFoundError: There is no such memory; the message lists the others.
        """
        from ..aws.memory import describe_memory, list_memories
        from .memory import Memory

        clients, labels = self._context.clients, self._context.labels
        arn = _ARN.fullmatch(key)
        if arn is not None:
            region, key = arn[1], arn[2]
        if _ID.fullmatch(key):
            with contextlib.suppress(ResourceNotFoundError):
                return Memory(clients, describe_memory(clients, key, region=region), labels=labels)
        memories = list(list_memories(clients, region=region))
        match = next((memory for memory in memories if key == memory.name), None)
        if match is None:
            names = ", ".join(sorted(memory.name for memory in memories)[:12])
            raise ResourceNotFoundError(
                f"There is no memory {key!r}",
                on=region or clients.region,
                try_=f"one of: {names or 'none; bench.memories.create(name) creates one'}",
                status=404,
            )
        return Memory(clients, describe_memory(clients, match.memory_id, region=region), labels=labels)

    def create(
        self,
        name: str,
        *,
        strategies: Sequence[str | Mapping[str, Any]] = (),
        event_expiry_days: int = 90,
        description: str = "",
        role_arn: str | None = None,
        region: str | None = None,
        redact: bool | Sequence[str] = True,
        progress: Callable[[str], None] | None = None,
    ) -> Memory:
        """Create a memory and wait until it is ACTIVE.

            bench.memories.create("assistant", strategies=["semantic", "preferences"])

        Args:
            name: The memory's name.
            strategies: "semantic" (into /facts/{actorId}/), "summary" (/summaries/{actorId}/{sessionId}/),
                "preferences" (/preferences/{actorId}/) and "episodic" (/episodes/{actorId}/{sessionId}/, reflections in
                /reflections/{actorId}/), by these names or AWS's ("userPreference"), or mappings in AWS's own form.
            event_expiry_days: Days after which events are deleted.
            description: A description.
            role_arn: The IAM role that AgentCore assumes to extract records.
            region: The AWS region; the connection's by default.
            redact: Whether secrets and personal data are redacted before records are extracted; or the names of the
                strategies that do so. Stored as the tag `loom:redaction`, which the local AgentCore follows. AWS has no
                such option: there the events' texts are extracted unchanged, unless a custom strategy's prompt
                forbids it.
            progress: Called with a line while the memory is being created.
        """
        from ..aws.memory import create_memory, wait_until_active
        from .memory import Memory

        clients = self._context.clients
        created = create_memory(
            clients,
            name,
            strategies=[_strategy(strategy) for strategy in strategies],
            event_expiry_days=event_expiry_days,
            description=description,
            role_arn=role_arn,
            region=region,
            tags=_redaction_tag(redact),
        )
        active = wait_until_active(clients, created.memory_id, region=region, progress=progress or WaitLine())
        return Memory(clients, active, labels=self._context.labels)

    def delete(self, key: str, *, region: str | None = None) -> None:
        """Delete a memory with all its events and records; this cannot be undone.

        Args:
            key: The memory's name, id or ARN.
            region: The AWS region; the connection's by default.
        """
        from ..aws.memory import delete_memory

        memory = self.get(key, region=region)
        delete_memory(self._context.clients, memory.id, region=memory.description.region)

    def __call__(self, *, region: str | None = None) -> MemoryFrame:
        """Use `table()` instead."""
        warn_renamed("Workbench.memories()", "Workbench.memories.table()")
        return self.table(region=region)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table().html()


def memory_variables(memory: Memory, agent_name: str) -> dict[str, str]:
    """Return the environment variables that pass a memory to an agent, by Loom's names and AgentCore's."""
    return {"LOOM_MEMORY_ID": memory.id, "BEDROCK_AGENTCORE_MEMORY_ID": memory.id, "LOOM_AGENT_NAME": agent_name}


def _redaction_tag(redact: bool | Sequence[str]) -> dict[str, str]:
    if isinstance(redact, bool):
        return {"loom:redaction": "all"} if redact else {}
    names = [redact] if isinstance(redact, str) else list(redact)
    return {"loom:redaction": " ".join(names)} if names else {}


def _strategy(strategy: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(strategy, str):
        return strategy
    plain = strategy.replace("_", "").replace("-", "").lower().removesuffix("memorystrategy").removesuffix("strategy")
    name = _ALIASES.get(plain, plain)
    if name not in _STRATEGIES:
        names = ", ".join(_STRATEGIES)
        raise ValueError(f"{strategy!r} is not a strategy: use one of {names}, or a mapping in AWS's form")
    shape, template = _STRATEGIES[name]
    request: dict[str, Any] = {"name": name, "namespaceTemplates": [template]}
    if name == "episodic":
        request["reflectionConfiguration"] = {"namespaceTemplates": ["/reflections/{actorId}/"]}
    return {shape: request}
