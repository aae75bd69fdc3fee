"""The rows of a panel's table, drawn by a browser, write a number as every other surface does."""

from __future__ import annotations

import pytest
from awkward_numbers import VALUES

from loom_widgets.kit.panel import KIT, KIT_PARTS, text_of
from loomlib.presentation import formats
from loomlib.presentation.html import unbroken

from .conftest import Watched

pytestmark = pytest.mark.browser
COLUMNS = {"number": formats.number, "ms": formats.milliseconds, "score": formats.score}
DRAW = """([kinds, values]) => {
    const columns = kinds.map((kind) => ({ key: kind, kind }));
    const rows = values.map((value) => Object.fromEntries(kinds.map((kind) => [kind, value])));
    document.body.append(table({ columns, rows, height: 4000 }));
}"""

# A panel's model whose kernel answers a request for rows only when `window.reply` is called.
SLOW = """() => {
    const opened = [];
    let listen = null, request = null;
    const model = {
        on: (name, callback) => { if (name === "msg:custom") listen = callback; },
        send: (message) => { request = message; },
    };
    window.opened = opened;
    window.reply = () => listen({ id: request.id, is: "done", value: { rows: [{ name: "first" }], total: 1 } });
    document.body.append(table({
        model, table: "rows", key: "name", columns: [{ key: "name" }], onOpen: (row) => opened.push(row.name),
    }));
}"""

SAY = """(text) => {
    for (const tag of ["p", "dd", "td", "pre"]) document.body.append(h(tag, { id: tag }, text));
    const said = live({ id: "said" });
    document.body.append(said);
    said.say(text);
}"""


def _kit() -> str:
    return "\n".join(text_of("loom_widgets.kit", name) for name in (*KIT, *KIT_PARTS) if name != "frame.js")


def test_the_rows_of_a_panel_write_every_number_alike(watched: Watched) -> None:
    page = watched.page
    page.set_content("<!doctype html><html lang=en><body></body></html>")
    page.add_script_tag(content=_kit())
    page.evaluate(DRAW, [list(COLUMNS), VALUES])
    rows = page.locator("tbody tr[role=row], tbody tr:not([aria-hidden])")
    rows.nth(len(VALUES) - 1).wait_for()
    row_texts = [rows.nth(place).locator("td").all_inner_texts() for place in range(len(VALUES))]
    assert row_texts == [[unbroken(write(value)) for write in COLUMNS.values()] for value in VALUES]
    # Sentences, figures and the status line too; what somebody else wrote stays as it is.
    sentence = "Answered in 318 ms, 42 % of 2 min 05 s"
    page.evaluate(SAY, sentence)
    ids = ["p", "dd", "td", "said", "pre"]
    texts = page.evaluate("ids => ids.map((id) => document.getElementById(id).textContent)", ids)
    assert texts == [unbroken(sentence)] * 4 + [sentence]
    assert watched.errors == []


def test_a_row_that_is_clicked_before_it_is_loaded_opens_when_it_is(watched: Watched) -> None:
    page = watched.page
    page.set_content("<!doctype html><html lang=en><body></body></html>")
    page.add_script_tag(content=_kit())
    page.evaluate(SLOW)
    page.locator("tr[data-index='0']").click()
    assert page.evaluate("opened") == []
    page.evaluate("reply()")
    page.wait_for_function("opened.length > 0")
    assert page.evaluate("opened") == ["first"]
    page.get_by_text("first", exact=True).click()
    assert page.evaluate("opened") == ["first", "first"]
    assert watched.errors == []


def test_a_chart_is_as_wide_as_its_place_and_its_texts_keep_their_size(watched: Watched) -> None:
    page = watched.page
    page.set_content("<!doctype html><html lang=en><body><div id=place></div></body></html>")
    page.add_style_tag(content=text_of("loom_widgets.kit", "kit.css"))
    page.add_script_tag(content=_kit())
    page.evaluate("""() => {
        const points = [[1, 120], [2, 318], [3, 205]];
        document.getElementById("place").append(chart.line({ series: [{ name: "calls", points }], y: { kind: "ms" } }));
    }""")
    for width in (1400, 500):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("""() => {
            const place = document.getElementById("place"), svg = place.querySelector("svg"), width = svg.clientWidth;
            return width > place.clientWidth * 0.95 && Math.abs(svg.viewBox.baseVal.width - width) < 8;
        }""")
    assert watched.errors == []
