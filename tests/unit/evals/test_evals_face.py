"""The public names of loomlib.evals: all importable, nothing heavy loaded on import, and all in its guide."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from loomlib import evals
from loomlib.evals.registry import make_evaluator


def test_every_name_can_be_imported_and_is_listed():
    for name in evals.__all__:
        assert getattr(evals, name) is not None
    assert set(evals.__all__) <= set(dir(evals))
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        evals.evalute  # noqa: B018


def test_importing_it_loads_nothing_heavy():
    heavy = ("boto3", "botocore", "pandas", "numpy", "plotly", "sqlalchemy", "aiohttp", "moto", "strands_evals")
    code = f"import sys, loomlib.evals; print([name for name in {heavy!r} if name in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_every_evaluator_that_the_guide_names_can_be_made():
    guide = evals.__doc__ or ""
    rows = [row.split("|")[2] for row in guide.splitlines() if row.startswith("| ")][1:]
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    names = [name for name in names if name != "align" and not name.startswith("(")]
    assert len(names) > 25
    for name in names:
        assert make_evaluator(name).name
