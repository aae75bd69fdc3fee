"""Tables in a notebook: texts at the left, numbers where JupyterLab puts them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pandas as pd

from loomlib.presentation.text_frame import TextFrame

LEFT = 'style="text-align: left"'


def test_texts_stand_at_the_left_and_numbers_do_not() -> None:
    html = TextFrame({"name": ["calculator", "</td><td>7"], "calls": [3, 4]})._repr_html_()
    assert html is not None
    assert f"<th {LEFT}>name</th>" in html
    assert "<th>calls</th>" in html
    assert f"<td {LEFT}>calculator</td>" in html
    assert f"<td {LEFT}>&lt;/td&gt;&lt;td&gt;7</td>" in html
    assert re.findall(r"<td>(\d)</td>", html) == ["3", "4"]


def test_an_index_and_a_table_without_rows_stay_as_they_are() -> None:
    html = TextFrame({"name": ["a"], "n": [1]}).set_index("name")._repr_html_()
    assert html is not None
    assert "<th>a</th>" in html
    assert TextFrame({"name": []})._repr_html_() is not None


def test_times_have_seconds_and_utc_in_both_forms() -> None:
    moment = datetime(2026, 11, 23, 15, 46, 17, 123456, tzinfo=UTC)
    times = [moment, moment, None]
    frame = TextFrame({"registered_at": times, "name": ["a", "b", "seen 2026-11-23 15:46:17+00:00"]})
    for view in (frame, frame[["registered_at", "name"]], frame.set_index("name")):
        html = view._repr_html_()
        assert html is not None
        assert html.count("2026-11-23 15:46:17 UTC</td>") == 2
        assert ".123" not in html + repr(view)
        assert repr(view).count("2026-11-23 15:46:17 UTC") >= 2
    assert "seen 2026-11-23 15:46:17+00:00" in str(frame._repr_html_())
    assert frame.loc[0, "registered_at"] == moment, "the values keep their microseconds"


def test_a_sentence_is_whole_and_a_page_of_text_is_not() -> None:
    sentence = "What time is it in Tokyo, and how many km are 26.2 miles in a straight line?"
    html = TextFrame({"asked": [sentence, "x" * 400]})._repr_html_()
    assert html is not None
    assert sentence in html
    assert "x" * 160 not in html
    with pd.option_context("display.max_colwidth", 20):
        assert sentence not in str(TextFrame({"asked": [sentence]})._repr_html_())
