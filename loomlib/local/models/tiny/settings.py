"""The limits of the small model: context, concurrency, output and prompt cache."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

_MOST_THREADS = 4


def _threads() -> int:
    # One core is left for the service. Threads wait for each other in a loop, so one without a core slows all of them.
    return max(1, min(len(os.sched_getaffinity(0)) - 1, _MOST_THREADS))


@dataclass(frozen=True, slots=True, kw_only=True)
class TinySettings:
    """Limits of the small model.

    Attributes:
        context_tokens: Maximum tokens of one request, input and output; a longer input is refused. The model was
            trained with 8,192; on two cores 4,096 take about half a minute to process.
        slots: Requests that are computed concurrently, token by token in turn.
        queued: Further requests that can wait; more are refused (ThrottlingException).
        default_output_tokens: Limit of output tokens for a request without its own limit.
        cached_prefixes: Maximum prefixes in the prompt cache; the least recently used one is removed first.
        cache_bytes: Maximum bytes of all prefixes together; one token takes about 23 KB.
        least_cached_tokens: Minimum tokens of a cached prefix; the minimum of Claude models on Amazon Bedrock.
        threads: Threads for computation.
    """

    context_tokens: int = 4_096
    slots: int = 2
    queued: int = 32
    default_output_tokens: int = 512
    cached_prefixes: int = 16
    cache_bytes: int = 512 * 1024 * 1024
    least_cached_tokens: int = 1_024
    threads: int = field(default_factory=_threads)
