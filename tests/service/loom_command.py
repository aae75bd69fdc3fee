"""`loom` as a person calls it, each time in a process of its own, forked from one that has imported it already.

Importing costs a second of processor time a call; that the installed `loom` itself starts is tested where it says so.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_IMPORTED = (
    *("loomlib.cli.builtins", "loomlib.workbench", "loomlib.evals", "loomlib.reports.eval_runs"),
    *("loom_widgets.plugin", "boto3", "aiohttp", "pandas", "sqlalchemy", "alembic.command"),
)
_PATH_BEFORE = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}


class LoomCommand:
    """Runs `loom`; `close()` ends the process that its calls are forked from."""

    def __init__(self) -> None:
        # The first call may be that of a test that has set PYTHONPATH for its own calls; later ones must not have it.
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | _PATH_BEFORE
        self._source = subprocess.Popen(
            [sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables
        )

    def close(self) -> None:
        with self._source:  # closes its pipes: its input ends, and so does it
            pass

    def run(
        self, *arguments: str, environment: Mapping[str, str], cwd: Path | None = None, within_s: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Run `loom` with these arguments and return its output and exit code."""
        assert self._source.stdin
        assert self._source.stdout
        with TemporaryDirectory() as folder:
            request = {"arguments": arguments, "environment": dict(environment), "cwd": str(cwd or "."), "out": folder}
            limit = threading.Timer(within_s, self._source.kill)
            limit.start()
            try:
                self._source.stdin.write(json.dumps(request).encode() + b"\n")
                self._source.stdin.flush()
                code = int(self._source.stdout.readline() or b"-9")
            finally:
                limit.cancel()
            out, err = ((Path(folder) / name).read_text() for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(["loom", *arguments], code, out, err)


def _serve() -> None:
    for name in _IMPORTED:
        __import__(name)
    gc.freeze()  # a collection in a forked process would copy what they share
    for line in sys.stdin.buffer:
        child = os.fork()
        if not child:
            _be_loom(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _be_loom(request: dict[str, Any]) -> None:
    """Never returns."""
    from loomlib.cli import main

    code: Any = 1
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        files = [os.open(Path(request["out"]) / name, os.O_WRONLY | os.O_CREAT) for name in ("stdout", "stderr")]
        for number, file in enumerate((nothing, *files)):
            os.dup2(file, number)
        os.environ.clear()
        os.environ.update(request["environment"])
        # What Python does when it starts, had it started now.
        sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        os.chdir(request["cwd"])
        sys.argv = ["loom", *request["arguments"]]
        main()
        code = 0
    except SystemExit as done:
        code = done.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    _serve()
