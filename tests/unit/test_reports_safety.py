"""Agent output stays text, secrets are removed, tables are aligned."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.reports.outputs import render_outputs
from loomlib.reports.redaction import REDACTED, ReportRedactor, secrets_in, secrets_of_home
from loomlib.reports.safe_html import safe_html, safe_markdown, safe_text
from loomlib.reports.tables import mark_numbers

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<a href='javascript:alert(1)'>x</a>",
    "<iframe src='https://evil.example'></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<form action='https://evil.example'><input name=q><button>x</button></form>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href='https://evil.example'>",
    "<object data='https://evil.example'></object>",
    "<div style='background:url(https://evil.example/x)'>x</div>",
    "<img src='https://evil.example/pixel.png'>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<scr<script>ipt>alert(1)</script>",
    "<!--><img src=x onerror=alert(1)>-->",
]
LIVE = re.compile(
    r"<(?:script|iframe|object|embed|form|link|meta|base|math|noscript)\b|<[^>]*\son\w+\s*=|<[^>]*javascript:|"
    r"<[^>]*(?:src|action|data)\s*=\s*[\"']?https?:|<[^>]*url\(",
    re.I,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markup_in_an_html_output_loses_its_teeth(text: str) -> None:
    assert not LIVE.search(safe_html(text))
    assert not LIVE.search(safe_markdown(f"# said\n\n{text}\n"))


@pytest.mark.parametrize("text", HOSTILE)
def test_text_outputs_are_escaped(text: str) -> None:
    assert "<" not in re.sub(r"</?span[^>]*>", "", safe_text(text))


@given(st.text())
def test_no_text_becomes_live_markup(text: str) -> None:
    assert not LIVE.search(safe_html(text))
    assert "<" not in re.sub(r"</?span[^>]*>", "", safe_text(text))


def test_displays_keep_their_structure() -> None:
    markup = '<style>.a > b{color:red}</style><div class="a" style="width:3px"><details open>x</details></div>'
    assert safe_html(markup) == markup
    drawing = '<svg viewBox="0 0 1 1" role="img"><linearGradient id="q"></linearGradient><path d="M0 0"></path></svg>'
    assert safe_html(drawing) == drawing


def test_a_progress_line_shows_its_last_state_only() -> None:
    assert safe_text("10 %\r50 %\r100 %\ndone") == "100 %\ndone"


def _cell(**data: object) -> nbformat.NotebookNode:
    output = nbformat.v4.new_output("display_data", data={name: value for name, value in data["data"].items()})  # type: ignore[attr-defined]
    return nbformat.v4.new_code_cell("x", outputs=[output])


def test_a_widget_shows_its_static_html_and_a_bare_widget_nothing() -> None:
    view = "application/vnd.jupyter.widget-view+json"
    both = {view: {"model_id": "1"}, "text/html": "<p>10 of 10</p>", "text/plain": "Progress()"}
    assert render_outputs(_cell(data=both)) == '<div class="html"><p>10 of 10</p></div>'
    assert render_outputs(_cell(data={view: {"model_id": "1"}, "text/plain": "Progress()"})) == ""


def test_text_in_a_figure_cannot_end_the_element_that_carries_it() -> None:
    figure = {"data": [{"name": "</script><script>alert(1)</script>"}], "layout": {"title": {"text": '"><b>'}}}
    html = render_outputs(_cell(data={"application/vnd.plotly.v1+json": figure}))
    assert html.count("<script") == html.count("</script>") == 1
    payload = re.search(r'<script type="application/json">(.*)</script>', html)
    assert payload
    assert json.loads(payload[1])["data"] == figure["data"]
    assert '"><b>' not in html.split("<script")[0]


def test_columns_of_numbers_are_marked_heading_included() -> None:
    rows = "<tr><th>who</th><th>ms</th></tr><tr><td>a</td><td>1 234.5</td></tr><tr><td>3</td><td>–</td></tr>"
    marked = mark_numbers(f"<table>{rows}</table>")
    assert '<th class="num">ms</th>' in marked
    assert '<td class="num">–</td>' in marked
    assert "<td>3</td>" in marked


def test_a_long_run_of_spaces_in_a_cell_is_read_in_linear_time() -> None:
    """With backtracking, 4,000 spaces took more than a minute; no time is asserted, the test ends."""
    for text in ("1" + " " * 100_000 + "x", " " * 100_000 + "1" + " " * 100_000 + "[", "1" * 100_000 + "e"):
        assert 'class="num"' not in mark_numbers(f"<table><tr><td>{text}</td></tr></table>")


@pytest.mark.parametrize(
    "text", ["−3", "~ 12 %", "1 234,5 ms", ".5", "1.5e-3 s", "12 [10, 14]", "< 3 kB [1]", "2 calls"]
)
def test_a_number_with_its_sign_unit_and_interval_is_a_number(text: str) -> None:
    assert '<td class="num">' in mark_numbers(f"<table><tr><td>{text}</td></tr></table>".replace("< ", "&lt; "))


def test_a_table_with_spanning_cells_stays_as_it_is() -> None:
    table = '<table><tr><th colspan="2">ms</th></tr><tr><td>1</td><td>2</td></tr></table>'
    assert mark_numbers(table) == table


@pytest.mark.parametrize(
    "text",
    [
        "key AKIAIOSFODNN7EXAMPLE was used",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        '{"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}',
        "https://b.s3.amazonaws.com/x?X-Amz-Credential=wJalrXUtnFEMI%2F2026&X-Amz-Signature=wJalrXUtnFEMIabcdef01",
        "Authorization: AWS4-HMAC-SHA256 Credential=wJalrXUtnFEMI/20261121/us-east-1, Signature=wJalrXUtnFEMI00",
        "Authorization: Bearer wJalrXUtnFEMI.abc",
    ],
)
def test_secrets_in_aws_forms_are_removed_without_knowing_them(text: str) -> None:
    clean = ReportRedactor().text(text)
    assert REDACTED in clean
    assert "wJalrXUtnFEMI" not in clean
    assert "AKIAIOSFODNN7" not in clean


def test_known_secrets_are_removed_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "service.json").write_text(
        json.dumps({"access_key": "LOOMKEY12345", "secret_key": "s3cr3t-s3cr3t", "port": 4})
    )
    secrets = [
        *secrets_in({"AWS_SESSION_TOKEN": "token-token-token", "PATH": "/usr/bin/somewhere"}),
        *secrets_of_home(tmp_path),
    ]
    clean = ReportRedactor(secrets).value(
        {"LOOMKEY12345": ["a s3cr3t-s3cr3t b", {"x": "token-token-token"}], "n": 5, "p": "/usr/bin/somewhere"}
    )
    assert clean == {REDACTED: [f"a {REDACTED} b", {"x": REDACTED}], "n": 5, "p": "/usr/bin/somewhere"}


def test_the_password_of_the_database_is_removed_as_the_address_has_it_and_as_it_is() -> None:
    redactor = ReportRedactor(secrets_in({"DATABASE_URL": "postgresql://loom:hunter2%40%2F%3A7@db.example/loom"}))
    clean = redactor.value(["hunter2@/:7", "hunter2%40%2F%3A7", "postgresql://loom:hunter2%40%2F%3A7@db.example/loom"])
    assert "hunter2" not in str(clean)
    assert "db.example/loom" in str(clean)


@pytest.mark.parametrize(
    "name",
    ["AZURE_OPENAI_API_KEY", "MYSQL_PWD", "SMTP_PASSWD", "PRIVATE_KEY", "GPG_PASSPHRASE", "STORE_ACCOUNT_KEY"],
)
def test_the_value_of_a_variable_with_a_secrets_name_is_a_secret(name: str) -> None:
    assert list(secrets_in({name: "0f3b9c7d2e4a4b6f"})) == ["0f3b9c7d2e4a4b6f"]


def test_folders_and_addresses_without_a_password_are_no_secrets() -> None:
    environment = {
        "PWD": "/srv/studies",
        "OLDPWD": "/srv/other",
        "PARTITION_KEY": "session_id",
        "PROXY": "http://proxy.example:8080/users/@me",
    }
    assert list(secrets_in(environment)) == []


def test_every_password_of_an_address_is_a_secret_and_may_contain_a_slash() -> None:
    addresses = "postgresql+psycopg://app:Zq8/vT1xPq@db.internal/app redis://:q7-Lm3Rk@cache/0"
    assert list(secrets_in({"ADDRESSES": addresses})) == ["Zq8/vT1xPq", "q7-Lm3Rk"]


def test_a_known_secret_is_removed_where_html_escapes_it() -> None:
    redactor = ReportRedactor(["Pa&ss<word9", 'it\'s-"quoted"'])
    assert redactor.text("<td>Pa&amp;ss&lt;word9</td>") == f"<td>{REDACTED}</td>"
    assert redactor.text("it&#x27;s-&quot;quoted&quot;") == REDACTED


def test_a_home_without_a_service_has_no_secrets(tmp_path: Path) -> None:
    assert list(secrets_of_home(tmp_path)) == []
