"""Alerts: decided on intervals, notified once per change of state, and no address is stored."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from store_rows import query

from loomlib.alerts import ALARM, NO_DATA, OK, UNCLEAR, Addresses, AlertRule, Notification, apprise_notify, check_alerts
from loomlib.alerts.delivery import MOST_TRIES
from loomlib.errors import AgentNotFoundError, StoreError
from loomlib.metrics import Window
from loomlib.statistics import Estimate, estimate_mean, estimate_percentile, estimate_share
from loomlib.store import Store
from loomlib.workbench.alerts import alert_frame

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Inbox:
    """A recipient of notifications; `broken` is an error message while it cannot be reached."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.broken = ""

    def __call__(self, notification: Notification) -> Sequence[str]:
        if self.broken:
            return [f"{name!r} {self.broken}" for name in notification.names]
        self.titles.append(notification.title)
        return []


def shares(failed: int, n: int) -> Any:
    def measure(rule: AlertRule, window: Window) -> Estimate:
        return estimate_share(failed, n)

    return measure


def errors(**more: Any) -> AlertRule:
    return AlertRule("error_rate", above=0.05, name="errors", notify=["team"], **more)


@pytest.mark.parametrize(
    ("failed", "n", "state"),
    [(0, 0, NO_DATA), (1, 3, UNCLEAR), (2, 25, UNCLEAR), (4, 80, UNCLEAR), (20, 80, ALARM), (0, 200, OK), (3, 300, OK)],
)
def test_a_flaky_night_raises_no_alarm(failed: int, n: int, state: str) -> None:
    assert errors().judge(estimate_share(failed, n)) == state


def test_below_min_n_nothing_is_decided() -> None:
    assert errors(min_n=100).judge(estimate_share(80, 80)) == UNCLEAR
    assert "fewer than 100 observations" in errors(min_n=100).sentence(UNCLEAR, estimate_share(80, 80))


def test_no_traffic_is_a_number_too() -> None:
    nothing = Estimate(value=0, low=0, high=0, n=0, confidence=1.0, method="counted")
    assert AlertRule("invocations", below=1).judge(nothing) == ALARM
    assert AlertRule("invocations", above=10).judge(nothing) == OK


def test_a_cost_of_which_a_part_is_unknown_is_not_below_a_limit() -> None:
    at_least = Estimate(value=2.0, low=2.0, high=2.0, n=9, confidence=1.0, method="", open_above=True)
    assert AlertRule("cost", above=5.0).judge(at_least) == UNCLEAR
    assert AlertRule("cost", above=1.0).judge(at_least) == ALARM
    sentence = AlertRule("cost", above=5.0).sentence(UNCLEAR, at_least)
    assert sentence == "cost of all agents is at least $2.00, n = 9, limit $5.00: not decided, a part is unknown."


def test_an_undecided_rule_says_that_the_interval_includes_the_limit_only_if_there_is_one() -> None:
    wide = estimate_share(2, 25)
    assert "is 8 % [2.2–25], n = 25, limit 5 %: not decided, the interval includes" in errors().sentence(UNCLEAR, wide)
    few, constant = estimate_percentile([1000.0] * 4, 0.9), estimate_mean([1000.0] * 25, bounds=None)
    for number, estimate, n in (("duration_p90_ms", few, 4), ("cold_start_mean_ms", constant, 25)):
        rule = AlertRule(number, above=900, min_n=3)
        sentence = rule.sentence(rule.judge(estimate), estimate)
        assert "of all agents is unknown: " in sentence
        assert sentence.endswith(f"n = {n}, limit 900 ms: not decided, there is no interval.")


@pytest.mark.parametrize(
    "options",
    [
        {"above": 5},
        {"above": 0.1, "below": 0.2},
        {},
        {"above": -1},
        {"above": float("nan")},
        {"above": 0.1, "min_n": 0},
        {"above": 0.1, "window": timedelta(0)},
        {"above": 0.1, "window": timedelta(days=365_001)},
        {"above": 0.1, "notify": ["json://user:hunter2@example.com"]},
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_without_repeating_an_address(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as raised:
        AlertRule("error_rate", **options)
    assert "hunter2" not in str(raised.value)


def test_a_rule_comes_back_as_it_was_stored() -> None:
    rule = AlertRule("duration_p90_ms", above=900, agent="a", window=HOUR, min_n=7, notify=["Team"], remind_every=None)
    assert AlertRule.read(json.loads(json.dumps(rule.to_dict()))) == rule
    assert rule.name == "p90 answer of a above 900 ms"


def test_an_alarm_is_sent_once_with_reminders_and_its_end_is_sent_once(store: Store) -> None:
    store.alerts.add("local", "errors", errors(remind_every=timedelta(hours=6)).to_dict(), at=NOON)
    inbox = Inbox()

    def check(hours: float, failed: int, n: int) -> str:
        alert_check = check_alerts(store, "local", shares(failed, n), inbox, now=NOON + hours * HOUR)
        return alert_check.checked[0].state

    assert [check(0, 0, 300), check(1, 30, 90), check(2, 31, 91)] == [OK, ALARM, ALARM]
    assert check(3, 1, 3) == UNCLEAR  # neither ends the alarm nor makes a new one
    assert check(4, 31, 91) == ALARM
    assert inbox.titles == ["Loom: ALARM · errors"]
    check(8, 31, 91)
    assert inbox.titles[1:] == ["Loom: STILL IN ALARM · errors"]
    check(9, 0, 300)
    check(10, 0, 300)
    assert inbox.titles[2:] == ["Loom: RESOLVED · errors"]
    kinds = [(event.kind, event.state) for event in reversed(store.alerts.events("local"))]
    assert kinds == [
        ("state", OK), ("state", ALARM), ("notified", ALARM), ("state", UNCLEAR), ("state", ALARM), ("reminder", ALARM),
        ("state", OK), ("notified", OK),
    ]  # fmt: skip


def test_a_failed_notification_is_sent_at_the_next_check(store: Store) -> None:
    store.alerts.add("local", "errors", errors().to_dict(), at=NOON)
    inbox = Inbox()
    inbox.broken = "could not be reached"
    first = check_alerts(store, "local", shares(30, 90), inbox, now=NOON)
    assert (first.checked[0].notified, first.checked[0].problems) == ((), ("'team' could not be reached",))
    assert first.exit_code == 2
    inbox.broken = ""
    assert check_alerts(store, "local", shares(30, 90), inbox, now=NOON + HOUR).checked[0].notified == ("team",)
    assert len(inbox.titles) == 1


class Inboxes:
    """Several recipients; those in `broken` cannot be reached."""

    def __init__(self, *broken: str) -> None:
        self.broken = set(broken)
        self.notified: list[tuple[str, str]] = []

    def __call__(self, notification: Notification) -> Sequence[str]:
        self.notified += [
            (name, notification.title.split(" ", 1)[1]) for name in notification.names if name not in self.broken
        ]
        return [f"{name!r} could not be reached" for name in notification.names if name in self.broken]


def both(store: Store, **more: Any) -> AlertRule:
    rule = AlertRule("error_rate", above=0.05, name="errors", notify=["team", "night"], **more)
    store.alerts.add("local", "errors", rule.to_dict(), at=NOON)
    return rule


MINUTE = timedelta(minutes=1)


def test_a_failed_address_is_retried_alone_and_given_up_in_the_end(store: Store) -> None:
    both(store, remind_every=timedelta(hours=24))
    inbox = Inboxes("night")

    def check(at: timedelta) -> Any:
        return check_alerts(store, "local", shares(30, 90), inbox, now=NOON + at).checked[0]

    assert (check(timedelta(0)).notified, inbox.notified) == (("team",), [("team", "ALARM · errors")])
    assert check(MINUTE / 2).problems == ()  # too soon
    tries, at = 1, MINUTE
    while check(at).problems[-1].endswith("could not be reached"):
        tries, at = tries + 1, 2 * at + MINUTE
        assert tries < 20
    assert (tries, inbox.notified) == (MOST_TRIES - 1, [("team", "ALARM · errors")])
    inbox.broken.clear()
    last = check(timedelta(hours=23))
    assert (last.notified, len(last.problems)) == ((), 1)
    assert "not retried until the alert changes" in last.problems[0]
    assert [event.kind for event in store.alerts.events("local")].count("gave up") == 1
    assert check(timedelta(days=30)).notified == ("team", "night")
    assert inbox.notified[1:] == [("team", "STILL IN ALARM · errors"), ("night", "STILL IN ALARM · errors")]
    assert check(timedelta(days=30, hours=1)).problems == ()


@pytest.mark.parametrize("broken", [[], ["night"]])
def test_retries_of_one_address_do_not_delay_the_reminders_of_the_others(store: Store, broken: list[str]) -> None:
    both(store, remind_every=HOUR)
    inbox = Inboxes(*broken)
    checks = {
        at: check_alerts(store, "local", shares(30, 90), inbox, now=NOON + at * MINUTE) for at in range(0, 190, 5)
    }
    notified = [at for at, alert_check in checks.items() if "team" in alert_check.checked[0].notified]
    assert notified == [0, 60, 120, 180]


def test_a_late_delivery_is_sent_once_and_the_end_goes_to_those_notified(store: Store) -> None:
    both(store)
    inbox = Inboxes("night")
    check_alerts(store, "local", shares(30, 90), inbox, now=NOON)
    inbox.broken.clear()
    later_checks = [check_alerts(store, "local", shares(30, 90), inbox, now=NOON + hours * HOUR) for hours in (1, 2)]
    assert [alert_check.checked[0].notified for alert_check in later_checks] == [("night",), ()]
    inbox.broken.add("night")
    over = check_alerts(store, "local", shares(0, 300), inbox, now=NOON + 3 * HOUR)
    assert over.checked[0].notified == ("team",)
    inbox.broken.clear()
    assert check_alerts(store, "local", shares(0, 300), inbox, now=NOON + 4 * HOUR).checked[0].notified == ("night",)
    assert inbox.notified == [
        ("team", "ALARM · errors"), ("night", "ALARM · errors"), ("team", "RESOLVED · errors"),
        ("night", "RESOLVED · errors"),
    ]  # fmt: skip


def test_an_address_that_never_got_the_alarm_does_not_get_its_end(store: Store) -> None:
    both(store)
    inbox = Inboxes("night")
    check_alerts(store, "local", shares(30, 90), inbox, now=NOON)
    inbox.broken.clear()
    assert check_alerts(store, "local", shares(0, 300), inbox, now=NOON + HOUR).checked[0].notified == ("team",)
    assert check_alerts(store, "local", shares(30, 90), inbox, now=NOON + 2 * HOUR).checked[0].notified == (
        "team",
        "night",
    )


def test_a_killed_processs_notification_is_sent_again_but_not_twice(store: Store) -> None:
    both(store)
    (row,) = store.alerts.list("local")
    assert store.alerts.claim_notification(
        row, ALARM, at=NOON, pending={"kind": "alarm", "tries": {"team": 0, "night": 0}}
    )
    inbox = Inboxes()
    assert check_alerts(store, "local", shares(30, 90), inbox, now=NOON + MINUTE / 4).checked[0].notified == ()
    assert check_alerts(store, "local", shares(30, 90), inbox, now=NOON + MINUTE).checked[0].notified == (
        "team",
        "night",
    )


def test_a_notifier_that_fails_notifies_no_one_and_shows_no_address(store: Store) -> None:
    both(store)

    def notify(notification: Notification) -> Sequence[str]:
        raise RuntimeError("json://user:hunter2@example.com")

    result = check_alerts(store, "local", shares(30, 90), notify, now=NOON).checked[0]
    assert (result.notified, len(result.problems)) == ((), 2)
    assert "RuntimeError" in result.problems[0]
    assert "hunter2" not in repr(result)


def test_a_rule_that_cannot_be_read_keeps_no_other_from_being_checked(store: Store) -> None:
    store.alerts.add("local", "newer", {"number": "mood", "name": "newer"}, at=NOON)
    both(store)
    alert_check = check_alerts(store, "local", shares(0, 300), Inboxes(), now=NOON)
    assert [(result.rule.name, result.state) for result in alert_check.checked] == [("errors", OK)]
    assert (len(alert_check.unreadable), alert_check.exit_code) == (1, 1)
    assert "newer: The stored rule cannot be read" in alert_check.unreadable[0]
    assert list(alert_frame(store.alerts.list("local"))["state"]) == ["unreadable", OK]
    assert check_alerts(store, "local", shares(30, 90), Inboxes(), now=NOON + HOUR).exit_code == 2


def test_a_stored_window_that_begins_before_the_year_1_keeps_no_other_rule_from_being_checked(store: Store) -> None:
    store.alerts.add("local", "ever", {**errors().to_dict(), "name": "ever", "window_s": 86400e6}, at=NOON)
    both(store)
    alert_check = check_alerts(store, "local", shares(0, 300), Inboxes(), now=NOON)
    assert [(result.rule.name, result.state) for result in alert_check.checked] == [("errors", OK)]
    (sentence,) = alert_check.unreadable
    assert "window must be at most 365000 days, not 1000000" in sentence


def test_the_longest_window_is_checked(store: Store) -> None:
    store.alerts.add("local", "errors", errors(window=timedelta(days=365_000)).to_dict(), at=NOON)
    assert check_alerts(store, "local", shares(0, 300), None, now=NOON).checked[0].state == OK


def test_of_two_concurrent_checks_one_notifies(store: Store) -> None:
    row = store.alerts.add("local", "errors", errors().to_dict(), at=NOON)
    assert store.alerts.claim_notification(row, ALARM, at=NOON)
    assert not store.alerts.claim_notification(row, ALARM, at=NOON + HOUR)


def test_a_number_that_cannot_be_had_is_no_data_with_the_reason(store: Store) -> None:
    store.alerts.add("local", "errors", errors().to_dict(), at=NOON)

    def measure(rule: AlertRule, window: Window) -> Estimate:
        raise AgentNotFoundError("The catalog has no such agent", on="gone")

    alert_check = check_alerts(store, "local", measure, Inbox(), now=NOON)
    assert (alert_check.checked[0].state, alert_check.exit_code) == (NO_DATA, 0)
    assert "no such agent" in alert_check.checked[0].sentence


def test_a_name_is_taken_once_in_its_scope(store: Store) -> None:
    store.alerts.add("local", "errors", errors().to_dict(), at=NOON)
    store.alerts.add("aws", "errors", errors().to_dict(), at=NOON)
    with pytest.raises(StoreError, match="exists"):
        store.alerts.add("local", "errors", errors().to_dict(), at=NOON)
    assert store.alerts.remove("local", "errors")
    assert not store.alerts.remove("local", "errors")
    assert [row.scope for row in store.alerts.list("aws")] == ["aws"]


@pytest.fixture
def server() -> Iterator[tuple[int, list[dict[str, Any]]]]:
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append({"path": self.path, "auth": self.headers.get("Authorization"), **body})
            self.send_response(500 if "broken" in self.path else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield listening.server_address[1], requests
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_apprise_notifies_a_loopback_server_and_the_address_is_not_stored(
    store: Store,
    store_url: str,
    server: tuple[int, list[dict[str, Any]]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    port, requests = server
    (tmp_path / "loom.toml").write_text(
        f'[alerts]\nnight = "json://127.0.0.1:{port}/broken-s3cr3t?cto=200&rto=200"\nodd = "nothing://s3cr3t"\n'
    )
    addresses = Addresses(
        {
            "LOOM_ALERT_URL_TEAM": f"json://loom:s3cr3t@127.0.0.1:{port}/hook-s3cr3t?cto=200&rto=200",
            "LOOM_CONFIG": str(tmp_path / "loom.toml"),
        }
    )
    assert addresses.names() == ("night", "odd", "team")
    assert "s3cr3t" not in repr(addresses.find("team"))
    rule = AlertRule("error_rate", above=0.05, name="errors", notify=["team", "night", "odd", "nobody"])
    store.alerts.add("local", "errors", rule.to_dict(), at=NOON)
    alert_check = check_alerts(store, "local", shares(30, 90), apprise_notify(addresses), now=NOON)
    assert alert_check.checked[0].notified == ("team",)
    assert len(alert_check.problems) == 3
    assert [request["path"] for request in requests] == ["/hook-s3cr3t", "/broken-s3cr3t"]
    assert requests[0]["title"] == "Loom: ALARM · errors"
    assert "the whole interval is above the limit" in requests[0]["message"]
    texts = [repr(alert_check), caplog.text, repr(store.alerts.list("local")), repr(store.alerts.events("local"))]
    assert not [text for text in texts if "s3cr3t" in text]
    stored_rows = query(store_url, "SELECT rule, untold FROM alerts") + query(
        store_url, "SELECT reading FROM alert_events"
    )
    assert stored_rows
    assert "s3cr3t" not in str(stored_rows)
