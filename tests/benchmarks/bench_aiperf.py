"""The load engine and AIPerf on one paced server: the same streams of chat completions, the same figures.

AIPerf is in `.venv-others/aiperf` (`make bench-others`; LOOM_BENCH_AIPERF names another folder). It gets a tokenizer of
seven words from a cache folder made here, so that it needs no network.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from loomlib.latency.load.calls import OfferedCall
from loomlib.latency.load.engine import LoadEngine, LoadTarget

from .bench_load import load_server
from .table import Row, percentile

_AIPERF = Path(os.environ.get("LOOM_BENCH_AIPERF", ".venv-others/aiperf")).absolute() / "bin" / "aiperf"
_PATH = "/chat?n=25&s=0.05"
_PAUSE_MS = 50
_RATES = (32, 128)
_WORDS = ("[UNK]", "chunk", "of", "a", "stream", ",", "60", "bytes")
_REVISION = "0" * 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    """Of one tool: times to first chunk after the request was begun, times between chunks, and starts."""

    ttft_ms: list[float] = field(default_factory=list)
    between_ms: list[float] = field(default_factory=list)
    starts_s: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Requests a second, from the first start to the last."""
        return (len(self.starts_s) - 1) / (max(self.starts_s) - min(self.starts_s))


def rows() -> Iterator[Row]:
    """32 and 128 streams that begin within a second, each of 25 chunks 50 ms apart."""
    if not _AIPERF.exists():
        yield Row(what="load engine beside AIPerf", ours="not measured: AIPerf is not installed (make bench-others)")
        return
    with load_server() as port, tempfile.TemporaryDirectory(prefix="loom-bench-") as name:
        for rate in _RATES:
            aiperf_figures = _by_aiperf(port, Path(name) / f"aiperf-{rate}", rate)
            engine_figures = _by_engine(port, Path(name), rate)
            yield from _compared(rate, engine_figures, aiperf_figures)


def _compared(rate: int, engine: _Figures, aiperf: _Figures) -> Iterator[Row]:
    for name, engine_ms, aiperf_ms in (
        ("TTFT", engine.ttft_ms, aiperf.ttft_ms),
        ("time between chunks", engine.between_ms, aiperf.between_ms),
    ):
        # On one paced server all values should be equal, so that the width of AIPerf's is what it can tell apart.
        resolution = percentile(aiperf_ms, 0.9) - percentile(aiperf_ms, 0.1)
        difference_ms = median(engine_ms) - median(aiperf_ms)
        yield Row(
            what=f"{rate} streams a second, chunks {_PAUSE_MS} ms apart: {name} p50 by the load engine, beside AIPerf",
            ours=f"{median(engine_ms):.2f} ms (p99 {percentile(engine_ms, 0.99):.2f})",
            reference=f"{median(aiperf_ms):.2f} ms (p99 {percentile(aiperf_ms, 0.99):.2f})",
            compared=f"{difference_ms:+.2f} ms",
            aim=f"within AIPerf's resolution: p90 - p10 = {resolution:.2f} ms",
            met=abs(difference_ms) <= resolution,
            n=len(engine_ms),
        )
    resolution = aiperf.rate / (len(aiperf.starts_s) - 1)  # each of AIPerf's counts is of whole requests
    yield Row(
        what=f"{rate} streams a second are offered: those that the load engine began, beside AIPerf",
        ours=f"{engine.rate:.2f} a second",
        reference=f"{aiperf.rate:.2f} a second",
        compared=f"{engine.rate - aiperf.rate:+.2f}",
        aim=f"within AIPerf's resolution: one request = {resolution:.2f}",
        met=abs(engine.rate - aiperf.rate) <= resolution,
        n=len(engine.starts_s),
    )


def _by_engine(port: int, folder: Path, rate: int) -> _Figures:
    engine = LoadEngine(
        LoadTarget.http(f"http://127.0.0.1:{port}{_PATH}"), folder=folder, timeout_s=60, keep_arrivals=True
    )
    calls = [
        OfferedCall(index=n, session_id=f"chat-{rate}-{n}", body=b'{"stream": true}', at_s=n / rate)
        for n in range(rate)
    ]
    figures = _Figures()
    for call in engine.run(calls, step=f"chat{rate}").calls:
        if not call.is_complete or call.sent_s is None or call.ttft_ms is None:
            raise RuntimeError(f"a call failed: {call}")
        figures.ttft_ms.append(call.ttft_ms - (call.lag_ms or 0))
        figures.between_ms.extend((later - earlier) * 1e3 for earlier, later in pairwise(call.arrivals_s))
        figures.starts_s.append(call.sent_s)
    return figures


def _by_aiperf(port: int, folder: Path, rate: int) -> _Figures:
    folder.mkdir()
    _write_tokenizer(folder / "hub" / "models--loom--words")
    (folder / "prompts.jsonl").write_text(json.dumps({"text": "a chunk of a stream"}) + "\n")
    options = {
        "model": "paced", "endpoint-type": "chat", "url": f"http://127.0.0.1:{port}", "custom-endpoint": _PATH,
        "tokenizer": "loom/words", "input-file": folder / "prompts.jsonl", "custom-dataset-type": "single_turn",
        "request-rate": rate, "request-count": rate, "arrival-pattern": "constant", "artifact-dir": folder / "out",
        "workers-max": os.cpu_count() or 1, "ui": "none",
    }  # fmt: skip
    command = [str(_AIPERF), "profile", "--streaming"]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "HF_HOME": str(folder)}
    environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
    if run.returncode:
        raise RuntimeError(f"AIPerf failed: {run.stdout[-2000:]}")
    figures = _Figures()
    for line in (folder / "out" / "profile_export.jsonl").read_text().splitlines():
        record: dict[str, Any] = json.loads(line)
        metrics = record["metrics"]
        figures.ttft_ms.append(metrics["time_to_first_token"]["value"])
        figures.between_ms.extend(metrics["inter_chunk_latency"]["value"])
        figures.starts_s.append(record["metadata"]["request_start_ns"] / 1e9)
    if len(figures.ttft_ms) != rate:
        raise RuntimeError(f"AIPerf completed {len(figures.ttft_ms)} of {rate} requests")
    return figures


def _write_tokenizer(folder: Path, words: Sequence[str] = _WORDS) -> None:
    """Write a tokenizer as a cache of the Hugging Face Hub holds it."""
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(_REVISION)
    snapshot = folder / "snapshots" / _REVISION
    snapshot.mkdir(parents=True)
    model = {"type": "WordLevel", "vocab": {word: number for number, word in enumerate(words)}, "unk_token": words[0]}
    tokenizer = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    tokenizer |= dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    special = {f"{kind}_token": words[0] for kind in ("unk", "eos", "bos")}
    (snapshot / "tokenizer.json").write_text(json.dumps(tokenizer))
    (snapshot / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"} | special)
    )
