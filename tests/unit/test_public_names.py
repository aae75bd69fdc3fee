"""The public names: all importable, and importing the package is cheap and has no effect."""

import subprocess
import sys
from importlib import import_module

import pytest

import loomlib

HEAVY = (
    "boto3",
    "botocore",
    "pandas",
    "plotly",
    "sqlalchemy",
    "alembic",
    "aiohttp",
    "numpy",
    "moto",
    "IPython",
    "click",
)


def test_a_fresh_process_lists_every_public_name_and_can_import_it():
    code = """if True:
        import loomlib
        listed = dir(loomlib)
        print([name for name in loomlib.__all__ if name not in listed or getattr(loomlib, name, None) is None])
    """
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'konnect'"):
        loomlib.konnect  # noqa: B018


def test_importing_loomlib_loads_nothing_heavy():
    code = f"import sys, loomlib; print([name for name in {HEAVY!r} if name in sys.modules])"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "package", ["agents", "aws", "telemetry", "store", "latency", "local", "settings", "workbench"]
)
def test_a_connection_loads_no_data_or_cloud_library_until_it_is_used(package):
    heavy = ("boto3", "pandas", "plotly", "aiohttp", "moto", "numpy")
    code = f"import sys, loomlib.{package}; print([name for name in {heavy!r} if name in sys.modules])"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("process", "spared"),
    [
        ("serve", ("aiohttp", "flask", "jinja2", "numpy", "packaging", "pandas", "sqlalchemy", "strands")),
        ("otlp.collecting", ("boto3", "moto", "werkzeug", "aiohttp", "pandas")),
        ("insights.running", ("boto3", "moto", "werkzeug", "aiohttp", "pandas")),
        ("memory.extraction.worker", ("boto3", "moto", "werkzeug", "aiohttp", "pandas", "sqlalchemy")),
    ],
)
def test_the_local_services_processes_start_without_what_they_may_never_use(process, spared):
    code = f"import sys, loomlib.local.{process}; print([name for name in {spared!r} if name in sys.modules])"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("statistics", "flip_odds", "discordant_odds_ratio"),
        ("statistics", "cases_for_flips", "cases_for_rate_difference"),
        ("evals.evaluators", "AnswerJudgement", "AnswerEvaluator"),
        ("evals.judges", "AnswerForm", "ReplyForm"),
        ("jobs", "is_watched_notebook", "is_interactive_notebook"),
    ],
)
def test_a_renamed_name_of_a_package_still_works(module: str, old: str, new: str) -> None:
    path = f"loomlib.{module}"
    package = import_module(path)
    with pytest.warns(DeprecationWarning, match=f"{path}.{old} is deprecated; use {path}.{new}"):
        assert getattr(package, old) is getattr(package, new)
