"""Cost of invocations by a dated price table; an item without a known price or quantity stays unknown."""

from .amount import Amount
from .cost import Cost, CostLine, cost_of, cost_of_calls, is_unbilled
from .host_prices import FargatePrice, LambdaPrice, ManagedAgentPrice
from .prices import KINDS, ModelPrice, PriceTable, RuntimePrice, model_key, price_table
from .runtime_use import RuntimeUse
from .totals import CostTotal, cost_by, total_cost
from .usage import CallUsage, CountTokens, usage_of
from .usage_logs import UsageLogs, UsageRecord, usage_records, use_between

__all__ = [
    "KINDS",
    "Amount",
    "CallUsage",
    "Cost",
    "CostLine",
    "CostTotal",
    "CountTokens",
    "FargatePrice",
    "LambdaPrice",
    "ManagedAgentPrice",
    "ModelPrice",
    "PriceTable",
    "RuntimePrice",
    "RuntimeUse",
    "UsageLogs",
    "UsageRecord",
    "cost_by",
    "cost_of",
    "cost_of_calls",
    "is_unbilled",
    "model_key",
    "price_table",
    "total_cost",
    "usage_of",
    "usage_records",
    "use_between",
]
