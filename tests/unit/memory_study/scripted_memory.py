"""A memory whose answers are written down, and a workbench that has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loomlib.errors import LoomError
from loomlib.memory_study import ScriptedConversation, ScriptedQuestion, ScriptedTurn
from loomlib.store import Store


@dataclass
class WrittenMemory:
    """Searches bring what `brings` says for the query. An error in it is raised, once."""

    brings: Mapping[str, list[str] | LoomError]
    written: dict[str, Any] = field(default_factory=dict)
    searched: list[str] = field(default_factory=list)
    raised: set[str] = field(default_factory=set)

    def write(self, event: Any) -> None:
        self.written.setdefault(event.token, event)

    def messages(self, actor: str, sessions: Sequence[str], *, last: int | None = None) -> list[str]:
        texts = [
            text
            for session in sessions
            for event in self.written.values()
            if (event.actor, event.session) == (actor, session)
            for text in (event.text, event.reply)
        ]
        return texts if last is None else texts[-last:]

    def search(self, actor: str, query: str, top_k: int) -> list[str]:
        self.searched.append(query)
        brought = self.brings[query]
        if isinstance(brought, LoomError):
            if query not in self.raised:
                self.raised.add(query)
                raise brought
            return []
        return brought[:top_k]

    def records(self, actor: str) -> list[str]:
        return [text for texts in self.brings.values() if isinstance(texts, list) for text in texts]

    def summaries(self, actor: str) -> list[str]:
        return []


@dataclass
class OneMemory:
    """What a workbench has of a memory."""

    reader: Any = None
    id: str = "memory-0123456789"
    name: str = "memory"
    arn: str = "arn:aws:bedrock-agentcore:us-east-1:123456789012:memory/memory-0123456789"


@dataclass
class SmallBench:
    """A store, and one memory."""

    store: Store
    where: str = "local"
    labels: tuple[str, ...] = ("by hand",)
    settings: Any = None
    deleted: list[str] = field(default_factory=list)

    @property
    def context(self) -> SmallBench:
        return self

    @property
    def memories(self) -> SmallBench:
        return self

    @property
    def telemetry(self) -> SmallBench:
        return self

    def get(self, key: str) -> OneMemory:
        return OneMemory()

    def create(self, name: str, *, strategies: Sequence[Any] = ()) -> OneMemory:
        return OneMemory()

    def delete(self, key: str) -> None:
        self.deleted.append(key)

    def find_traces(self, entry: Any, rows: Any, *, progress: Any = None) -> Iterable[Any]:
        return []


def seven_facts() -> ScriptedConversation:
    """Seven facts in two sessions, two of them changed in the second; everything is asked in the third."""
    first = [ScriptedTurn(text=f"Fact {n} is value{n}.", fact=f"f{n}", value=f"value{n}") for n in (1, 2, 3, 4, 7)]
    first += [ScriptedTurn(text=f"Fact {n} is former{n}.", fact=f"f{n}", value=f"former{n}") for n in (5, 6)]
    second = [ScriptedTurn(text=f"Fact {n} is value{n}.", fact=f"f{n}", value=f"value{n}") for n in (5, 6)]
    return ScriptedConversation(
        name="seven",
        sessions=(tuple(first), (*second, ScriptedTurn(text="Nice weather."))),
        questions=tuple(
            ScriptedQuestion(session=3, text=f"What is fact {n}?", fact=f"f{n}", query=f"q{n}") for n in range(1, 8)
        ),
    )


BROUGHT: dict[str, list[str] | LoomError] = {
    "q1": ["It is value1.", "x", "y"],
    "q2": ["x", "It is value2."],
    "q3": ["x", "y", "z"],
    "q4": [],
    "q5": ["It is former5.", "It is value5."],
    "q6": ["It is former6."],
    "q7": ["It is value7.", "Yes, VALUE7!"],
}
