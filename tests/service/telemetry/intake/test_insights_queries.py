"""The query language: what each command does, and the error of a query that cannot run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loomlib.local.insights import MalformedQueryError, Query, Row

BEGIN_MS = 1_795_294_030_857


def rows(*messages: str | dict[str, Any], step_ms: int = 60_000) -> list[Row]:
    return [
        Row.of_event(
            message=message if isinstance(message, str) else json.dumps(message),
            timestamp_ms=BEGIN_MS + number * step_ms,
            ingested_ms=BEGIN_MS,
            stream=f"stream-{number}",
            log="123456789012:group",
            pointer=str(number),
        )
        for number, message in enumerate(messages)
    ]


def ask(query: str, *messages: str | dict[str, Any], step_ms: int = 60_000) -> list[dict[str, str]]:
    results = [dict(row) for row in Query(query).run(rows(*messages, step_ms=step_ms)).rows]
    for row in results:
        row.pop("@ptr", None)
    return results


def test_without_a_sort_the_newest_events_come_first() -> None:
    results = ask("fields @timestamp, @message | limit 2", "a", "b", "c")
    assert [row["@message"] for row in results] == ["c", "b"]
    assert results[0]["@timestamp"] == "2026-11-21 20:49:10.857"


def test_a_query_without_fields_shows_time_and_message() -> None:
    assert [list(row) for row in ask("filter @message like 'a'", "a", "b")] == [["@timestamp", "@message"]]


def test_fields_of_json_are_found_by_their_path() -> None:
    message = {"attributes": {"session.id": "s1", "n": 3}, "list": [{"x": "y"}], "odd-name": 1}
    query = "fields attributes.session.id as s, attributes.n * 2 as double, list.0.x as x, `odd-name`, nothing"
    assert ask(query, message) == [{"s": "s1", "double": "6", "x": "y", "odd-name": "1"}]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("n = 5", "b"),
        ("n != 5", "ac"),
        ("n > 4 and n < 12", "bc"),
        ("n >= 5 or name = 'a'", "abc"),
        ("not n = 5", "ac"),
        ("n in [1, 11]", "ac"),
        ("n not in [1, 11]", "b"),
        ("name in ['a', 'x']", "a"),
        ("@message like 'name\": \"b'", "b"),
        ('@message like /"(a|c)"/', "ac"),
        ("@message =~ /n.*5/", "b"),
        ('@message not like /"a"/', "bc"),
        ("name like /(?i)B/", "b"),
        ("ispresent(extra)", "c"),
        ("not ispresent(extra)", "ab"),
        ("extra = 'e'", "c"),
        ("extra != 'e'", "ab"),
        ("n / 2 = 2.5", "b"),
        ("(n + 1) % 2 = 0 and n ^ 2 > 30", "c"),
        ("strlen(name) = 1", "abc"),
        ("tolower(concat(name, 'X')) = 'bx'", "b"),
        ("coalesce(extra, 'none') = 'none'", "ab"),
        ("n = '5'", "b"),
        ("n < -1", ""),
    ],
)
def test_filters_choose_events(condition: str, expected: str) -> None:
    messages: list[dict[str, Any]] = [
        {"name": "a", "n": 1},
        {"name": "b", "n": 5},
        {"name": "c", "n": 11, "extra": "e"},
    ]
    results = ask(f"filter {condition} | fields name | sort @timestamp", *messages)
    assert "".join(row["name"] for row in results) == expected


def test_a_glob_takes_as_little_as_it_can_and_the_last_one_the_rest() -> None:
    query = "parse @message 'user=*, took * ms: *' as user, took, rest | display user, took, rest"
    results = ask(query, "user=ann, took 5 ms: all, of it", "nothing of this", "user=, took 7 ms: ")
    assert results == [{"user": "", "took": "7", "rest": ""}, {}, {"user": "ann", "took": "5", "rest": "all, of it"}]


def test_a_pattern_names_what_it_finds() -> None:
    query = "parse @message /took (?<took>[0-9]+) ms/ | stats max(took) as slowest, sum(took) as all"
    assert ask(query, "took 9 ms", "took 12 ms", "no") == [{"slowest": "12", "all": "21"}]


def test_statistics_count_only_what_is_there() -> None:
    messages = [{"t": "x", "d": 1}, {"t": "x", "d": 4}, {"t": "y", "d": "7"}, {"t": "y"}, {"t": "y", "d": "odd"}]
    query = (
        "stats count() as n, count(d) as with_d, sum(d) as total, avg(d) as mean, min(d) as low, pct(d, 50) as p50, "
        "median(d) as mid, stddev(d) as dev, count_distinct(d) as kinds, latest(d) as newest by t | sort t"
    )
    assert ask(query, *messages) == [
        {
            "t": "x",
            "n": "2",
            "with_d": "2",
            "total": "5",
            "mean": "2.5",
            "low": "1",
            "p50": "1",
            "mid": "1",
            "dev": "1.5",
            "kinds": "2",
            "newest": "4",
        },
        {
            "t": "y",
            "n": "3",
            "with_d": "2",
            "total": "7",
            "mean": "7",
            "low": "7",
            "p50": "7",
            "mid": "7",
            "dev": "0",
            "kinds": "2",
            "newest": "odd",
        },
    ]
    assert ask("stats count() as n, avg(d) as mean", "no json") == [{"n": "1"}]
    assert ask("filter @message = 'none' | stats count() as n", "no json") == [{"n": "0"}]


def test_bins_hold_the_events_of_their_period() -> None:
    query = "stats count(*) by bin(5m) | sort bin(5m)"
    assert ask(query, *"abcdefg") == [
        {"bin(5m)": "2026-11-21 20:45:00.000", "count(*)": "3"},
        {"bin(5m)": "2026-11-21 20:50:00.000", "count(*)": "4"},
    ]
    assert ask("stats count(*) by bin(5m) | sort count(*) desc | limit 1", *"abcdefg")[0]["count(*)"] == "4"


def test_numbers_are_sorted_as_numbers_and_missing_values_come_last() -> None:
    messages: list[dict[str, Any]] = [{"d": "9.5"}, {"d": 10}, {"e": 1}, {"d": "1e1", "e": 2}, {"d": "text"}]
    for direction, expected in (
        ("asc", ["9.5", "10", "1e1", "text", None]),
        ("desc", ["text", "10", "1e1", "9.5", None]),
    ):
        results = ask(f"fields d | sort d {direction}", *messages)
        assert [row.get("d") for row in results] == expected


def test_statistics_of_statistics_and_duplicates() -> None:
    messages = [{"s": name, "d": number} for number, name in enumerate("aabbbc")]
    assert ask("stats count() as n by s | stats max(n) as most, count() as sessions", *messages) == [
        {"most": "3", "sessions": "3"}
    ]
    assert [row["s"] for row in ask("fields s | dedup s", *messages)] == ["c", "b", "a"]


def test_comments_and_lines_do_not_matter() -> None:
    assert ask("# first\nfields @message # what\n| filter @message = '#'\n", "#", "b") == [{"@message": "#"}]


@pytest.mark.parametrize(
    ("query", "message", "place"),
    [
        ("", "empty", (0, 1)),
        ("fields @x | foo", "'foo' is not supported", (12, 15)),
        ("pattern @message", "'pattern' is not supported", (0, 7)),
        ("unmask @message", "'unmask' is not supported", (0, 6)),
        ("fields @a |", "a command is missing", (11, 12)),
        ("stats nope(x)", "'nope' is not a statistic", (6, 10)),
        ("fields frob(x)", "function frob is not supported", (7, 11)),
        ("filter @message like", "like takes", (20, 21)),
        ('filter a = "x', "unexpected symbol", (11, 12)),
        ("parse @message 'a*b' as x, y", "1 asterisks need as many names", (15, 20)),
        ("filter @message like /(/", "cannot be read", (24, 25)),
        ("stats count() by bin(5)", "not a period", (21, 22)),
        ("stats pct(d, 101)", "percentile", (13, 16)),
        ("limit 0", "between 1 and 10,000", (6, 7)),
        ("limit 10001", "between 1 and 10,000", (6, 11)),
        ("fields a b", "'|' was expected", (9, 10)),
        ("fields strlen()", "does not take 0", (7, 15)),
        ("filter a = 1" + "0" * 5_000, "5,001 digits", (11, 5_012)),
    ],
)
def test_a_query_that_cannot_be_run_is_refused_with_its_place(query: str, message: str, place: tuple[int, int]) -> None:
    with pytest.raises(MalformedQueryError, match=message.replace("|", r"\|")) as refusal:
        Query(query)
    assert (refusal.value.start, refusal.value.end) == place


@example("stats")
@given(st.text(alphabet="fieldsatrp @message|'\"/\\*()[],=<>!~+-^%`#.0123456789\n", max_size=60))
def test_no_text_is_anything_but_a_query_or_malformed(text: str) -> None:
    place: MalformedQueryError | None = None
    try:
        Query(text).run(rows("a", {"b": 1}))
    except MalformedQueryError as error:
        place = error
    assert place is None or 0 <= place.start < place.end


@given(st.lists(st.integers(-1000, 1000), max_size=40), st.sampled_from(["asc", "desc"]), st.integers(1, 50))
def test_sort_with_a_limit_is_the_beginning_of_the_whole_order(values: list[int], direction: str, limit: int) -> None:
    messages = [{"d": value} for value in values]
    results = ask(f"fields d | sort d {direction} | limit {limit}", *messages)
    assert [int(row["d"]) for row in results] == sorted(values, reverse=direction == "desc")[:limit]


@given(st.lists(st.text(max_size=20), max_size=20), st.text(min_size=1, max_size=5))
def test_what_a_search_begins_with_never_hides_an_event(messages: list[str], word: str) -> None:
    quoted = word.replace("\\", "\\\\").replace('"', '\\"')
    query = Query(f'filter @message like "{quoted}" | stats count() as n')
    candidates = [message for message in messages if all(text in message for text in query.required)]
    assert query.run(rows(*candidates)).rows == query.run(rows(*messages)).rows


@given(
    st.lists(st.one_of(st.text(max_size=8), st.booleans(), st.integers(), st.floats(), st.none()), max_size=12),
    st.sampled_from(["like", "="]),
    st.text(alphabet="aeE1._: -", min_size=1, max_size=3),
)
def test_what_a_search_for_a_field_begins_with_never_hides_an_event(values: list[Any], sign: str, word: str) -> None:
    query = Query(f'filter d {sign} "{word}" | stats count() as n')
    messages = [json.dumps({"d": value}, ensure_ascii=False) for value in values]
    candidates = [message for message in messages if all(text in message for text in query.required)]
    assert query.run(rows(*candidates)).rows == query.run(rows(*messages)).rows


def test_a_number_beyond_floats_is_left_out_of_statistics() -> None:
    messages = ['{"ms": 12}', '{"ms": 15}', '{"ms": 1' + "0" * 320 + "}"]
    assert ask("stats count(*) as n, avg(ms) as mean", *messages) == [{"n": "3", "mean": "13.5"}]
    query = "stats sum(ms) as total, avg(ms) as mean, stddev(ms) as dev"
    assert ask(query, *['{"ms": 1.7e308}'] * 3) == [{"total": "inf"}] or ask(query, *['{"ms": 1.7e308}'] * 3) == [{}]
    assert ask("fields ms * ms as square", '{"ms": 1' + "0" * 200 + "}") == [{}]
