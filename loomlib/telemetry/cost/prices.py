"""The price table: dated list prices, overridden by the user's own prices."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any, cast

from loomlib.errors import SettingsError
from loomlib.toml_files import read_toml

from .host_prices import HOSTS, NOT_PRICES, FargatePrice, LambdaPrice, ManagedAgentPrice

FILE = "prices.toml"
KINDS = ("input", "output", "cache_read", "cache_write")
_REGION = re.compile(r"^(?:us-gov|us|eu|apac|ap|jp|au|ca|sa|me|global)\.")
_VENDOR = re.compile(r"^(?:anthropic|amazon)\.")
_VERSION = re.compile(r"(?:[-@]\d{8})?(?:-latest)?(?:-v\d+)?(?::\d+k?)*(?:@[\w-]+)?$")
_MODEL_KEYS = {"ids", *KINDS, "up_to_prompt_tokens", "long", "source", "as_of"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """The price of a model for a million tokens of each kind; a missing kind has no known price.

    Attributes:
        ids: The model's keys (`model_key`).
        prices: The price by kind, one of `KINDS`.
        up_to_prompt_tokens: The longest prompt that `prices` is for; None for any.
        long: The prices for longer prompts.
        source: Source of the prices.
        as_of: Date of the prices.
    """

    ids: tuple[str, ...]
    prices: Mapping[str, Decimal]
    up_to_prompt_tokens: int | None = None
    long: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal])
    source: str = ""
    as_of: date | None = None

    def price(self, kind: str, prompt_tokens: int) -> Decimal | None:
        """Return the price of a million tokens; None when unknown.

        Args:
            kind: One of `KINDS`.
            prompt_tokens: The length of the call's prompt.
        """
        within = self.up_to_prompt_tokens is None or prompt_tokens <= self.up_to_prompt_tokens
        return (self.prices if within else self.long).get(kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimePrice:
    """Prices of AgentCore Runtime; None where unknown.

    Attributes:
        cpu_per_vcpu_hour: The price of a vCPU-hour.
        memory_per_gb_hour: The price of a GB-hour.
        minimum_memory_gb: The minimum memory that is billed.
        region: The AWS region.
        source: Source of the prices.
        as_of: Date of the prices.
    """

    cpu_per_vcpu_hour: Decimal | None = None
    memory_per_gb_hour: Decimal | None = None
    minimum_memory_gb: Decimal = Decimal(0)
    region: str = ""
    source: str = ""
    as_of: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """Prices of models, of the runtime and of other services that run agents; returned by `price_table`.

    Attributes:
        models: The models by key (`model_key`).
        runtime: The runtime's prices.
        currency: ISO 4217 code.
        functions: Lambda's prices.
        fargate: Fargate's prices.
        managed_agents: The price of managed agents.
    """

    models: Mapping[str, ModelPrice]
    runtime: RuntimePrice
    currency: str = "USD"
    functions: LambdaPrice = field(default_factory=LambdaPrice)
    fargate: FargatePrice = field(default_factory=FargatePrice)
    managed_agents: ManagedAgentPrice = field(default_factory=ManagedAgentPrice)

    def model(self, model_id: str | None) -> ModelPrice | None:
        """Return the price of a model by its id, inference profile or ARN; None where the table has none."""
        return None if model_id is None else self.models.get(model_key(model_id))

    def table(self) -> list[dict[str, Any]]:
        """Return one row per model, ready for a DataFrame; prices for a million tokens."""
        return [
            {"model": key, **{kind: _float(price.prices.get(kind)) for kind in KINDS}}
            | {"source": price.source, "as_of": price.as_of}
            for key, price in sorted(self.models.items())
        ]


def model_key(model_id: str) -> str:
    """Return a model id without ARN, region, vendor, date and version.

    Examples:
        >>> model_key("us.anthropic.claude-sonnet-4-20250514-v1:0")
        'claude-sonnet-4'
    """
    name = model_id.strip().lower()
    if name.startswith("arn:"):
        if "application-inference-profile/" in name:
            return name  # does not contain the model; the user's own prices may list it
        name = name.rpartition("/")[2]
    name = _VENDOR.sub("", _REGION.sub("", name))
    return _VERSION.sub("", name) or name


def price_table(
    overrides: str | os.PathLike[str] | None = None, *, home: str | os.PathLike[str] | None = None
) -> PriceTable:
    """Load the shipped prices, with the user's own on top.

    Args:
        overrides: A file in the form of the shipped one.
        home: Loom's home folder; without `overrides`, its `prices.toml` is read if it exists.

    Raises:
        SettingsError: The file cannot be read or has an invalid format.
    """
    text = resources.files("loomlib.telemetry.cost").joinpath(FILE).read_text("utf-8")
    shipped = _parse(tomllib.loads(text, parse_float=Decimal), FILE)
    path = Path(overrides) if overrides is not None else None
    if path is None and home is not None and (Path(home) / FILE).is_file():
        path = Path(home) / FILE
    if path is None:
        return _table(shipped)
    own = _parse(read_toml(path, "price file", parse_float=Decimal), str(path))
    return _table(shipped, own)


_SERVICES = {"runtime": RuntimePrice, **HOSTS}


@dataclass(frozen=True, slots=True)
class _File:
    models: list[ModelPrice]
    services: Mapping[str, Mapping[str, Any]]
    currency: str | None


def _table(*files: _File) -> PriceTable:
    models: dict[str, ModelPrice] = {}
    services: dict[str, dict[str, Any]] = {name: {} for name in _SERVICES}
    currency = "USD"
    if len({file.currency for file in files if file.currency}) > 1:
        # Prices in another currency cannot be added to the shipped ones, so these are left out.
        files = files[-1:]
    for file in files:
        models |= {id: price for price in file.models for id in price.ids}
        for name, prices in file.services.items():
            services[name] |= prices
        currency = file.currency or currency
    return PriceTable(
        models=models,
        runtime=RuntimePrice(**services["runtime"]),
        currency=currency,
        functions=LambdaPrice(**services["lambda"]),
        fargate=FargatePrice(**services["fargate"]),
        managed_agents=ManagedAgentPrice(**services["managed_agents"]),
    )


def _parse(document: Mapping[str, Any], where: str) -> _File:
    _check_keys(document, {"currency", "model", *_SERVICES}, where)
    services = {name: _service(document.get(name, {}), name, where) for name in _SERVICES}
    entries: object = document.get("model", [])
    if not isinstance(entries, list):
        raise SettingsError("model must be an array of tables", on=where, try_="[[model]]")
    currency: object = document.get("currency")
    return _File(
        [_model(_mapping(entry, where), where) for entry in cast("list[object]", entries)],
        services,
        None if currency is None else str(currency),
    )


def _service(document: object, name: str, where: str) -> Mapping[str, Any]:
    table = _mapping(document, f"{name} in {where}")
    _check_keys(table, (field.name for field in fields(_SERVICES[name])), f"{name} in {where}")
    return {
        key: value if key in NOT_PRICES else _price(value, f"{name}.{key} in {where}") for key, value in table.items()
    }


def _model(entry: Mapping[str, Any], where: str) -> ModelPrice:
    _check_keys(entry, _MODEL_KEYS, where)
    ids: object = entry.get("ids")
    if not isinstance(ids, list) or not ids:
        raise SettingsError("A model has no ids", on=where, try_='ids = ["claude-sonnet-4"]')
    keys = tuple(model_key(str(id)) for id in cast("list[object]", ids))
    long = _mapping(entry.get("long", {}), f"long of {keys[0]} in {where}")
    _check_keys(long, KINDS, f"long of {keys[0]} in {where}")
    limit: object = entry.get("up_to_prompt_tokens")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise SettingsError(
            "up_to_prompt_tokens must be a whole number above 0", on=f"{keys[0]} in {where}", try_="200000"
        )
    as_of: object = entry.get("as_of")
    return ModelPrice(
        ids=keys,
        prices={kind: _price(entry[kind], f"{kind} of {keys[0]} in {where}") for kind in KINDS if kind in entry},
        up_to_prompt_tokens=limit,
        long={kind: _price(value, f"{kind} of {keys[0]} in {where}") for kind, value in long.items()},
        source=str(entry.get("source", where)),
        as_of=as_of if isinstance(as_of, date) else None,
    )


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError("A table is expected here", on=where, try_="[name], or name = {…}")
    return cast("dict[str, Any]", value)


def _price(value: object, where: str) -> Decimal:
    price = Decimal("NaN")
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        price = Decimal(value)
    if not price.is_finite() or not 0 <= price < Decimal("1e9"):
        raise SettingsError("Invalid price", on=f"{value!r}: {where}", try_="a number of at least 0")
    return price


def _check_keys(document: Mapping[str, Any], allowed_keys: Iterable[str], where: str) -> None:
    allowed = sorted(allowed_keys)
    if unknown := sorted(set(document) - set(allowed)):
        raise SettingsError(f"Unknown keys: {', '.join(unknown)}", on=where, try_=", ".join(allowed))


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
