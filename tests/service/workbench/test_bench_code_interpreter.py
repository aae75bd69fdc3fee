"""`bench.tools.code_interpreter()`: sessions of a code interpreter from a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import loomlib as loom
from loomlib.errors import CodeFailedError, ConflictError, ResourceNotFoundError


@pytest.fixture(scope="module")
def bench(service: Any) -> Iterator[loom.Workbench]:
    with loom.connect(home=str(service.home)) as opened:
        yield opened


def test_a_session_keeps_variables_and_files_until_it_is_closed(bench: loom.Workbench) -> None:
    with bench.tools.code_interpreter() as code:
        assert code.session_id == ""
        write_result = code.write("data/numbers.txt", "1\n2\n")
        assert write_result.ok
        code.run("total = sum(map(int, open('data/numbers.txt')))")
        result = code.run("print('sum')\ntotal")
        assert (result.text, result.output.exit_code, result.ok) == ("sum\n3", 0, True)
        assert 0 <= result.output.execution_ms <= result.duration_ms
        assert code.command("cat data/numbers.txt").output.stdout == "1\n2\n"
        assert code.read("data/numbers.txt") == "1\n2\n"
        code.write("raw.bin", b"\x00\xff")
        assert code.read("raw.bin") == b"\x00\xff"
        listed = code.files()
        assert list(listed["path"]) == ["data", "raw.bin"]
        assert list(listed["kind"]) == ["Directory", "File"]
        assert listed["size_bytes"].iloc[1] == 2
        assert "NameError" in code.run("total", clear=True).text
        session_id = code.session_id
    assert code.session_id == ""
    code.session_id = session_id
    with pytest.raises(ConflictError, match="TERMINATED"):
        code.run("1")


def test_a_failed_cell_is_a_value_with_its_traceback_and_an_error_on_request(bench: loom.Workbench) -> None:
    with bench.tools.code_interpreter() as code:
        result = code.run("1 / 0")
        assert not result.ok
        assert result.output.stderr.endswith("ZeroDivisionError: division by zero")
        with pytest.raises(CodeFailedError, match="ZeroDivisionError") as raised:
            result.raise_for_status()
        assert raised.value.on == "exit code 1"
        assert raised.value.try_
        with pytest.raises(CodeFailedError, match="no such file"):
            code.read("missing.txt")
        with pytest.raises(CodeFailedError, match="outside the session's working folder"):
            code.write("../escape.txt", "x")


def test_a_result_shows_its_state_times_and_provenance(bench: loom.Workbench) -> None:
    with bench.tools.code_interpreter() as code:
        result = code.run("'<b>shown</b>'")
    html = result._repr_html_()
    assert "local AgentCore" in html
    assert "client duration" in html
    assert "&lt;b&gt;shown" in html
    assert repr(result).endswith("'<b>shown</b>'")


def test_an_unknown_code_interpreter_is_an_error_of_three_parts(bench: loom.Workbench) -> None:
    with pytest.raises(ResourceNotFoundError, match="none-0123456789") as raised:
        bench.tools.code_interpreter("none-0123456789").run("1")
    assert raised.value.on
    assert raised.value.try_
