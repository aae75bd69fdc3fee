"""What nbval's run of the shipped notebooks needs beside nbval: `pytest -p tests.executed_notebooks --nbval-lax …`.

Each process of the run has a home of its own, and so a local AgentCore of its own; so has each report, whose figures
depend on what is stored. With `LOOM_EXECUTED` in the environment, the notebooks are kept in that folder with the
outputs that nbval has seen: who looks at their exports (`tests/browser`) need not run them again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from loomlib import local
from loomlib.local.find_chromium import browser_sentence, find_chromium

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
ENVIRONMENT = "LOOM_EXECUTED"
HOMES = pytest.StashKey[Path]()


def executed(name: str) -> Any | None:
    """The notebook of this name with its outputs, if it was kept and nobody has changed it since."""
    if not (folder := os.environ.get(ENVIRONMENT)) or not (path := Path(folder) / name).exists():
        return None
    notebook, shipped = (nbformat.read(file, as_version=4) for file in (path, NOTEBOOKS / name))
    is_unchanged = [cell.source for cell in notebook.cells] == [cell.source for cell in shipped.cells]
    return notebook if is_unchanged else None


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and (folder := os.environ.get(ENVIRONMENT)):
        shutil.rmtree(folder, ignore_errors=True)
    if getattr(config.option, "numprocesses", None):
        return  # the one that hands out the work runs nothing
    sys.path.append(str(Path(__file__).parent))  # the notebooks' folder has no conftest.py of the tests
    from kernel_template import kernel_environment, kernel_template
    from service_template import service_template

    homes = config.stash[HOMES] = Path(tempfile.mkdtemp(prefix="loom-notebooks-"))

    def leave() -> None:
        for home in homes.iterdir():
            local.stop(home)
        shutil.rmtree(homes, ignore_errors=True)

    config.add_cleanup(leave)
    prepared = contextlib.ExitStack()
    config.add_cleanup(prepared.close)
    os.environ["LOOM_SERVICE_TEMPLATE"] = prepared.enter_context(service_template())
    os.environ["LOOM_KERNEL_TEMPLATE"] = prepared.enter_context(kernel_template())
    os.environ.update(kernel_environment())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    """Choose the notebook's home; its kernel starts after this. Notebooks with a browser need one on this machine."""
    if find_chromium() is None and "bench.tools.browser(" in item.path.read_text("utf-8"):
        pytest.skip(browser_sentence())
    home = item.path.stem if item.path.parent.name == "reports" else "home"
    os.environ["LOOM_HOME"] = str(item.config.stash[HOMES] / home)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    yield
    item.cell.outputs = item.test_outputs
    item.cell.execution_count = item.cell_num + 1


def pytest_runtest_teardown(item: Any, nextitem: Any) -> None:
    """Keep the notebook after its last cell, if all of them ran as they should."""
    notebook, folder = item.parent.nb, os.environ.get(ENVIRONMENT)
    is_last_cell = nextitem is None or nextitem.parent is not item.parent
    if not folder or not is_last_cell:
        return
    if all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code"):
        path = Path(folder) / item.path.relative_to(NOTEBOOKS)
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)
