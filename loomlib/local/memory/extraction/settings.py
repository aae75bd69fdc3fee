"""How extraction is done."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSettings:
    """How to extract: `extractor` is "offline" or "model"; `url` and `access_key` are the service's, for a model."""

    delay_s: float = 1.0
    extractor: str = "offline"
    url: str = ""
    access_key: str = field(default="", repr=False)
