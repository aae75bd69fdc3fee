"""What a thousand questions cost at list prices: tokens of a named model, and the memory's retrievals."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loomlib.errors import StudyError
from loomlib.statistics import Estimate, estimate_mean
from loomlib.telemetry.cost import price_table

from .measurements import Asked

if TYPE_CHECKING:
    from loomlib.telemetry.cost import PriceTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """List prices as the shipped, dated tables have them; `model` is None when no model was named."""

    table: PriceTable
    model: str
    retrieval_usd: float
    source: str
    as_of: date | None

    @classmethod
    def read(cls, model: str, *, home: Path | None = None) -> Prices:
        """Raises `StudyError` for a model whose price is unknown."""
        table = price_table(home=home)
        if model and table.model(model) is None:
            raise StudyError("No price is known for the model", on=model, try_="prices.toml in Loom's home folder")
        text = resources.files("loomlib.memory.health").joinpath("prices.toml").read_text("utf-8")
        shipped: dict[str, Any] = tomllib.loads(text)
        return cls(
            table=table,
            model=model,
            retrieval_usd=float(shipped["retrievals_per_1000"]) / 1000,
            source=str(shipped.get("source", "")),
            as_of=shipped.get("as_of"),
        )

    def per_thousand(self, asked: Sequence[Asked]) -> Estimate:
        """Dollars for a thousand questions like these: tokens where a model is named, and retrievals."""
        found = [(each, usd) for each in asked if each.is_done and (usd := self._usd(each)) is not None]
        return estimate_mean([1000 * usd for _, usd in found], [each.case for each, _ in found], bounds=None)

    def _usd(self, each: Asked) -> float | None:
        usd = each.searches * self.retrieval_usd
        price = self.table.model(self.model or None)
        if price is None:
            return usd if not self.model else None
        if each.input_tokens is None:
            return None
        calls = max(1, each.model_calls or 1)
        kinds = (("input", each.input_tokens), ("output", each.output_tokens or 0))
        for kind, count in kinds:
            per_million = price.price(kind, each.input_tokens // calls)
            if per_million is None:
                return None
            usd += count * float(per_million) / 1e6
        return usd
