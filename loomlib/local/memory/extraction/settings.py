"""How extraction is done."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSettings:
    """How to extract: `extractor` is "offline" or "model"; `url` and `access_key` are the service's, for a model.

    `simulated` says that the model only plays one, which is then said of every record that it wrote.
    """

    delay_s: float = 1.0
    extractor: str = "offline"
    url: str = ""
    simulated: bool = False
    access_key: str = field(default="", repr=False)
