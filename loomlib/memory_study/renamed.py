"""The old name of `MemoryStudy`, which works for one release."""

from __future__ import annotations

from typing import Any

from loomlib.deprecation import warn_renamed

from .study import MemoryStudy


class RecallStudy(MemoryStudy):
    """Deprecated name of `MemoryStudy`. Its argument `lives` is `conversations` now."""

    def __init__(self, bench: Any, **options: Any) -> None:
        warn_renamed("RecallStudy", "MemoryStudy")
        if "lives" in options:
            options["conversations"] = options.pop("lives")
        super().__init__(bench, **options)
