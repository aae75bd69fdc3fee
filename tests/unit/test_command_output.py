"""The command line: rows of a query, JSON, and numbers of options."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from loomlib.cli import emit_json, emit_table, records
from loomlib.cli.main import cli


def test_missing_values_and_lists_of_a_query_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    frame: Any = duckdb.sql(
        "SELECT 1 AS n, true AS flag, [1, NULL] AS list, [[1.5], []] AS nested, TIMESTAMP '2026-01-01' AS moment "
        "UNION ALL SELECT NULL, NULL, NULL, NULL, NULL ORDER BY n"
    ).df()
    rows = records(frame)
    first = {"n": 1, "flag": True, "list": [1, None], "nested": [[1.5], []], "moment": datetime(2026, 1, 1)}
    assert rows == [first, dict.fromkeys(first)]
    emit_table(rows, empty="none")
    assert capsys.readouterr().out.splitlines()[2].split() == ["–"] * 5


def test_any_value_is_printed_as_valid_json_with_the_same_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = "half \ud800 é 🧵"
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    emit_json({"text": text, "numbers": [float("inf"), float("nan"), 1.5], "moment": moment})
    output = capsys.readouterr().out
    assert "é 🧵" in output

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    printed = json.loads(output, parse_constant=refuse)
    assert printed == {"text": text, "numbers": [None, None, 1.5], "moment": moment.isoformat()}


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        (["load", "echo", "--at", "1", "--seconds"], "inf"),
        (["load", "echo", "--at"], "nan"),
        (["compare", "new", "old", "--margin"], "nan"),
    ],
)
def test_a_number_that_is_not_finite_is_refused_as_an_option(arguments: list[str], number: str) -> None:
    result = CliRunner().invoke(cli, [*arguments, number])
    assert f"{number} is not a finite number" in str(result.exception or "") + result.output
    assert result.exit_code != 0
