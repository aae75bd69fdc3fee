"""Redaction of secrets and personal data in the files of a report.

Known values (the credentials in the environment and the local service's keys) and texts in the form of a secret
(`loomlib.redaction.KNOWN_FORMS`) are removed wherever they appear. Passwords in words and personal data are removed
from outputs, parameters and messages, unless the caller keeps them. Random-looking text is kept, as ids look like that.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

from loomlib import redaction

REDACTED = "[redacted]"
_PASSWORD_OF_ADDRESS = re.compile(r"://[^\s/:@\[]*:(?![0-9]{1,5}[/?#])([^\s@]+)@")  # RFC 3986; SQLAlchemy allows "/"
_SECRET_NAME = re.compile(
    r"secret|token|passw|passphrase|credentials?$|(?:api|access|private|account|shared|signing|encryption)_?key|"
    r"(?<!^)(?<!^old)pwd",  # PWD and OLDPWD are folders of the shell
    re.I,
)


class ReportRedactor:
    """Replaces secrets in texts, dictionaries and lists.

    Args:
        secrets: Secrets by their values, which are also replaced where HTML escapes them.
        personal: Whether passwords in words and personal data are replaced, too.
    """

    def __init__(self, secrets: Iterable[str] = (), *, personal: bool = False) -> None:
        rules = redaction.READABLE_RULES if personal else redaction.KNOWN_FORMS
        known = {form for value in secrets for form in (value, html.escape(value), html.escape(value, quote=False))}
        self._redactor = redaction.Redactor(rules, known=known, placeholder=REDACTED)

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        return self._redactor.redact(text).text

    def value(self, value: Any) -> Any:
        """Return a copy of `value` whose strings, keys included, contain no secrets."""
        return self._redactor.value(value)


def secrets_in(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables whose names mark them as secret, and the passwords of addresses.

    Such an address is that of a database. A password is yielded as in the address, and also percent-decoded, as
    programs show it.
    """
    for name, value in environment.items():
        if value and _SECRET_NAME.search(name):
            yield value
        for match in _PASSWORD_OF_ADDRESS.finditer(value):
            yield from {match[1], unquote(match[1])}


def secrets_of_home(home: Path) -> Iterator[str]:
    """Return the keys of a home folder's local AgentCore; empty when there is none."""
    try:
        state = json.loads((home / "service.json").read_text("utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(state, dict):
        pairs = cast("dict[str, object]", state)
        yield from secrets_in({name: str(value) for name, value in pairs.items()})
