"""Monthly cost of a deployment at list prices, with each assumption stated."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from decimal import Decimal
from importlib import resources
from typing import Any, Final

from ..presentation.formats import exact, number, plural, seconds, size
from ..telemetry.cost import Amount, ModelPrice, PriceTable
from ..telemetry.cost.amount import amount_of, total

_DEFAULT_IDLE_S: Final = 900
_MTOK: Final = 1_000_000
_GB: Final = Decimal(10) ** 9


@dataclass(frozen=True, slots=True, kw_only=True)
class UseAssumptions:
    """Assumptions about an agent's use, which is unknown before it runs; change them as needed.

    Attributes:
        sessions_per_month: Sessions in a month.
        active_s: Seconds of a session from its start to its last answer.
        cpu_s: Seconds within `active_s` in which one vCPU is busy; waiting for a model is not billed.
        memory_gb: A session's peak memory, in GB.
        input_tokens: Number of input tokens per session and model.
        output_tokens: Number of output tokens per session and model.
    """

    sessions_per_month: int = 1_000
    active_s: float = 60.0
    cpu_s: float = 6.0
    memory_gb: float = 0.5
    input_tokens: int = 5_000
    output_tokens: int = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CostItem:
    """One item of an estimate.

    Attributes:
        what: The billed item.
        amount: Its cost per month; unknown without a price.
        assumption: The quantity, and how it was derived.
        source: The source of the price.
        as_of: The date of the price.
    """

    what: str
    amount: Amount
    assumption: str
    source: str = ""
    as_of: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """Monthly cost of a deployment on AWS.

    Attributes:
        items: The items.
        assumptions: How the agent is assumed to be used.
    """

    items: tuple[CostItem, ...] = ()
    assumptions: UseAssumptions = field(default_factory=UseAssumptions)

    @property
    def total(self) -> Amount:
        """The sum of the items."""
        currency = self.items[0].amount.currency if self.items else "USD"
        return total((item.amount for item in self.items), currency=currency)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON-ready values; amounts as strings, None if unknown."""
        return {
            "per": "month",
            "total": _amount(self.total),
            "currency": self.total.currency,
            "assumptions": asdict(self.assumptions),
            "items": [
                {
                    "what": item.what,
                    "amount": _amount(item.amount),
                    "assumption": item.assumption,
                    "source": item.source,
                    "as_of": item.as_of.isoformat() if item.as_of else None,
                }
                for item in self.items
            ],
        }


def estimate_cost(
    prices: PriceTable,
    *,
    models: Sequence[str] = (),
    idle_timeout_s: int | None = None,
    package_bytes: int = 0,
    assumptions: UseAssumptions | None = None,
) -> CostEstimate:
    """Estimate the monthly cost of a deployment.

    Args:
        prices: The price table.
        models: Ids of the models that the agent calls.
        idle_timeout_s: Seconds after which an idle session ends; until then its memory is billed.
        package_bytes: Size of the package in S3.
        assumptions: How the agent is used.
    """
    use = assumptions or UseAssumptions()
    items = [*_runtime_items(prices, use, idle_timeout_s or _DEFAULT_IDLE_S)]
    items += [_model_item(prices, use, model) for model in dict.fromkeys(models)]
    if package_bytes:
        items.append(_storage_item(prices, package_bytes))
    return CostEstimate(items=tuple(items), assumptions=use)


def _runtime_items(prices: PriceTable, use: UseAssumptions, idle_s: int) -> Sequence[CostItem]:
    price, currency = prices.runtime, prices.currency
    cpu_hours = Decimal(str(use.cpu_s)) * use.sessions_per_month / 3600
    billed_gb = max(Decimal(str(use.memory_gb)), price.minimum_memory_gb)
    memory_s = Decimal(str(use.active_s)) + idle_s
    gb_hours = billed_gb * memory_s * use.sessions_per_month / 3600
    sessions = plural(use.sessions_per_month, "session")
    return (
        CostItem(
            what="AgentCore Runtime, CPU",
            amount=_of(cpu_hours, price.cpu_per_vcpu_hour, 1, currency),
            assumption=f"{sessions} a month, each keeping one vCPU busy for {seconds(use.cpu_s)}",
            source=price.source,
            as_of=price.as_of,
        ),
        CostItem(
            what="AgentCore Runtime, memory",
            amount=_of(gb_hours, price.memory_per_gb_hour, 1, currency),
            assumption=(
                f"{sessions} a month, each with {exact(float(billed_gb))} GB for {seconds(use.active_s)} of work and "
                f"{number(idle_s)} s until the idle timeout ends it"
            ),
            source=price.source,
            as_of=price.as_of,
        ),
    )


def _model_item(prices: PriceTable, use: UseAssumptions, model: str) -> CostItem:
    price = prices.model(model)
    input_tokens, output_tokens = use.input_tokens * use.sessions_per_month, use.output_tokens * use.sessions_per_month
    amount = total(
        (
            _of(Decimal(input_tokens), _token_price(price, "input", use), _MTOK, prices.currency),
            _of(Decimal(output_tokens), _token_price(price, "output", use), _MTOK, prices.currency),
        ),
        currency=prices.currency,
    )
    return CostItem(
        what=f"model {model}",
        amount=amount,
        assumption=(
            f"{plural(use.sessions_per_month, 'session')} a month, each with {number(use.input_tokens)} input and "
            f"{number(use.output_tokens)} output tokens"
        ),
        source=price.source if price else "no price is known",
        as_of=price.as_of if price else None,
    )


def _token_price(price: ModelPrice | None, kind: str, use: UseAssumptions) -> Decimal | None:
    return price.price(kind, use.input_tokens) if price else None


def _storage_item(prices: PriceTable, count: int) -> CostItem:
    text = resources.files("loomlib.deploy").joinpath("storage_prices.toml").read_text("utf-8")
    s3: dict[str, Any] = tomllib.loads(text, parse_float=Decimal)["s3"]
    price = s3["per_gb_month"] if prices.currency == "USD" else None
    return CostItem(
        what="S3, the package",
        amount=_of(Decimal(count) / _GB, price, 1, prices.currency),
        assumption=f"{size(count)}, one version; packages of earlier versions are kept, at the same cost each",
        source=s3["source"],
        as_of=s3["as_of"],
    )


def _of(quantity: Decimal, price: Decimal | None, per: int, currency: str) -> Amount:
    if price is None:
        return Amount(known=Decimal(0), unknown=1, is_estimate=True, currency=currency)
    return amount_of(quantity, price, per=per, is_estimate=True, currency=currency)


def _amount(amount: Amount) -> str | None:
    return None if amount.state == "unknown" else str(amount.known.quantize(Decimal("0.000001")))
