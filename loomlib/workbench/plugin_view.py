"""The plugins as a notebook shows them: a DataFrame, static HTML and text."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..plugins import PluginLine
from .cards import card

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("distribution", "version", "target", "status", "offers", "error", "fix")
_STATES = {"ok": "good", "partly broken": "wait", "broken": "bad"}


@dataclass(frozen=True, slots=True)
class PluginView:
    """What is plugged in: whose it is, what it offers, whether it works, and the mend where it does not."""

    lines: tuple[PluginLine, ...]

    @property
    def broken(self) -> tuple[PluginLine, ...]:
        """The plugins with a problem."""
        return tuple(line for line in self.lines if line.problems)

    def to_frame(self) -> pd.DataFrame:
        """One row a plugin; `offers` is a dict of kind → names."""
        from ..presentation.text_frame import TextFrame

        records = [line.record() for line in self.lines]
        return TextFrame([[each[name] for name in _COLUMNS] for each in records], columns=list(_COLUMNS))

    def __repr__(self) -> str:
        lines = [f"{each.distribution} {each.version} · {each.status} · {each.summary()}" for each in self.lines]
        for each in self.broken:
            lines += [f"broken: {each.target} of {each.distribution}: {each.error}", f"  fix: {each.fix}"]
        return "\n".join(_printable(line) for line in [self._title(), *lines])

    def _repr_html_(self) -> str:
        columns = ("plugin", "status", "offers", "error", "fix")
        head = "".join(f'<th scope="col">{name}</th>' for name in columns)
        body = "".join(
            f'<tr><th scope="row">{_safe(f"{each.distribution} {each.version}")}<br><code>{_safe(each.target)}</code>'
            f'</th><td><span class="loom-state loom-{_STATES[each.status]}">{each.status}</span></td>'
            f"<td>{_safe(each.summary())}</td><td>{_safe(each.error)}</td><td>{_safe(each.fix)}</td></tr>"
            for each in self.lines
        )
        style = 'style="text-align:left;vertical-align:top"'
        return str(card(self._title())).removesuffix("</div>") + f"<table {style}><tr>{head}</tr>{body}</table></div>"

    def _title(self) -> str:
        several = "plugin" if len(self.lines) == 1 else "plugins"
        return f"{len(self.lines)} {several}, {len(self.broken) or 'none'} broken"


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _safe(text: str) -> str:
    return html.escape(_printable(text), quote=True)
