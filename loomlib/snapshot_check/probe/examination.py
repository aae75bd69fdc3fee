"""The examination of an agent's process at the moment of its snapshot."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
from typing import Any

from .agent_code import AgentCode
from .copies import restore
from .findings import Findings
from .generators import Generators
from .handles import Handles
from .objects import Objects
from .tracing import CallTracer
from .values import Values

FORMAT = 1


class Examination:
    """Traces the agent's start-up, and compares two copies of its process.

    Args:
        root: The package's folder.
    """

    def __init__(self, root: str) -> None:
        self._code = AgentCode(root)
        self._tracer = CallTracer(self._code)
        self._environment = dict(os.environ)
        self._handles = Handles(self._code, self._tracer)
        self._began_s = time.monotonic()

    def start(self) -> None:
        """Begin to trace."""
        self._began_s = time.monotonic()
        self._tracer.start()

    def document(self) -> dict[str, Any]:
        """Stop tracing, examine the process, and return what was found, ready for JSON."""
        self._tracer.stop()
        start_up_s = time.monotonic() - self._began_s
        findings = Findings(self._code)
        objects = Objects(self._code, self._environment)
        values = Values(self._code, self._tracer, objects, findings)
        generators = Generators(self._code, self._tracer, objects)
        for node in objects.walk():
            with contextlib.suppress(Exception):  # objects of foreign code: one that fails to be read is left out
                values.examine(node)
                line = values.line_of(node)
                generators.examine(node, line)
                self._handles.examine(node, line)
        values.assigned_by_statement()
        generators.examine_code()
        draws = [restore(generators.draws, with_hooks=False) for _ in range(2)]
        names = restore(_thread_names, with_hooks=True)
        complete = all(isinstance(copy, dict) for copy in draws)
        generators.report(findings, draws if complete else [generators.draws()])
        self._handles.report(findings, {str(name) for name in names or ()})
        return {
            "format": FORMAT,
            "findings": findings.document(),
            "leaves": values.leaves,
            "start_up_s": start_up_s,
            "is_complete": objects.is_complete and values.is_complete,
            "is_restored": complete,
        }


def _thread_names() -> list[str]:
    """Return the names of the threads that run in a copy."""
    return [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]


importlib.import_module("_strptime")  # so that no agent's line imports it while it is traced
