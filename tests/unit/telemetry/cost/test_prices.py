"""The price table: model ids in all their forms, and a user's own prices."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.errors import SettingsError
from loomlib.telemetry.cost import model_key, price_table


@pytest.mark.parametrize(
    ("model_id", "key"),
    [
        ("anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4"),
        ("global.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic.claude-3-sonnet-20240229-v1:0:200k", "claude-3-sonnet"),
        ("us.anthropic.claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("apac.amazon.nova-lite-v1:0", "nova-lite"),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0", "nova-pro"),
        (
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1",
            "claude-opus-4-6",
        ),
        ("loom.scripted@field-notes", "loom.scripted"),
        ("", ""),
    ],
)
def test_a_model_is_found_by_every_form_of_its_id(model_id: str, key: str) -> None:
    assert model_key(model_id) == key


def test_a_version_that_the_table_does_not_know_has_no_price() -> None:
    table = price_table()
    assert table.model("us.anthropic.claude-sonnet-4-20250514-v1:0") is not None
    assert table.model("us.anthropic.claude-sonnet-4-9-20300101-v1:0") is None
    assert table.model("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc") is None
    assert table.model(None) is None


@given(st.text())
def test_any_text_can_be_asked_for(text: str) -> None:
    price_table().model(text)


def test_every_shipped_price_is_dated_and_sourced_and_reading_the_cache_is_cheapest() -> None:
    table = price_table()
    assert table.runtime.cpu_per_vcpu_hour == Decimal("0.0895")
    assert table.runtime.memory_per_gb_hour == Decimal("0.00945")
    for price in table.models.values():
        assert price.source
        assert isinstance(price.as_of, date)
        assert price.prices["input"] < price.prices["output"]
        assert price.prices.get("cache_read", Decimal(0)) < price.prices["input"]
    assert {row["model"] for row in table.table()} == set(table.models)


def test_own_prices_take_the_place_of_the_shipped_ones(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(
        '[runtime]\ncpu_per_vcpu_hour = 0.05\n[[model]]\nids = ["us.anthropic.claude-sonnet-4-20250514-v1:0", "mine"]\n'
        "input = 1\noutput = 2.5\n"
    )
    for table in (price_table(own), price_table(home=tmp_path)):
        price = table.model("anthropic.claude-sonnet-4-20250514-v1:0")
        assert price is not None
        assert (price.prices["output"], price.source) == (Decimal("2.5"), str(own))
        assert table.model("mine") is price or table.model("mine") == price
        assert table.model("amazon.nova-lite-v1:0") is not None
        assert table.runtime.cpu_per_vcpu_hour == Decimal("0.05")
        assert table.runtime.memory_per_gb_hour == Decimal("0.00945")
    assert price_table(home=tmp_path / "nowhere").model("mine") is None


def test_prices_in_another_currency_stand_alone(tmp_path: Path) -> None:
    own = tmp_path / "euros.toml"
    own.write_text('currency = "EUR"\n[[model]]\nids = ["mine"]\ninput = 1\noutput = 2\n')
    table = price_table(own)
    assert table.currency == "EUR"
    assert set(table.models) == {"mine"}
    assert table.runtime.cpu_per_vcpu_hour is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not toml", "not TOML"),
        ("[[model]]\ninput = 1", "has no ids"),
        ('[[model]]\nids = ["m"]\ninput = -1', "Invalid price"),
        ('[[model]]\nids = ["m"]\ninput = "1"', "Invalid price"),
        ('[[model]]\nids = ["m"]\ninput = nan', "Invalid price"),
        ('[[model]]\nids = ["m"]\nprompt = 1', "Unknown keys: prompt"),
        ('[[model]]\nids = ["m"]\nup_to_prompt_tokens = 0', "whole number above 0"),
        ("model = 3", "array of tables"),
        ("model = [3]", "A table is expected"),
        ("[runtime]\ngpu = 1", "Unknown keys: gpu"),
        ("prices = 1", "Unknown keys: prices"),
    ],
)
def test_a_wrong_price_file_is_refused_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    price_file = tmp_path / "prices.toml"
    price_file.write_text(text)
    with pytest.raises(SettingsError, match=said) as caught:
        price_table(price_file)
    assert str(price_file) in str(caught.value)


def test_a_price_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        price_table(tmp_path / "missing.toml")


def test_every_service_that_runs_agents_has_dated_prices_with_a_region_and_a_source() -> None:
    table = price_table()
    for price in (table.runtime, table.functions, table.fargate, table.managed_agents):
        assert isinstance(price.as_of, date)
        assert price.region
        assert price.source
    assert table.functions.per_gb_second == Decimal("0.0000133334")
    assert table.fargate.per_vcpu_hour == Decimal("0.03238")
    assert table.managed_agents.per_session_hour == Decimal("0.08")


def test_a_single_price_of_another_service_can_be_replaced(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text("[lambda]\nper_gb_second = 0.00001\n[fargate]\nper_gb_hour = 0.001\n")
    table = price_table(own)
    assert table.functions.per_gb_second == Decimal("0.00001")
    assert table.functions.per_million_requests == Decimal("0.20")
    assert table.fargate.per_gb_hour == Decimal("0.001")
    own.write_text("[lambda]\nper_gb = 1\n")
    with pytest.raises(SettingsError, match="Unknown keys: per_gb"):
        price_table(own)
