"""Formats: one text for one value, whatever prints it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from loomlib.presentation import formats
from loomlib.presentation.formats import (
    cell,
    date_time,
    estimate,
    exact,
    interval,
    join,
    milliseconds,
    money,
    number,
    p_value,
    percent,
    plural,
    points,
    score,
    seconds,
    signed,
    size,
    time_limit,
    timestamp,
)  # fmt: skip
from loomlib.presentation.text import one_line

N = formats.NARROW_SPACE


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.4249, "0.42"), (6.08, "6.1"), (41.26, "41.3"), (318.4, "318"), (12_345.6, f"12{N}346"), (-3.2, "−3.2"),
     (0.0, "0"), (-0.0, "0"), (5.0, "5"), (-0.001, "−0.001"), (0.0004, "0.0004"), (0.0423, "0.042"), (0.9996, "1.0"),
     (99.96, "100"), (999.5, f"1{N}000"), (2.25, "2.3"), (1e-9, "1e−9"), (4.2e-5, "4.2e−5"), (1e6, f"1{N}000{N}000"),
     (1.25e20, "1.3e20"), (float("nan"), "–"), (None, "–"), (float("-inf"), "−∞")],
)  # fmt: skip
def test_a_number_has_sensible_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_decimals_can_be_fixed_to_align_a_column() -> None:
    assert [number(value, 2) for value in (0, 1.005, 12_345.678)] == ["0.00", "1.00", f"12{N}345.68"]


@pytest.mark.parametrize(
    ("ms", "text"),
    [(6.08, "6.1 ms"), (318, "318 ms"), (999.4, "999 ms"), (999.5, "1.00 s"), (2345.6, "2.35 s"), (2000, "2 s"),
     (9_996, "10.0 s"), (14_200, "14.2 s"), (59_960, "1 min 00 s"), (125_000, "2 min 05 s"), (4_320_000, "1 h 12 min"),
     (7_199_000, "2 h 00 min"), (3_629_600, "1 h 00 min"), (3_630_000, "1 h 01 min"),
     (0, "0 ms"), (-800, "−800 ms"), (None, "–")],
)  # fmt: skip
def test_a_duration_is_written_in_ms_then_s_then_min(ms: float | None, text: str) -> None:
    assert milliseconds(ms) == text


@pytest.mark.parametrize(
    ("s", "text"),
    [(0.41, "0.41 s"), (0.996, "1 s"), (14.2, "14 s"), (59.6, "1 min 00 s"), (125, "2 min 05 s"), (4320, "1 h 12 min")],
)
def test_elapsed_time_is_written_to_the_second(s: float, text: str) -> None:
    assert seconds(s) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (2.345, "2.345"), (12_345, f"12{N}345"), (0.1 + 0.2, "0.3"), (1e-6, "0.000001"), (1e-9, "1e−9"),
     (123_456_789_012_345, f"123{N}456{N}789{N}012{N}345"), (1e20, "1e20"), (-1, "−1"), (-0.0, "0"), (None, "–")],
)  # fmt: skip
def test_a_number_that_was_given_keeps_its_digits(value: float | None, text: str) -> None:
    assert exact(value) == text


@pytest.mark.parametrize(
    ("s", "text"), [(30, "30 s"), (2.5, "2.5 s"), (0.05, "0.05 s"), (59.7, "1 min 00 s"), (180.0, "3 min 00 s")]
)
def test_a_time_limit_keeps_its_digits(s: float, text: str) -> None:
    assert time_limit(s) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.935, "93.5 %"), (0.95, "95 %"), (0.044, "4.4 %"), (0.0004, "0.04 %"),
     (0.00001, "<0.01 %"), (0.9996, "99.96 %"), (0.99999, ">99.99 %"), (-0.31, "−31 %"), (12.5, f"1{N}250 %")],
)  # fmt: skip
def test_only_nothing_is_0_percent_and_only_everything_is_100_percent(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "$0.00"), (1234.5, f"$1{N}234.50"), (0.42, "$0.42"), (0.0423, "$0.042"), (0.000123, "$0.00012"),
     (1e-9, "<$0.000001"), (-2, "−$2.00")],
)  # fmt: skip
def test_money_below_ten_cents_has_two_significant_digits(value: float, text: str) -> None:
    assert money(value) == text


def test_money_of_another_currency_names_it() -> None:
    assert money(2, "EUR") == f"EUR{N}2.00"


def test_bytes_have_decimal_units() -> None:
    assert [size(count) for count in (512, 1200, 999_960, 4_900_000)] == ["512 B", "1.2 kB", "1.0 MB", "4.9 MB"]


def test_an_interval_has_the_scale_and_the_decimals_of_its_estimate() -> None:
    assert estimate(318.2, 311.4, 325.8, "ms") == "318 ms [311–326]"
    assert estimate(2345.6, 2311, 2402.2, "ms") == "2.35 s [2.31–2.40]"
    assert estimate(0.935, 0.88, 0.965, "share") == "93.5 % [88–96.5]"
    assert estimate(5.0, 4.1, 6) == "5.0 [4.1–6.0]"
    assert estimate(5, 4, 6) == "5 [4–6]"
    assert estimate(125_000, 118_000, 131_000, "ms") == "2 min 05 s [1 min 58 s to 2 min 11 s]"
    assert interval(-14.2, -4, of=-9.3) == "−14.2 to −4.0"
    assert interval(311, 326, "ms", of=318, open_above=True) == "311–≥326"
    assert interval(None, 3) == "–"


def test_differences_carry_their_sign() -> None:
    assert signed(2.5) == "+2.5"
    assert signed(-800, milliseconds) == "−800 ms"
    assert signed(0) == "0"
    assert [points(value) for value in (0.025, -0.01, 0)] == ["+2.5 points", "−1 point", "0 points"]


def test_scores_and_p_values_keep_the_digits_that_tell_them_apart() -> None:
    assert [score(value) for value in (0.9375, 1, 4.25)] == ["0.938", "1.000", "4.3"]
    assert [p_value(p) for p in (0.0004, 0.0123, 0.4, None)] == ["p < 0.001", "p = 0.012", "p = 0.40", "no p-value"]


def test_counts_and_names_read_as_english() -> None:
    assert [plural(count, "query") for count in (0, 1, 1234)] == ["0 queries", "1 query", f"1{N}234 queries"]
    assert plural(2, "day") == "2 days"
    assert plural(2, "index", "indices") == "2 indices"
    assert [join(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert join(["a", "b", "c", "d"], "or", most=2) == "a, b or 2 more"


def test_no_text_is_hidden_behind_white_space_without_an_ellipsis() -> None:
    assert one_line("\n" * 400 + "hello") == "hello"
    assert one_line("ok" + " " * 400 + "rm -rf /") == "ok…"
    assert one_line("ok" + " " * 200 + "rm -rf /") == "ok rm -rf /"
    assert one_line("a" * 81) == "a" * 79 + "…"
    assert one_line("a" * 80 + "\n") == "a" * 80


def test_times_are_shown_in_utc() -> None:
    moment = datetime(2026, 11, 5, 1, 30, 5, tzinfo=timezone(timedelta(hours=2)))
    assert date_time(moment) == "4 Nov 2026 23:30 UTC"
    assert timestamp(moment) == "2026-11-04 23:30:05 UTC"
    assert timestamp(datetime(2026, 11, 5, 1, 30)) == "2026-11-05 01:30:00"


def test_a_cell_formats_any_value() -> None:
    values = [None, "", float("nan"), 2345.6, 3, True, "text", ["a", 2], datetime(2026, 11, 5, tzinfo=UTC)]
    assert [cell(value) for value in values] == [
        "–", "–", "–", f"2{N}346", "3", "True", "text", "a, 2", "2026-11-05 00:00:00 UTC",
    ]  # fmt: skip
