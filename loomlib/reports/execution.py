"""Run a report's notebook with papermill, in a kernel of the running interpreter."""

# papermill, nbclient and jupyter_client are not typed; this module's own results are.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false, reportMissingTypeArgument=false, reportUnknownParameterType=false

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import papermill
import zmq
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, papermill_engines
from papermill.exceptions import PapermillExecutionError
from traitlets import Dict

from loomlib.errors import ReportError
from loomlib.presentation.formats import seconds

from .notebook import Notebook, read_notebook, source_of
from .parameters import ParameterValue

_log = logging.getLogger(__name__)
_ENGINE = "loom"
_SLOW_CELL_S = 2.0
_ON_THEIR_WAY_S = 120
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_ARROW = re.compile(r"^-+> *\d+ (.+)$", re.M)
_NARRATION = (
    "--IPKernelApp.exec_lines=import logging as _logging; _handler = _logging.StreamHandler(); "
    "_handler.setFormatter(_logging.Formatter('%(message)s')); _logging.getLogger('loomlib').addHandler(_handler); "
    "_logging.getLogger('loomlib').setLevel(_logging.INFO); del _logging, _handler"
)
"""Writes Loom's log in the kernel, such as a study's progress, to the cell's stderr and so to `say`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The cell that stopped a report: its number from 1, the failing line, and the error."""

    cell: int
    source: str
    error: str
    message: str

    def __str__(self) -> str:
        return f"Cell {self.cell} failed ({self.source}): {self.error}: {self.message}"


def execute(
    notebook: Path,
    working_copy: Path,
    parameters: Mapping[str, ParameterValue],
    *,
    environment: Mapping[str, str],
    say: Callable[[str], None],
) -> tuple[Notebook, Failure | None]:
    """Run a notebook and return the executed notebook, with the failure that stopped it, if any.

    Cells have no time limit, since a study on AWS can take long.

    Args:
        notebook: The notebook to run.
        working_copy: Written after each cell; its folder also gets the kernel's log.
        parameters: Values by name, of the notebook's types.
        environment: Variables added to the kernel's environment.
        say: Called with one line of progress at a time.

    Raises:
        ReportError: The kernel did not start.
    """
    papermill_engines.register(_ENGINE, _LoomEngine)
    kernel_log = working_copy.with_suffix(".kernel.log")
    try:
        papermill.execute_notebook(
            str(notebook),
            str(working_copy),
            parameters=dict(parameters),
            engine_name=_ENGINE,
            kernel_name="python3",
            language="python",  # a notebook that was never opened in JupyterLab does not name it
            progress_bar=False,
            loom_environment=dict(environment),
            loom_say=say,
            loom_kernel_log=kernel_log,
        )
    except PapermillExecutionError as error:
        return read_notebook(working_copy), _failure(error)
    except _KernelDiedError as death:
        return read_notebook(working_copy), death.failure(_last_line(kernel_log))
    except RuntimeError as error:
        reason = _last_line(kernel_log) or str(error)
        raise ReportError(f"The kernel did not start: {reason}", on=sys.executable, try_="loom doctor") from error
    return read_notebook(working_copy), None


def _failure(error: PapermillExecutionError) -> Failure:
    # The first frame of IPython's traceback is the cell's own; an arrow points at the line.
    arrow = _ARROW.search(_ANSI.sub("", "\n".join(error.traceback)))
    line = arrow[1].strip() if arrow else _first_line(error.source)
    return Failure(cell=int(error.cell_index) + 1, source=line, error=error.ename, message=error.evalue)


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", errors="replace").split("\n") if log.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _first_line(source: str) -> str:
    return next((line for line in source.splitlines() if line.strip() and not line.startswith("#")), "")


class _KernelDiedError(Exception):
    """The kernel died while a cell ran, most often for lack of memory."""

    def __init__(self, cell: int, source: str) -> None:
        super().__init__(cell, source)
        self.cell, self.source = cell, source

    def failure(self, last_output: str) -> Failure:
        """Return the failure, with the last line that the kernel process wrote."""
        message = f"the kernel died; {last_output or 'it wrote nothing; most often the machine ran out of memory'}"
        return Failure(cell=self.cell, source=_first_line(self.source), error="DeadKernel", message=message)


class _ThisInterpreter(AsyncKernelManager):
    """Starts kernels of the running interpreter, regardless of the installed kernelspecs."""

    loom_environment = Dict()

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", _NARRATION],
            display_name="Python 3",
            language="python",
            env=dict(self.loom_environment),
            # Kernels communicate over loopback TCP; if libzmq can encrypt, other users of the machine cannot eavesdrop.
            metadata={"supported_encryption": "curve"} if zmq.has("curve") else {},
        )


class _LoomEngine(Engine):
    """papermill's engine with Loom's kernel manager and progress."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **kwargs: Any) -> Any:
        say: Callable[[str], None] = kwargs["loom_say"]
        environment: dict[str, str] = kwargs["loom_environment"]
        client = _ReportingClient(
            nb_man,
            environment=environment,
            say=say,
            kernel_name=kernel_name,
            timeout=None,
            # The outputs of a finished cell may still be in transit; on a busy machine, many of them take more than the
            # four seconds after which the report would have failed.
            iopub_timeout=_ON_THEIR_WAY_S,
            startup_timeout=120,
            log=_log,
        )
        # The process's own output (a crash, not a cell's output) must not go to a terminal.
        with Path(kwargs["loom_kernel_log"]).open("w", encoding="utf-8") as log:
            return client.execute(stderr=log)


class _ReportingClient(PapermillNotebookClient):
    """Logs each line that a cell prints as it arrives, and how long a slow cell took."""

    def __init__(self, nb_man: Any, *, environment: dict[str, str], say: Callable[[str], None], **kwargs: Any) -> None:
        super().__init__(nb_man, **kwargs)
        self._environment = environment
        self._say = say
        self._rest: dict[str, str] = {}

    def create_kernel_manager(self) -> AsyncKernelManager:
        self.km = _ThisInterpreter(
            kernel_name=self.kernel_name, loom_environment=self._environment, transport_encryption="auto"
        )
        return self.km

    def execute_cell(self, cell: Any, cell_index: int, **kwargs: Any) -> Any:
        begun = time.monotonic()
        try:
            return super().execute_cell(cell, cell_index, **kwargs)
        except DeadKernelError as error:
            raise _KernelDiedError(cell_index + 1, source_of(cell)) from error
        finally:
            spent_s = time.monotonic() - begun
            if spent_s >= _SLOW_CELL_S:
                self._say(f"cell {cell_index + 1} of {len(self.nb.cells)} · {seconds(spent_s)}")

    def process_message(self, *args: Any, **kwargs: Any) -> Any:
        output = super().process_message(*args, **kwargs)
        message = args[0]
        if message["msg_type"] == "stream":
            self._log_lines(message["content"]["name"], message["content"]["text"])
        return output

    def _log_lines(self, stream: str, text: str) -> None:
        *lines, rest = (self._rest.get(stream, "") + text).split("\n")
        self._rest[stream] = rest
        for line in lines:
            if final := line.split("\r")[-1].rstrip():
                self._say(final)
