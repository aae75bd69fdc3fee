"""The small model that computes: its prompt cache, output length, concurrency and temperature, each beside its absence.

Every row is of a real model of 135 million parameters: speed is real, quality is not. LOOM_BENCH_TINY_TOKENS chooses
the lengths of the prompts, such as `1100,2200,3900`; the longest that the model takes is 4,096.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import psutil

from loomlib import local
from loomlib.aws import Clients, Connection
from loomlib.errors import LocalServiceError
from loomlib.local.models.tiny import TINY_LABEL, check_packages

from .table import Row

_MODEL = "anthropic.claude-haiku-4-5-20251001-v1:0"
_SENTENCE = "The harbour office keeps a record of every ship that enters the port, with its cargo. "
_TOKENS_OF_SENTENCE = 18
_QUESTIONS = ("Which ships?", "Which cargo?", "Who keeps it?", "What enters?", "Which port?")
_POINT = {"cachePoint": {"type": "default"}}
_AIM_FROM_TOKENS = 2_000
_AIM = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    first_ms: float
    last_ms: float
    read: int
    prompt: int
    output: int
    text: str
    cpu_s: float = 0


def rows() -> Iterator[Row]:
    """Prompt cache, output length, concurrency, temperature."""
    try:
        check_packages()
    except LocalServiceError as error:
        yield Row(what="small model", ours=f"not measured: {error}")
        return
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
        home = Path(folder) / "home"
        options = local.ServiceOptions(model="tiny", sandbox="off")
        state, _ = local.start(home, options, persistent=True)
        clients = Clients(Connection(region=state.region, environment=state.environment()))
        try:
            client = clients.client("bedrock-runtime", read_timeout_s=300)
            _ask(client, [{"text": "Good morning."}], 1)  # loads the model
            model = _model_process(state.pid)
            for tokens in os.environ.get("LOOM_BENCH_TINY_TOKENS", "1100,2200").split(","):
                yield from _cache(client, model, int(tokens))
            yield _output(client)
            yield _concurrency(client)
            yield _temperature(client)
        finally:
            clients.close()
            local.stop(home)


def _cache(client: Any, model: psutil.Process, tokens: int) -> Iterator[Row]:
    """Time to the first word of one prompt: without a cache point, then with one, whose prefix is cached before."""

    def measured(*content: dict[str, Any]) -> _Answer:
        before = model.cpu_times()
        answer = _ask(client, [text, *content], 1)
        after = model.cpu_times()
        return replace(answer, cpu_s=after.user + after.system - before.user - before.system)

    text = {"text": _SENTENCE * (tokens // _TOKENS_OF_SENTENCE)}
    questions = [{"text": question} for question in _QUESTIONS * 2]
    uncached = measured(questions[0])
    cache_write = measured(_POINT, questions[0])
    others = [measured(_POINT, question) for question in questions]
    measured(_POINT, questions[0], _POINT)  # writes the longer prefix, of which it reads all but the question
    same = [measured(_POINT, questions[0], _POINT) for _ in questions]
    if uncached.read or cache_write.read or not all(answer.read for answer in (*others, *same)):
        raise RuntimeError("the prompt cache was not used as the requests say")
    has_aim = uncached.prompt >= _AIM_FROM_TOKENS
    for prompt_kind, cached, aim in (("another question", others, 0), ("the same prompt again", same, _AIM * has_aim)):
        first_ms, cpu_s = median(answer.first_ms for answer in cached), mean(answer.cpu_s for answer in cached)
        ratio = uncached.first_ms / first_ms
        yield Row(
            what=f"{_named('time to first word')}: {uncached.prompt:,} tokens, {prompt_kind}: all but "
            f"{cached[0].prompt - cached[0].read} cached, beside no cache point",
            ours=f"{first_ms:.0f} ms (writing the cache: {cache_write.first_ms:,.0f} ms)",
            reference=f"{uncached.first_ms:,.0f} ms",
            compared=f"{ratio:.0f} x faster",
            aim=f"≥ {aim} x" if aim else "",
            met=ratio >= aim if aim else None,
            n=len(cached),
        )
        yield Row(
            what="the same: CPU time of the model, which other work on the machine changes less",
            ours=f"{cpu_s:.2f} s",
            reference=f"{uncached.cpu_s:.2f} s",
            compared=f"{uncached.cpu_s / cpu_s:.0f} x less",
            n=len(cached),
        )


def _model_process(service: int) -> psutil.Process:
    return next(
        process
        for process in psutil.Process(service).children(recursive=True)
        if any(part.endswith("models.tiny") for part in process.cmdline())
    )


def _output(client: Any, rounds: int = 3) -> Row:
    """Duration of 64 output tokens beside 16, in turns."""
    short: list[_Answer] = []
    long: list[_Answer] = []
    for _ in range(rounds):
        for limit, answers in ((16, short), (64, long)):
            answers.append(_ask(client, [{"text": "Tell me a long story about the sea."}], limit))
    after = [(answer.last_ms - answer.first_ms) / max(1, answer.output - 1) for answer in (*short, *long)]
    of_long, of_short = (median(answer.last_ms for answer in answers) for answers in (long, short))
    return Row(
        what=f"{_named('output length')}: duration of {long[0].output} output tokens, beside {short[0].output}",
        ours=f"{of_long:,.0f} ms ({median(after):.0f} ms for each token after the first)",
        reference=f"{of_short:,.0f} ms",
        compared=f"{of_long / of_short:.1f} x",
        n=2 * rounds,
    )


def _concurrency(client: Any) -> Row:
    """Four requests at once, of which the model computes two at a time, beside four in sequence."""
    questions = [f"Tell me about ship number {number}." for number in range(4)]

    def ask(question: str) -> _Answer:
        return _ask(client, [{"text": question}], 24)

    began = time.perf_counter()
    alone = [ask(question) for question in questions]
    alone_s = time.perf_counter() - began
    with ThreadPoolExecutor(len(questions)) as pool:
        began = time.perf_counter()
        together = list(pool.map(ask, questions))
        together_s = time.perf_counter() - began
    rates = [
        sum(answer.output for answer in answers) / taken_s
        for answers, taken_s in ((together, together_s), (alone, alone_s))
    ]
    return Row(
        what=f"{_named('concurrency')}: {len(questions)} requests at once, two computed at a time, beside in sequence",
        ours=f"{rates[0]:.0f} tokens a second, first word after {median(a.first_ms for a in together):,.0f} ms",
        reference=f"{rates[1]:.0f} tokens a second, {median(a.first_ms for a in alone):,.0f} ms",
        compared=f"{rates[0] / rates[1]:.2f} x the tokens a second",
        n=len(questions) * 2,
    )


def _temperature(client: Any, calls: int = 8) -> Row:
    """Different answers to one question at temperature 1, beside temperature 0."""
    content = [{"text": "Name an animal and say why you like it."}]
    drawn, fixed = ([_ask(client, content, 40, at) for _ in range(calls)] for at in (1, 0))
    return Row(
        what=f"{_named('temperature')} 1, beside 0: different answers to one question",
        ours=f"{_different(drawn)} of {calls} ({_spread(drawn)})",
        reference=f"{_different(fixed)} of {calls} ({_spread(fixed)})",
        aim="more than 1, beside 1",
        met=_different(drawn) > 1 == _different(fixed),
        n=2 * calls,
    )


def _named(subject: str) -> str:
    return f"small model ({TINY_LABEL}), {subject}"


def _different(answers: Sequence[_Answer]) -> int:
    return len({answer.text for answer in answers})


def _spread(answers: Sequence[_Answer]) -> str:
    return f"standard deviation of output tokens {stdev(answer.output for answer in answers):.1f}"


def _ask(client: Any, content: list[dict[str, Any]], most_tokens: int, temperature: float = 0) -> _Answer:
    began = time.perf_counter()
    stream = client.converse_stream(
        modelId=_MODEL,
        messages=[{"role": "user", "content": content}],
        inferenceConfig={"maxTokens": most_tokens, "temperature": temperature},
    )["stream"]
    first_ms, text, usage = None, "", {}
    for event in stream:
        if delta := event.get("contentBlockDelta"):
            first_ms = first_ms or (time.perf_counter() - began) * 1e3
            text += delta["delta"]["text"]
        usage = event.get("metadata", {}).get("usage", usage)
    last_ms = (time.perf_counter() - began) * 1e3
    read_tokens, write_tokens = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
    return _Answer(
        first_ms=first_ms or last_ms,
        last_ms=last_ms,
        read=read_tokens,
        prompt=usage["inputTokens"] + read_tokens + write_tokens,
        output=usage["outputTokens"],
        text=text,
    )
