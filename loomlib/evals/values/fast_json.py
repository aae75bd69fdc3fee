"""ASCII JSON for many small values: one encoder is constructed once instead of once per value."""

from __future__ import annotations

import json
from collections.abc import Callable
from json import encoder
from typing import Any, Final, cast

_make: Final[Callable[..., Callable[[object, int], tuple[str, ...]]] | None] = getattr(encoder, "c_make_encoder", None)
"""What `json.JSONEncoder.encode` uses (CPython only); constructing one takes longer than encoding a case."""


def ascii_encoder(default: Callable[[Any], Any], *, sort_keys: bool = False) -> Callable[[object], str]:
    """Return a function equal to `json.dumps(…, sort_keys=…, separators=(",", ":"), default=default)`.

    Args:
        default: Converts a value that JSON cannot represent.
        sort_keys: Whether to sort keys.
    """
    usual = json.JSONEncoder(sort_keys=sort_keys, separators=(",", ":"), default=default).encode
    if _make is None:
        return usual
    escaped = cast("Any", encoder).encode_basestring_ascii
    # Without markers, so a value that contains itself raises RecursionError.
    quick = _make(None, default, escaped, None, ":", ",", sort_keys, False, True)
    join = "".join

    def encode(value: object) -> str:
        try:
            return join(quick(value, 0))
        except RecursionError:
            return usual(value)

    return encode
