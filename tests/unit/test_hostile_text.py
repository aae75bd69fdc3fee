"""The corpus of hostile texts against what writes HTML without a browser: pages, tables, errors."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from loomlib.presentation.text_frame import TextFrame
from loomlib.reports import Listing, Verdict
from loomlib.reports.safe_html import safe_html, safe_markdown, safe_text

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "data"))
import hostile

TEXTS = [answer.text for answer in hostile.answers("http://127.0.0.1:9/b")]
RUNS = re.compile(
    "script|iframe|object|embed|form|link|meta|base|math|noscript|template|video|audio|portal|marquee|frame|frameset"
)
PLAIN = re.compile("div|p|ul|li|strong|em|br|span|style|table|thead|tbody|tr|th|td")
FETCHES = ("src", "srcset", "action", "formaction", "data", "poster", "background", "ping", "srcdoc")
STYLES = re.compile(r"<style[^>]*>(.*?)</style>", re.I | re.S)


class Read(HTMLParser):
    """A page as a browser reads it: its elements, and what of them would run or fetch something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.live: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if RUNS.fullmatch(tag):
            self.live.append(tag)
        for name, value in attrs:
            normalized_value = re.sub(r"[\s\x00-\x20]", "", value or "").lower()
            runs = name.startswith("on") or normalized_value.startswith(("javascript:", "vbscript:", "data:text"))
            fetches = name in FETCHES and not normalized_value.startswith("data:image/")
            if runs or fetches or (name == "style" and "url(" in normalized_value):
                self.live.append(f"{tag} {name}={value}")


def test_the_corpus_is_large_and_nothing_is_in_it_twice() -> None:
    assert len(TEXTS) == len(set(TEXTS)) >= 150


@pytest.mark.parametrize("render", [safe_html, safe_markdown], ids=["html", "markdown"])
def test_what_claims_to_be_markup_neither_runs_nor_fetches(render) -> None:
    for text in TEXTS:
        page = render(text)
        assert Read(page).live == [], text
        assert not any(re.search(r"url\s*\(|@import|@font-face", rules) for rules in STYLES.findall(page)), (text, page)


def test_terminal_text_stays_text() -> None:
    for text in TEXTS:
        assert "<" not in re.sub(r"</?span[^>]*>", "", safe_text(text))


def test_displays_hold_the_texts_as_text_and_set_none_as_a_formula() -> None:
    frame = TextFrame({text: [text] for text in TEXTS})
    displays = [
        Verdict(title=TEXTS[0], sentences=TEXTS, gates=[("missed", text) for text in TEXTS])._repr_html_(),
        Listing(items=[(text, text, text) for text in TEXTS])._repr_html_(),
        frame.head(1)._repr_html_(),
        frame.rename(columns=str.upper)._repr_html_(),
    ]
    for html in displays:
        assert all(map(PLAIN.fullmatch, Read(html).tags))
        assert "mathjax_ignore" in html


def test_a_frame_of_text_leaves_pandas_as_it_was() -> None:
    assert pd.get_option("display.html.use_mathjax")
    TextFrame({"a": ["$x$"]})._repr_html_()
    assert pd.get_option("display.html.use_mathjax")
    assert "mathjax_ignore" not in pd.DataFrame({"a": ["$x$"]}).to_html()
