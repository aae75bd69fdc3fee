"""HTML from jinja2 templates with autoescape: cards, tables, whole pages, and any package's own templates.

A package keeps its templates in a folder `templates` and names them `"package:file"`; the shared macros are in
`loomlib.presentation:parts.html.j2`:

    {% import "loomlib.presentation:parts.html.j2" as parts %}
    {% call parts.view("loom-study") %}
      {{ parts.quiet(result.title()) }}
      {{ parts.answer(result.sentences()) }}
      {{ parts.table(head, rows) }}
    {% endcall %}

    fragment("loomlib.latency:study.html.j2", result=result, head=COLUMNS, rows=rows)

In everything that is inserted, a number and its unit are joined by a no-break space, so that no line ends between them;
`Markup` is not changed (pass a text that is shown verbatim through the filter `e`).

Everything that is inserted is escaped unless it is `Markup`, which only `fragment` and its callers in this module
create.
jinja2 is imported with the first fragment, not with this module.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from . import formats, text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_FILTERS = (
    formats.cell, formats.date_time, formats.day, formats.milliseconds, formats.money, formats.number, formats.percent,
    formats.plural, formats.seconds, formats.size, formats.timestamp, text.cut, text.one_line, text.printable,
)  # fmt: skip


_UNIT_SPACE = re.compile(
    r"(?<=\d) (?=(?:ms|s|min|h|B|kB|MB|GB|TB|%|points?)(?![\w%]))|(?<=\d min) (?=\d\d s\b)|(?<=\d h) (?=\d\d min\b)"
)


def unbroken(text: str) -> str:
    """Join numbers with their units by no-break spaces (U+00A0): `318 ms`, `2 min 05 s`, `42 %`."""
    return _UNIT_SPACE.sub("\u00a0", text)


def fragment(template: str, **values: Any) -> Markup:
    """Render a template as a piece of HTML.

    Args:
        template: `"package:file"`, a file in the folder `templates` of an importable package.
        **values: The template's variables. A variable that the template uses and that was not passed is an error.

    Returns:
        The HTML, which can be passed to another template unchanged.
    """
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(values).strip())  # noqa: S704 -- rendered with autoescape


def card(
    title: str,
    *,
    state: tuple[str, str] | None = None,
    labels: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
    text: str | None = None,
    note: str = "",
    body: Markup | str = "",
) -> Markup:
    """Render a card: the static display of one object.

    Args:
        title: Name of the object.
        state: A kind (`good`, `bad`, `wait`) and the word that is shown.
        labels: Provenance labels, such as `simulated`.
        facts: Names and values.
        text: A long text, shown verbatim and cut after 20,000 characters.
        note: One sentence below the labels.
        body: HTML of another fragment, shown last.

    Examples:
        >>> card("calculator", state=("good", "READY"), facts=[("region", "us-east-1")])
    """
    return fragment(
        "loomlib.presentation:card.html.j2", title=title, state=state, labels=labels, facts=facts, text=text, note=note,
        body=body,
    )  # fmt: skip


def table(head: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str = "", more: int = 0) -> Markup:
    """Render a table. A column of numbers (or of texts that begin with a figure) is aligned to the right.

    Args:
        head: Column titles.
        rows: Values; formatted as `formats.cell` does.
        caption: A title above the table.
        more: How many rows are left out; stated below the table.
    """
    return fragment("loomlib.presentation:table.html.j2", head=head, rows=rows, caption=caption, more=more)


def view(body: Markup | str, *, name: str = "") -> Markup:
    """Wrap fragments in the root element of a display, with the stylesheet.

    Args:
        body: HTML of other fragments; plain text is escaped.
        name: An additional class of the root element.
    """
    return fragment("loomlib.presentation:view.html.j2", body=body, name=name)


def picture(png: bytes, *, about: str, caption: str) -> Markup:
    """Render a picture within the page.

    Args:
        png: The image.
        about: Alternative text for readers who cannot see the picture.
        caption: The text below it.
    """
    image = base64.b64encode(png).decode()
    return fragment("loomlib.presentation:picture.html.j2", image=image, about=about, caption=caption)


def status_line(line: str) -> Markup:
    """Render a line of progress in the secondary text colour."""
    return fragment("loomlib.presentation:line.html.j2", line=line)


def page(title: str, body: Markup | str, *, style: str = "", scripts: Sequence[str] = (), language: str = "en") -> str:
    """Render a whole HTML document that needs no network.

    Its Content-Security-Policy forbids every address, and every script except `scripts`, which are named by their hash.

    Args:
        title: The document's title.
        body: HTML of fragments; plain text is escaped.
        style: CSS after the shared stylesheet.
        scripts: JavaScript sources of Loom's own, inlined at the end of the body.
        language: BCP 47 tag of the page's language.
    """
    return fragment(
        "loomlib.presentation:page.html.j2", title=title, body=body, style=_own(stylesheet() + style),
        scripts=[_own(script) for script in scripts], policy=content_policy(scripts), language=language,
    )  # fmt: skip


def content_policy(scripts: Sequence[str] = ()) -> str:
    """Return the Content-Security-Policy of a page that loads nothing and runs only these inline scripts.

    Scripts are named by their SHA-256 (CSP Level 3, section 6.7.3).
    """
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    sources = " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def stylesheet() -> str:
    """Return the CSS that all displays share."""
    return files("loomlib.presentation").joinpath("templates", "loom.css").read_text("utf-8").strip()


def numeric_columns(rows: Sequence[Sequence[object]]) -> set[int]:
    """Return the indexes of columns with figures: numbers, or texts such as `318 ms [311–326]`."""
    width = max(map(len, rows), default=0)
    return {place for place in range(width) if _is_numeric([row[place] for row in rows if place < len(row)])}


def _is_numeric(values: Sequence[object]) -> bool:
    present = [value for value in values if value not in (None, "", formats.MISSING)]
    return bool(present) and all(
        isinstance(value, int | float) and not isinstance(value, bool)
        if not isinstance(value, str)
        else value.startswith(formats.TOO_SMALL) or (len(value) < 40 and value.lstrip("−+-~≥≤<>$ ")[:1].isdecimal())
        for value in present
    )


def _inserted(value: Any) -> Any:
    """Return a value as a template inserts it; texts in markup have already been converted."""
    return unbroken(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _own(source: str) -> Markup:
    """Mark one of Loom's own stylesheets or scripts as safe; they contain no untrusted text."""
    from markupsafe import Markup

    return Markup(source)  # noqa: S704 -- read from the package


def _source_of(template: str) -> str:
    package, _, name = template.partition(":")
    return files(package).joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True, loader=FunctionLoader(_source_of), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False, finalize=_inserted,
    )  # fmt: skip
    filters, names = cast("tuple[dict[str, Any], dict[str, Any]]", (environment.filters, environment.globals))
    filters.update({function.__name__: function for function in _FILTERS})
    names.update(numeric_columns=numeric_columns, stylesheet=lambda: _own(stylesheet()))
    return environment
