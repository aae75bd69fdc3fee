"""The limits of the small model: context, concurrency, output and prompt cache."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

_MOST_THREADS = 4


def _threads() -> int:
    # One core stays for the service. Threads wait for each other in a loop, so that one without a core slows all down.
    return max(1, min(len(os.sched_getaffinity(0)) - 1, _MOST_THREADS))


@dataclass(frozen=True, slots=True, kw_only=True)
class TinySettings:
    """Limits of the small model.

    Attributes:
        context_tokens: Most tokens of one request, input and output; a longer input is refused. The model was trained
            with 8,192; on two cores 4,096 take about half a minute to read.
        slots: How many requests are computed at a time, token by token in turn.
        queued: How many further requests wait; more are refused (ThrottlingException).
        default_output_tokens: Limit of output tokens of a request that names none.
        cached_prefixes: How many prefixes the prompt cache keeps; the one that was not used for longest goes first.
        cache_bytes: Most bytes of all prefixes together; one token takes about 23 KB.
        least_cached_tokens: A shorter prefix is not cached; the least that Claude models take on Amazon Bedrock.
        threads: Threads that compute.
    """

    context_tokens: int = 4_096
    slots: int = 2
    queued: int = 32
    default_output_tokens: int = 512
    cached_prefixes: int = 16
    cache_bytes: int = 512 * 1024 * 1024
    least_cached_tokens: int = 1_024
    threads: int = field(default_factory=_threads)
