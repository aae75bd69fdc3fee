"""The newcomer's first command: a whole latency report, from no service to the page."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from .table import Row

_LOOM = "import sys; from loomlib.cli import main; sys.exit(main())"


def rows() -> Iterator[Row]:
    """`make report` with its environment ready: ten measurements of each scenario, in a new home."""
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
        environment = os.environ | {"LOOM_HOME": f"{folder}/home"}
        options = [f"-p{parameter}" for parameter in ("agent=calculator", "cold=10", "warm=10", "sticky=10")]
        start = time.perf_counter()
        process = subprocess.run(
            [sys.executable, "-c", _LOOM, "report", "latency_study", *options, "--out", f"{folder}/out"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        elapsed_s = time.perf_counter() - start
        subprocess.run([sys.executable, "-c", _LOOM, "down"], env=environment, capture_output=True, timeout=60)
        if process.returncode != 0:
            raise RuntimeError(f"the report ended with {process.returncode}:\n{process.stderr[-3000:]}")
    yield Row(what="the whole latency report", ours=f"{elapsed_s:.1f} s", aim="≤ 90 s", met=elapsed_s <= 90, n=1)
