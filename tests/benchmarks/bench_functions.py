"""What a warm call of a Lambda function takes through boto3, beside a request of boto3's that runs no function."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import boto3

import loomlib as loom
from loomlib import local

from .table import Row, ms

_CODE = "def lambda_handler(event, context):\n    return {'sum': event['a'] + event['b']}\n"
_AIM_MS = 5.0


def rows(calls: int = 300) -> Iterator[Row]:
    """Warm calls and requests without a function in turn, after ten of each."""
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder, loom.connect(home=folder) as bench:
        source = Path(folder) / "function.py"
        source.write_text(_CODE)
        function = bench.tools.functions.create("sum", source).value
        state = local.status(Path(folder)).state
        client_options = {
            "endpoint_url": state.url,
            "region_name": state.region,
            "aws_access_key_id": state.access_key,
            "aws_secret_access_key": state.secret_key,
        }
        functions, sts = boto3.client("lambda", **client_options), boto3.client("sts", **client_options)

        def call() -> None:
            with functions.invoke(FunctionName=function.name, Payload=b'{"a": 1, "b": 2}')["Payload"] as payload:
                assert payload.read() == b'{"sum": 3}'

        warm: list[float] = []
        plain: list[float] = []
        for turn in range(calls + 10):
            took = _timed(call), _timed(sts.get_caller_identity)
            if turn >= 10:
                warm.append(took[0])
                plain.append(took[1])
    yield Row(
        what="warm call of a Lambda function, beside GetCallerIdentity",
        ours=ms(warm),
        reference=ms(plain),
        compared=f"{median(warm) - median(plain):+.1f} ms",
        aim=f"≤ {_AIM_MS:g} ms",
        met=median(warm) <= _AIM_MS,
        n=calls,
    )


def _timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return (time.perf_counter() - begun) * 1000
