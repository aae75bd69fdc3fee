"""Hostile agents: each is contained, and a neighbour is served meanwhile."""

from __future__ import annotations

from pathlib import Path

import attacks_on_secrets
import attacks_on_the_service
import attacks_with_keys
import pytest
from attack import Attack, Outcome
from waiting import wait_until

from loomlib import local
from loomlib.local.sandbox.isolation import choose

MODULES = (attacks_on_secrets, attacks_on_the_service, attacks_with_keys)
SHARED = "all-attacks-" * 4
LEAST_P99_S = 2.0
"""A neighbour's slowest call may take this long even if it was faster before: two processors serve all tests."""

PROCESSES_LEFT = 8
"""bubblewrap and the process that sessions are forked from, for three versions of V2; the neighbour's two processes."""


def named(attacks: tuple[Attack, ...]) -> list:
    return [pytest.param(attack, id=attack.name.replace(" ", "-")) for attack in attacks]


def test_there_are_more_than_forty_attacks() -> None:
    names = [attack.name for module in MODULES for attack in module.ATTACKS]
    assert len(names) == len(set(names))
    assert len(names) > 40


def test_attacking_sessions_are_restored_from_a_snapshot(field) -> None:
    wait_until(
        lambda: any(
            f"start of session {field.sibling}: restore from a snapshot" in line for line in field.log_of(field.arn)
        ),
        "a restored session of the attacker",
    )


@pytest.mark.parametrize("platform", ["V1", "V2"])
@pytest.mark.parametrize("attack", named(attacks_on_secrets.ATTACKS))
def test_an_attack_on_secrets_finds_nothing(field, attack: Attack, platform: str) -> None:
    if attack.needs_own_network and not choose().has_own_network:
        pytest.skip(choose().sentence)
    arn = field.attacker_v1 if platform == "V1" else field.arn
    outcome = field.run(attack, "" if attack.own_session else SHARED, arn)
    assert attack.holds(outcome), outcome


def test_a_session_of_platform_v1_makes_no_user_namespace(field) -> None:
    outcome = field.run(attacks_on_secrets.NAMESPACE_ATTACK, arn=field.attacker_v1)
    assert attacks_on_secrets.is_without_namespace(outcome), outcome


@pytest.mark.parametrize("attack", named(attacks_with_keys.ATTACKS))
def test_a_session_s_key_opens_nothing_else(field, attack: Attack) -> None:
    outcome = field.run(attack, SHARED)
    assert attack.holds(outcome), outcome


@pytest.mark.parametrize("disturbance", named(attacks_on_the_service.ATTACKS))
def test_an_attack_on_the_service_is_contained(field, outcomes: dict[str, Outcome], disturbance: Attack) -> None:
    outcome = outcomes[disturbance.name]
    assert disturbance.holds(outcome), outcome


def test_after_all_attacks_nothing_is_left_and_the_neighbour_was_served(field, outcomes: dict[str, Outcome]) -> None:
    field.stop_session(SHARED)
    field.stop_session(SHARED, field.attacker_v1)
    field.stop_session(field.sibling)
    wait_until(lambda: len(local.status(field.state.home).sessions) <= 1, "the end of every attacked session")
    wait_until(
        lambda: sum(is_inside(path, field) for path in Path("/proc").glob("[0-9]*")) <= PROCESSES_LEFT,
        "the end of every process of an attacked session",
    )
    assert (Path(field.figures["HOME"]) / ".aws" / "credentials").exists(), "the clean-up followed a link"
    assert field.failures == []
    quiet_s, busy_s = p99(field.quiet_s), p99(field.busy_s)
    print(
        f"the neighbour's p99: {quiet_s:.3f} s in {len(field.quiet_s)} quiet calls, {busy_s:.3f} s in "
        f"{len(field.busy_s)} calls under attack, ratio {busy_s / quiet_s:.1f}"
    )
    assert busy_s <= max(5 * quiet_s, LEAST_P99_S)


def p99(durations: list[float]) -> float:
    return sorted(durations)[int(len(durations) * 0.99)] if durations else 0.0  # no attack on the service was chosen


def is_inside(process: Path, field) -> bool:
    """Whether a process is in a namespace of mounts that this service made: what agents start is, whatever it does."""
    try:
        return str(field.state.home) in (process / "mountinfo").read_text()
    except OSError:
        return False
