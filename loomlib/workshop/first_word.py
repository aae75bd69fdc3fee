"""The time to a model's first word, which lesson 2 measures with and without the prompt cache."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import LoomError
from ..json_values import as_mapping, count_or_none
from ..presentation.formats import exact, milliseconds
from ..presentation.html import card, view

if TYPE_CHECKING:
    from ..workbench import Workbench

_MODEL: Final = "anthropic.claude-haiku-4-5-20251001-v1:0"
_LONGEST_WAIT_S: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FirstWord:
    """The time to the first word of an answer, and the numbers of computed and cached prompt tokens.

    Attributes:
        ms: Milliseconds from the request to the first word.
        computed_tokens: The number of prompt tokens that the model computed.
        cached_tokens: The number of prompt tokens that were read from the cache.
        labels: Provenance labels, such as *real model, 135M parameters: speed is real, quality is not*.
    """

    ms: float
    computed_tokens: int
    cached_tokens: int
    labels: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"first word after {milliseconds(self.ms)}: {exact(self.computed_tokens)} tokens computed, "
            f"{exact(self.cached_tokens)} read from the cache ({' · '.join(self.labels)})"
        )

    def _repr_html_(self) -> str:
        facts = [
            ("first word after", milliseconds(self.ms)),
            ("tokens computed", exact(self.computed_tokens)),
            ("tokens read from the cache", exact(self.cached_tokens)),
        ]
        return str(view(card("Time to first word", facts=facts, labels=self.labels)))


def first_word(bench: Workbench, content: Sequence[Mapping[str, object]]) -> FirstWord:
    """Send a message to a model with ConverseStream at temperature 0, and measure the time to the first word.

    Args:
        bench: The workbench whose Bedrock client is used.
        content: The content blocks of the user message, such as texts and a `cachePoint`.

    Raises:
        LoomError: The model's answer contains no text.

    Examples:
        >>> cache_point = {"cachePoint": {"type": "default"}}
        >>> workshop.first_word(bench, [{"text": manual}, cache_point, {"text": "Which ships?"}])
        first word after 16.2 s: 1 083 tokens computed, 0 read from the cache (real model, …)
    """
    client = bench.clients.client("bedrock-runtime", read_timeout_s=_LONGEST_WAIT_S)
    start_s = time.perf_counter()
    answer = client.converse_stream(
        modelId=_MODEL,
        messages=[{"role": "user", "content": [dict(block) for block in content]}],
        inferenceConfig={"maxTokens": 1, "temperature": 0},
    )
    ms: float | None = None
    usage: Mapping[str, object] = {}
    for event in answer["stream"]:
        if ms is None and "contentBlockDelta" in event:
            ms = (time.perf_counter() - start_s) * 1000
        usage = as_mapping(as_mapping(event.get("metadata")).get("usage")) or usage
    if ms is None:
        raise LoomError("The model's answer contains no text", on=_MODEL, try_="Try again; see the service's log.")
    computed, cache_written, cache_read = (
        count_or_none(usage.get(name)) or 0 for name in ("inputTokens", "cacheWriteInputTokens", "cacheReadInputTokens")
    )
    return FirstWord(
        ms=ms, computed_tokens=computed + cache_written, cached_tokens=cache_read, labels=tuple(bench.context.labels)
    )
