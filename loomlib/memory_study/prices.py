"""List prices of a memory study: tokens of a named model, and the memory's retrievals."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any

from loomlib.errors import StudyError
from loomlib.statistics import Estimate, estimate_mean
from loomlib.telemetry.cost import PriceTable, price_table

from .measurements import AskedQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPrices:
    """List prices from the shipped, dated tables; `model` is empty when no model was named."""

    table: PriceTable
    model: str
    retrieval_usd: float
    source: str
    as_of: date | None

    @classmethod
    def read(cls, model: str, *, home: Path | None = None) -> StudyPrices:
        """Read the prices.

        Args:
            model: The model whose tokens are priced; empty for none.
            home: Loom's home folder, for the user's own prices.

        Raises:
            StudyError: The model's price is unknown.
        """
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

    def per_thousand(self, questions: Sequence[AskedQuestion]) -> Estimate:
        """Estimate the cost in dollars of a thousand such questions: tokens if a model is named, and retrievals."""
        priced = [
            (question, usd) for question in questions if question.is_done and (usd := self._usd(question)) is not None
        ]
        return estimate_mean([1000 * usd for _, usd in priced], [question.case for question, _ in priced], bounds=None)

    def _usd(self, question: AskedQuestion) -> float | None:
        usd = question.searches * self.retrieval_usd
        price = self.table.model(self.model or None)
        if price is None:
            return usd if not self.model else None
        if question.input_tokens is None:
            return None
        calls = max(1, question.model_calls or 1)
        kinds = (("input", question.input_tokens), ("output", question.output_tokens or 0))
        for kind, count in kinds:
            per_million = price.price(kind, question.input_tokens // calls)
            if per_million is None:
                return None
            usd += count * float(per_million) / 1e6
        return usd
