"""Amazon Bedrock's own services around an agent: guardrails, knowledge bases, and Bedrock Agents."""

from __future__ import annotations

from .bench_bedrock_agents import BenchBedrockAgents
from .bench_guardrails import BenchGuardrails
from .bench_knowledge import BenchKnowledgeBases
from .context import Context


class BenchBedrock:
    """Bedrock's guardrails, knowledge bases and agents; `bench.bedrock`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def agents(self) -> BenchBedrockAgents:
        """The account's agents of Bedrock Agents ("Classic"): list, get, ask, delete."""
        return BenchBedrockAgents(self._context)

    @property
    def guardrails(self) -> BenchGuardrails:
        """The account's guardrails: list, get, create, delete, and check texts with them."""
        return BenchGuardrails(self._context)

    @property
    def knowledge_bases(self) -> BenchKnowledgeBases:
        """The account's knowledge bases: list, get, create, fill, search, ask, delete."""
        return BenchKnowledgeBases(self._context)
