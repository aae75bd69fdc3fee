"""The verdict's box: a missed gate first, everything escaped, the summary for programs beside it."""

from __future__ import annotations

import subprocess
import sys

from loomlib.reports import SUMMARY_MIME, Listing, Verdict
from loomlib.reports.safe_html import safe_html

HOSTILE = "<script>alert(1)</script>"


def test_a_missed_gate_comes_first_and_a_passed_one_last() -> None:
    missed, passed = ("missed", "Gate missed by 5 ms."), ("passed", "Gate passed.")
    verdict = Verdict(title="echo", sentences=["It took 5 ms."], gates=[passed, missed])
    assert str(verdict).splitlines() == ["echo", "Gate missed by 5 ms.", "It took 5 ms.", "Gate passed."]
    html = verdict._repr_html_()
    assert html.index("Gate missed") < html.index("It took") < html.index("Gate passed")


def test_a_verdict_carries_its_summary_and_a_display_without_html() -> None:
    bundle = Verdict(title="echo", sentences=["Five."], summary={"n": 5})._repr_mimebundle_()
    assert bundle[SUMMARY_MIME] == {"n": 5}
    assert bundle["text/plain"] == "echo\nFive."


def test_hostile_text_in_a_verdict_or_a_listing_is_escaped() -> None:
    verdict = Verdict(title=HOSTILE, sentences=[HOSTILE], gates=[("missed", HOSTILE), ("odd", HOSTILE)])
    listing = Listing(items=[(HOSTILE, HOSTILE, HOSTILE)])
    for html in (verdict._repr_html_(), listing._repr_html_(), Listing(items=[], nothing=HOSTILE)._repr_html_()):
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        assert safe_html(html).count("&lt;script&gt;") == html.count("&lt;script&gt;"), "the page keeps the text"


def test_stating_a_verdict_loads_neither_papermill_nor_nbformat() -> None:
    script = "import sys; from loomlib.reports import verdict; print(*sys.modules)"
    process = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert {"papermill", "nbformat", "bleach"}.isdisjoint(process.stdout.split())
