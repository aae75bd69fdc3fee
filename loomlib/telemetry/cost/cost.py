"""The cost of an invocation, line by line: quantity, price, the source of the price, and why something is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

from ..traces import Trace
from .amount import Amount, amount_of, total
from .prices import KINDS, PriceTable, price_table
from .runtime_use import RuntimeUse
from .usage import CallUsage, CountTokens, usage_of

_MTOK = 1_000_000
_HOUR_S = 3600
_TOKENS = {kind: f"{kind.replace('_', '-')} tokens" for kind in KINDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """One item of a cost.

    Attributes:
        item: What was used, such as `input tokens` or `runtime CPU`.
        model: The model id, for tokens.
        quantity: How much was used; None when unknown.
        unit: The unit of the quantity.
        price: The price of one `per`; None when unknown.
        per: What the price is for, such as `MTok` or `vCPU-hour`.
        amount: The cost.
        source: Source of the price.
        as_of: The date of the price.
        why: Why something is unknown or estimated, or where the quantity comes from.
        span_ids: The spans it was computed from.
    """

    item: str
    model: str | None = None
    quantity: Decimal | None
    unit: str
    price: Decimal | None
    per: str
    amount: Amount
    source: str = ""
    as_of: date | None = None
    why: str = ""
    span_ids: tuple[str, ...] = field(default=(), repr=False)

    def row(self) -> dict[str, Any]:
        """Return the line as one row of a table."""
        return {
            "item": self.item,
            "model": self.model,
            "quantity": None if self.quantity is None else float(self.quantity),
            "unit": self.unit,
            "price": None if self.price is None else float(self.price),
            "per": self.per,
            "amount": self.amount.value,
            "state": self.amount.state,
            "estimated": self.amount.is_estimate,
            "why": self.why,
            "source": self.source,
            "as_of": self.as_of,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of one invocation.

    Attributes:
        lines: Its items.
        currency: ISO 4217 code.
        is_simulated: Whether a model on this machine generated the tokens, so they are not billed.
        trace_id: The trace it was computed from.
    """

    lines: tuple[CostLine, ...]
    currency: str = "USD"
    is_simulated: bool = False
    trace_id: str = ""

    @property
    def total(self) -> Amount:
        """The sum of all items."""
        return total((line.amount for line in self.lines), currency=self.currency)

    @property
    def model(self) -> Amount:
        """The cost of tokens."""
        return total((line.amount for line in self.lines if line.unit == "tokens"), currency=self.currency)

    @property
    def runtime(self) -> Amount:
        """The cost of CPU and memory."""
        return total((line.amount for line in self.lines if line.unit != "tokens"), currency=self.currency)

    def tokens(self, kind: str) -> int:
        """Return the known tokens of one of `KINDS`."""
        return sum(int(line.quantity or 0) for line in self.lines if line.item == _TOKENS[kind])

    def table(self) -> list[dict[str, Any]]:
        """Return one row per item, ready for a DataFrame."""
        return [line.row() for line in self.lines]


def cost_of(
    trace: Trace,
    *,
    prices: PriceTable | None = None,
    runtime: RuntimeUse | None = None,
    count_tokens: CountTokens | None = None,
    is_simulated: bool = False,
    priced_as: str | None = None,
) -> Cost:
    """Compute the cost of an invocation from its trace.

    Args:
        trace: The invocation's trace.
        prices: The price table; the shipped one by default.
        runtime: CPU and memory it used; None when unknown.
        count_tokens: Counts the tokens of model calls whose spans state no usage.
        is_simulated: Whether a model on this machine generated the tokens (`is_unbilled`).
        priced_as: Price every model call as this model, for a "what if"; such amounts are estimates.

    Examples:
        >>> cost_of(trace, runtime=RuntimeUse.during(4.6, active_vcpus=1.0, memory_gb=0.128)).total
    """
    table = _shipped() if prices is None else prices
    usage = usage_of(trace, count_tokens=count_tokens)
    estimated = is_simulated or priced_as is not None
    lines = [*_token_lines(usage, table, priced_as, estimated), *_runtime_lines(runtime, table)]
    return Cost(lines=tuple(lines), currency=table.currency, is_simulated=is_simulated, trace_id=trace.trace_id)


def cost_of_calls(calls: Iterable[CallUsage], *, prices: PriceTable | None = None, is_simulated: bool = False) -> Cost:
    """Compute the cost of model calls only, for example for an agent without a billed runtime of its own.

    Args:
        calls: The tokens of the calls.
        prices: The price table; the shipped one by default.
        is_simulated: Whether a model on this machine generated the tokens (`is_unbilled`).
    """
    table = _shipped() if prices is None else prices
    lines = tuple(_token_lines(calls, table, None, is_simulated))
    return Cost(lines=lines, currency=table.currency, is_simulated=is_simulated)


def is_unbilled(labels: Iterable[str]) -> bool:
    """Return whether nothing is billed for a call: its model was simulated, or is the local AgentCore's small model.

    Args:
        labels: The call's provenance labels.
    """
    return any("simulated" in label or label.startswith("model: tiny") for label in labels)


@cache
def _shipped() -> PriceTable:
    return price_table()


def _token_lines(
    usage: Iterable[CallUsage], table: PriceTable, priced_as: str | None, estimated: bool
) -> Iterable[CostLine]:
    groups: dict[tuple[Any, ...], list[tuple[CallUsage, int]]] = {}
    for call in usage:
        for kind in KINDS:
            tokens = _tokens(call, kind)
            if tokens == 0 or call.state == "not_billed":
                continue
            model = priced_as or call.model
            entry = table.model(model)
            price = None if entry is None else entry.price(kind, call.prompt_tokens)
            counted = call.state == "counted"
            why = _why(call, kind, model, entry is not None, price, tokens)
            groups.setdefault((model, kind, price, counted, why, tokens is None), []).append((call, tokens or 0))
    for (model, kind, price, counted, why, is_unknown), calls in groups.items():
        entry = table.model(model)
        quantity = None if is_unknown else Decimal(sum(tokens for _, tokens in calls))
        is_estimate = estimated or counted
        yield CostLine(
            item=_TOKENS[kind],
            model=model,
            quantity=quantity,
            unit="tokens",
            price=price,
            per="MTok",
            amount=Amount(unknown=len(calls), is_estimate=is_estimate, currency=table.currency)
            if price is None or quantity is None
            else amount_of(quantity, price, per=_MTOK, is_estimate=is_estimate, currency=table.currency),
            source="" if entry is None else entry.source,
            as_of=None if entry is None else entry.as_of,
            why=why,
            span_ids=tuple(call.span_id for call, _ in calls),
        )


def _tokens(call: CallUsage, kind: str) -> int | None:
    counts = {
        "input": call.input_tokens,
        "output": call.output_tokens,
        "cache_read": call.cache_read_tokens,
        "cache_write": call.cache_write_tokens,
    }
    return counts[kind]


def _why(
    call: CallUsage, kind: str, model: str | None, has_entry: bool, price: Decimal | None, tokens: int | None
) -> str:
    if tokens is None:
        return call.why
    if model is None:
        return "no span states the model"
    if not has_entry:
        return "the price table does not have this model"
    if price is None:
        return f"no {kind.replace('_', '-')} price for a prompt of this length"
    return call.why


def _runtime_lines(use: RuntimeUse | None, table: PriceTable) -> Iterable[CostLine]:
    price = table.runtime
    use = use or RuntimeUse(basis="CPU and memory of the runtime were not measured")
    items = (
        ("runtime CPU", use.vcpu_s, "vCPU-s", price.cpu_per_vcpu_hour, "vCPU-hour"),
        ("runtime memory", use.memory_gb_s, "GB-s", price.memory_per_gb_hour, "GB-hour"),
    )
    for item, quantity, unit, rate, per in items:
        yield CostLine(
            item=item,
            quantity=quantity,
            unit=unit,
            price=rate,
            per=per,
            amount=Amount(unknown=1, is_estimate=use.is_estimate, currency=table.currency)
            if quantity is None or rate is None
            else amount_of(quantity, rate, per=_HOUR_S, is_estimate=use.is_estimate, currency=table.currency),
            source=price.source,
            as_of=price.as_of,
            why=use.basis,
        )
