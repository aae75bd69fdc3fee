"""Packages whose initialisers run at the first use of a name of theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PACKAGE = """
import sys, time
sys.runs = getattr(sys, "runs", 0) + 1
time.sleep(0.05)
from .part import VALUE
constant = 42
"""


def run(code: str, *paths: Path) -> str:
    lines = [f"import sys; sys.path[:0] = {[str(path) for path in paths]!r}", code]
    process = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "loom_slow_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(_PACKAGE)
    (folder / "part.py").write_text("VALUE = 7\n")
    return tmp_path


def test_a_submodule_is_imported_without_the_initialiser_which_runs_once_for_many_threads(package: Path) -> None:
    code = """if True:
        from concurrent.futures import ThreadPoolExecutor
        from loomlib.local.deferred_packages import defer_initialiser

        defer_initialiser("loom_slow_package", constant=41)
        import loom_slow_package
        from loom_slow_package.part import VALUE

        before = (hasattr(sys, "runs"), VALUE, loom_slow_package.constant)
        with ThreadPoolExecutor(8) as pool:
            values = set(pool.map(lambda _: loom_slow_package.VALUE, range(8)))
        defer_initialiser("loom_slow_package")
        print(before, values, sys.runs, loom_slow_package.constant, type(loom_slow_package).__name__)
    """
    assert run(code, package) == "(False, 7, 41) {7} 1 42 module"


def test_a_name_that_a_deferred_package_lacks_is_an_attribute_error(package: Path) -> None:
    code = """if True:
        from loomlib.local.deferred_packages import defer_initialiser
        defer_initialiser("loom_slow_package")
        import loom_slow_package
        print(hasattr(loom_slow_package, "no_such_name"), sys.runs)
        try:
            defer_initialiser("loom_no_such_package")
        except ModuleNotFoundError as error:
            print(error.name)
    """
    assert run(code, package) == "False 1\nloom_no_such_package"


def test_a_service_loads_none_of_what_moto_needs_in_tests_and_uvicorn_on_a_command_line() -> None:
    code = """if True:
        from loomlib.local.deferred_packages import defer_service_packages
        defer_service_packages()
        import loomlib.local.serve
        spared = ("responses", "yaml", "typing_extensions", "click", "flask", "jinja2", "packaging", "unittest")
        print([name for name in spared if name in sys.modules])
        import moto.core, uvicorn
        from loomlib.local.state import ACCOUNT_ID
        print(moto.core.DEFAULT_ACCOUNT_ID == ACCOUNT_ID, "responses" in sys.modules)
        from moto import mock_aws
        print(moto.core.DEFAULT_ACCOUNT_ID == ACCOUNT_ID, callable(mock_aws), uvicorn.Server.__name__)
    """
    assert run(code) == "[]\nTrue False\nTrue True Server"
