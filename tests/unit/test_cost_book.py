"""What a cost report concludes when not all invocations are counted, or when its prices are not in dollars."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from loomlib.reports import CostBook
from loomlib.reports.cost_rows import CostEntry
from loomlib.telemetry.cost import CallUsage, cost_of_calls, price_table

DAY = date(2026, 11, 28)


def book(folder: Path, *, currency: str = "USD", cut: tuple[str, ...] = ()) -> CostBook:
    """Return a book with one invocation of "assistant" that cost 10 of a currency."""
    prices = folder / "prices.toml"
    prices.write_text(f'currency = "{currency}"\n[[model]]\nids = ["mine"]\ninput = 10\n')
    usage = CallUsage(span_id="1", model="mine", input_tokens=1_000_000, output_tokens=0)
    cost = cost_of_calls([usage], prices=price_table(prices))
    entry = CostEntry(agent="assistant", day=DAY, cost=cost, simulated=False)
    return CostBook(entries=[entry], since=DAY, until=DAY, labels=(), cut=cut)


@pytest.mark.parametrize(("limit", "outcome"), [(12, "unclear"), (9, "missed")])
def test_a_gate_on_the_cost_of_only_the_newest_invocations_is_not_passed(
    tmp_path: Path, limit: float, outcome: str
) -> None:
    truncated = book(tmp_path, cut=("assistant",))
    verdict = truncated.verdict(max_usd_per_day=limit)
    ((result, sentence),) = verdict.gates
    assert result == outcome
    assert "$10.00 on 28 Nov 2026, without the older invocations of assistant" in sentence
    assert any("only the newest 1\u202f000 invocations of assistant are counted" in text for text in verdict.sentences)
    assert verdict.summary["cut"] == ["assistant"]
    assert book(tmp_path).verdict(max_usd_per_day=12).gates[0][0] == "passed"


def test_a_cost_in_another_currency_is_shown_in_it_and_not_compared_with_dollars(tmp_path: Path) -> None:
    euros = book(tmp_path, currency="EUR")
    ((result, sentence),) = euros.verdict(max_usd_per_day=9).gates
    assert result == "unclear"
    assert "EUR\u202f10.00 on 28 Nov 2026, which cannot be compared with a limit in USD" in sentence
    assert euros.models()["price"].tolist() == ["EUR\u202f10.00 per MTok"]
    axis = euros.figure().layout.yaxis
    assert (axis.title.text, axis.tickprefix) == ("EUR", "")
