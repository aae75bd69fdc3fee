"""TOML files that people write: settings, prices, rules. A file is either read, or rejected with one kind of error."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from .errors import SettingsError

_LARGEST_BYTES: Final = 1_000_000
_MOST_DOTS: Final = 200
"""Dots in a line: reading a dotted key takes time in the square of its parts (100,000 parts take minutes)."""


def read_toml(file: Path, what: str, *, try_: str = "", parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        file: The file.
        what: The kind of file, such as "settings file", for messages.
        try_: What to try if it cannot be opened.
        parse_float: Converts a text with a decimal point to a number.

    Raises:
        SettingsError: It cannot be opened, is not TOML, or is too large or nested too deeply.
    """
    correct = "correct that place, or move the file away"
    try:
        with file.open("rb") as content:
            data = content.read(_LARGEST_BYTES + 1)
        if len(data) > _LARGEST_BYTES:
            raise SettingsError(f"The {what} is larger than 1 MB", on=str(file), try_="a file of tables and numbers")
        text = data.decode("utf-8")
        if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
            raise SettingsError(f"The {what} has a line with more than {_MOST_DOTS} dots", on=str(file), try_=correct)
        return tomllib.loads(text, parse_float=parse_float)
    except OSError as error:
        raise SettingsError(
            f"The {what} cannot be read: {error.strerror}",
            on=str(file),
            try_=try_ or "check its owner and mode, or name another file",
        ) from error
    except (ValueError, ArithmeticError) as error:  # not UTF-8, not TOML, or with an invalid number
        raise SettingsError(f"The {what} is not TOML: {error}", on=str(file), try_=correct) from error
    except RecursionError as error:
        raise SettingsError(f"The {what} is nested too deeply", on=str(file), try_=correct) from error
