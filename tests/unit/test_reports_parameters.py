"""A report's parameters are checked before anything runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.errors import ReportError, UnknownParameterError
from loomlib.memory_study.generator import pool
from loomlib.reports import Parameter, bind_parameters, describe_parameters, find_report, read_parameters, since_of
from loomlib.reports.catalogue import report_notebooks

CELL = """agent: str = "calculator"  # name, id or ARN
cold: int = 10  # cold calls
max_p90_ms: float = 0.0  # 0 = no gate
verbose = False
study_id: str | None = None  # resume
"""


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    return _write(tmp_path / "made.ipynb", CELL)


def _write(path: Path, source: str, *, cells: int = 1) -> Path:
    tagged = [nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]}) for _ in range(cells)]
    nbformat.write(nbformat.v4.new_notebook(cells=tagged), path)
    return path


def test_names_types_defaults_and_comments_are_read_from_the_cell(notebook: Path) -> None:
    assert read_parameters(notebook) == (
        Parameter(name="agent", type_name="str", default="calculator", comment="name, id or ARN"),
        Parameter(name="cold", type_name="int", default=10, comment="cold calls"),
        Parameter(name="max_p90_ms", type_name="float", default=0.0, comment="0 = no gate"),
        Parameter(name="verbose", type_name="bool", default=False),
        Parameter(name="study_id", type_name="str", default=None, comment="resume"),
    )


def test_text_becomes_values_of_the_defaults_types(notebook: Path) -> None:
    given_text = {"agent": "prod", "cold": "3", "max_p90_ms": "900", "verbose": "yes", "study_id": "7"}
    bound = bind_parameters(read_parameters(notebook), given_text)
    assert bound == {"agent": "prod", "cold": 3, "max_p90_ms": 900.0, "verbose": True, "study_id": "7"}
    assert [type(value) for value in bound.values()] == [str, int, float, bool, str]


def test_a_misspelt_parameter_names_the_close_one_and_lists_all(notebook: Path) -> None:
    with pytest.raises(UnknownParameterError) as caught:
        bind_parameters(read_parameters(notebook), {"agnet": "prod"}, report="latency_study")
    assert "latency_study has no parameter 'agnet'" in str(caught.value)
    assert "Try: agent?" in str(caught.value)
    assert describe_parameters(read_parameters(notebook)) in str(caught.value)
    assert "max_p90_ms: float = 0.0  # 0 = no gate" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("cold", "ten", "a whole number"),
        ("cold", "1.5", "a whole number"),
        ("max_p90_ms", "fast", "a number"),
        ("max_p90_ms", "nan", "a number"),
        ("verbose", "maybe", "true or false"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_what_the_parameter_takes(
    notebook: Path, name: str, text: str, says: str
) -> None:
    with pytest.raises(ReportError, match=says):
        bind_parameters(read_parameters(notebook), {name: text})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("aws_secret_access_key", "x"),
        ("session_token", "x"),
        ("password", "x"),
        ("agent", "AKIAIOSFODNN7EXAMPLE"),
        ("agent", "postgresql://loom:hunter2@db.example/loom"),
        ("agent", "Bearer abcdef"),
    ],
)
def test_credentials_are_refused_as_parameters_and_not_repeated(notebook: Path, name: str, value: str) -> None:
    with pytest.raises(ReportError, match="looks like a credential") as caught:
        bind_parameters(read_parameters(notebook), {name: value})
    assert value == "x" or value not in str(caught.value)


def test_a_report_has_one_parameters_cell_at_most(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="2 cells tagged"):
        read_parameters(_write(tmp_path / "made.ipynb", "a = 1", cells=2))


def test_any_notebook_is_a_report_and_without_a_tagged_cell_it_takes_no_parameters(tmp_path: Path) -> None:
    path = _write(tmp_path / "made.ipynb", "a = 1", cells=0)
    assert read_parameters(path) == ()
    with pytest.raises(UnknownParameterError, match="tag the one cell"):
        bind_parameters((), {"a": "2"}, report="made")


@pytest.mark.parametrize("source", ["a = [1, 2]", "a = len('x')", "a = {'b': 1}"])
def test_a_default_that_is_no_scalar_is_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(ReportError, match="neither a string nor a number"):
        read_parameters(_write(tmp_path / "made.ipynb", source))


def test_a_file_that_is_no_notebook_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "made.ipynb").write_text("not json")
    with pytest.raises(ReportError, match="cannot be read"):
        read_parameters(tmp_path / "made.ipynb")


def test_an_unknown_report_names_the_close_one() -> None:
    with pytest.raises(ReportError, match="latency_study"):
        find_report("latency_studdy")


def test_every_bundled_report_has_typed_commented_offline_parameters() -> None:
    for parameter in read_parameters(find_report("latency_study")):
        assert parameter.comment, parameter
        assert "=" not in parameter.comment, "papermill's own inspection stumbles over it"


@pytest.mark.parametrize("text", ["99999999999999999999", "-1", "100001", "9" * 5000])
def test_a_whole_number_outside_its_range_is_refused_in_three_parts(text: str) -> None:
    parameters = read_parameters(find_report("latency_study"))
    with pytest.raises(ReportError) as caught:
        bind_parameters(parameters, {"cold": text}, report="latency_study")
    assert (
        str(caught.value).splitlines()[0].startswith("The parameter cold takes a whole number from 0 to 100\u202f000")
    )
    assert f"cold={text}"[:40] in str(caught.value)
    assert "-p cold=10" in str(caught.value)
    assert len(str(caught.value)) < 400
    for accepted in ("0", "100000"):
        assert bind_parameters(parameters, {"cold": accepted}) == {"cold": int(accepted)}


@pytest.mark.parametrize(
    ("report", "name", "value"),
    [
        ("start_up", "later_calls", "0"),
        ("recall_study", "sessions", "3"),
        ("recall_study", "facts", str(len(pool().facts) + 1)),
    ],
)
def test_a_number_that_the_study_of_a_report_cannot_run_with_is_refused(report: str, name: str, value: str) -> None:
    with pytest.raises(ReportError, match=f"parameter {name} takes a whole number"):
        bind_parameters(read_parameters(find_report(report)), {name: value}, report=report)


def test_a_whole_number_without_a_stated_range_has_64_bits() -> None:
    with pytest.raises(ReportError, match="a whole number of at most 64 bits"):
        bind_parameters([Parameter(name="n", type_name="int", default=1)], {"n": str(2**63)})


def test_every_whole_number_of_a_bundled_report_states_its_range_and_its_default_is_within() -> None:
    for report in report_notebooks():
        for parameter in read_parameters(find_report(report)):
            if parameter.type_name == "int":
                least, most = parameter.range
                assert most < 2**33, f"{report}: {parameter}"
                assert least <= int(parameter.default or 0) <= most, f"{report}: {parameter}"


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_whole_number_comes_through_as_itself(value: int) -> None:
    assert bind_parameters([Parameter(name="n", type_name="int", default=1)], {"n": str(value)}) == {"n": value}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_comes_through_as_itself(value: float) -> None:
    assert bind_parameters([Parameter(name="x", type_name="float", default=1.0)], {"x": repr(value)}) == {"x": value}


def test_a_period_is_a_duration_or_a_time() -> None:
    assert [since_of(text) for text in ("", "7d", "1.5h")] == [None, timedelta(days=7), timedelta(minutes=90)]
    assert since_of("2026-11-01") == datetime(2026, 11, 1)


@pytest.mark.parametrize("text", ["infd", "nanh", "1e300m", "999999d", "d", "soon"])
def test_a_period_that_no_calendar_holds_is_refused(text: str) -> None:
    with pytest.raises(ReportError, match="since cannot be read"):
        since_of(text)
