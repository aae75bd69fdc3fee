"""HTML that is safe on a page: an allowlist for the HTML of displays, escaping for everything else.

Displays escape the texts of agents. This is the second line of defence (the third is the page's
Content-Security-Policy): an element, attribute or address that is not on the list does not reach the page.
"""

from __future__ import annotations

import re

from bleach.css_sanitizer import CSSSanitizer
from bleach.sanitizer import Cleaner
from nbconvert.filters import ansi2html, markdown2html  # pyright: ignore[reportUnknownVariableType]

from .tables import mark_numbers

_HTML = """a abbr article b blockquote br caption code col colgroup dd del details div dl dt em figcaption figure footer
h1 h2 h3 h4 h5 h6 header hr i img kbd li mark meter ol output p pre progress q s samp section small span strong style
sub summary sup table tbody td tfoot th thead time tr u ul var wbr"""
_SVG = """svg g path rect circle ellipse line polyline polygon text tspan title desc defs linearGradient radialGradient
stop clipPath marker pattern"""
_WHOLE = re.compile(r"<(script|iframe|object|embed|template|noscript|form|math)\b.*?(?:</\1\s*>|\Z)", re.I | re.S)
_STYLE = re.compile(r"(<style[^>]*>)(.*?)(</style>)", re.S)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))", re.I | re.S)
_FETCHES = re.compile(r"url\s*\(|image-set|expression\s*\(|@import|@font-face|javascript:", re.I)
_PANDAS_STYLE = re.compile(r"<style scoped.*?</style>", re.S)


def safe_html(markup: str) -> str:
    """Return `markup` without scripts, handlers, frames and external images, with numeric columns marked."""
    # pandas styles its tables for a notebook; on a page they look like the other tables.
    cleaned = _CLEANER.clean(_PANDAS_STYLE.sub("", _WHOLE.sub("", markup)))
    # The serializer escapes `>` inside <style>, where it is a child selector; `<` stays escaped.
    cleaned = _STYLE.sub(lambda m: m[1] + _plain_rules(m[2].replace("&gt;", ">")) + m[3], cleaned)
    return mark_numbers(cleaned)


def _plain_rules(rules: str) -> str:
    """Return a style sheet's rules; empty if one of them loads a resource, even when written with escapes."""
    spelled = _ESCAPE.sub(lambda m: chr(min(int(m[1], 16), 0x10FFFF)) if m[1] else m[2], rules)
    return "" if _FETCHES.search(rules) or _FETCHES.search(spelled) else rules


def safe_markdown(text: str) -> str:
    """Render Markdown as safe HTML."""
    return safe_html(str(markdown2html(text)).replace('class="anchor-link"', 'class="anchor-link" hidden'))


def safe_text(text: str) -> str:
    """Return terminal text as HTML: escaped, with its ANSI colours and carriage returns applied."""
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n")]
    return str(ansi2html("\n".join(lines)))  # pyright: ignore[reportUnknownArgumentType]


def _allowed(_tag: str, name: str, value: str) -> bool:
    if name.startswith("on") or name in ("srcdoc", "formaction", "action", "srcset", "ping", "background"):
        return False
    if name == "src":
        return value.startswith("data:image/")
    if name in ("href", "xlink:href"):
        return value.startswith(("#", "https://", "http://"))
    return True


class _PlainStyles(CSSSanitizer):
    """bleach's CSS sanitizer, stricter: a declaration that could load or run something removes the attribute."""

    def sanitize_css(self, style: str) -> str:
        return "" if "\\" in style or _FETCHES.search(style) else style


_CLEANER = Cleaner(
    tags={*_HTML.split(), *_SVG.split()},
    attributes=_allowed,
    protocols={"http", "https", "data"},
    strip=True,
    strip_comments=True,
    css_sanitizer=_PlainStyles(),
)
