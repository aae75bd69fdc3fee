"""`loom evals capture|collect`: eval cases from stored invocations."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from .command_context import CommandContext, pass_command_context
from .option_types import FiniteRange
from .output import emit_json, printable, say

if TYPE_CHECKING:
    from ..evals import EvalSet

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST: Final = timedelta(days=365_000)
"""The longest duration accepted: a time that long ago must not be before year 1, the minimum of `datetime`."""
_AGO: Final = re.compile(r"([0-9]{1,6})([mhdw])")


@click.group()
def evals() -> None:
    """Turn stored invocations into eval cases."""


@evals.command()
@click.argument("agent")
@click.option(
    "--into", "path", required=True, type=click.Path(dir_okay=False), help="The eval set's file; created if missing."
)
@click.option("--session", help="Capture a whole session as one case (default: the last invocation).")
@click.option("--invocation", "ids", type=int, multiple=True, help="Id of a stored invocation; repeatable.")
@click.option("--tag", "tags", multiple=True, help="Tag of the case; repeatable.")
@click.option("--no-expectation", is_flag=True, help="Do not store the answer and tool calls as the expectation.")
@click.option(
    "--rules", type=click.Path(exists=True, dir_okay=False), help="Additional redaction rules (TOML or JSON)."
)
@pass_command_context
def capture(
    command: CommandContext,
    agent: str,
    path: str,
    session: str | None,
    ids: tuple[int, ...],
    tags: tuple[str, ...],
    no_expectation: bool,
    rules: str | None,
) -> None:
    """Add AGENT's last invocation to a set as a case; secrets and personal data are redacted."""
    with command.connect() as bench:
        captured = bench.agent(agent).evals.capture_into(
            path,
            list(ids) or None,
            session_id=session,
            tags=tags,
            expected=not no_expectation,
            redact=_rules(rules),
        )
    cases, case = len(captured.evalset), captured.case
    if command.as_json:
        emit_json({"path": path, "cases": cases, "added": [case.id] if captured.is_new else []})
    elif captured.is_new:
        say(f"captured {case.id} into {path}: {printable(case.prompt[:80])}  ({cases} cases)")
    else:
        say(f"{path} is unchanged: a case has the same request  ({cases} cases)")


@evals.command()
@click.argument("agents", nargs=-1)
@click.option(
    "--into", "path", required=True, type=click.Path(dir_okay=False), help="The eval set's file; created if missing."
)
@click.option("--since", default="1d", show_default=True, help="How far back: 30m, 12h, 7d, 2w.")
@click.option(
    "--failures",
    type=FiniteRange(0, 1),
    default=1.0,
    show_default=True,
    help="Share of failed invocations to take.",
)
@click.option(
    "--successes",
    type=FiniteRange(0, 1),
    default=0.1,
    show_default=True,
    help="Share of successful invocations to take.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
@click.option(
    "-e",
    "--evaluator",
    "evaluators",
    multiple=True,
    help="Treat answers that fail this evaluator as failures; repeatable.",
)
@click.option("--tag", "tags", multiple=True, help="Tag of the cases; repeatable.")
@click.option(
    "--rules", type=click.Path(exists=True, dir_okay=False), help="Additional redaction rules (TOML or JSON)."
)
@pass_command_context
def collect(
    command: CommandContext,
    agents: tuple[str, ...],
    path: str,
    since: str,
    failures: float,
    successes: float,
    seed: int,
    evaluators: tuple[str, ...],
    tags: tuple[str, ...],
    rules: str | None,
) -> None:
    """Add failed and some successful invocations of AGENTS (default: all) to a set."""
    before, start = _set(path), ago(since)
    with command.connect() as bench:
        collected = bench.evals.collect(
            before,
            *agents,
            since=start,
            failures=failures,
            successes=successes,
            seed=seed,
            evaluators=evaluators,
            tags=tags,
            redact=_rules(rules),
        )
    if collected.taken or not Path(path).exists():
        collected.evalset.write(path)
    if command.as_json:
        rows = [{name: getattr(candidate, name) for name in candidate.__slots__} for candidate in collected.looked_at]
        emit_json({"path": path, "cases": len(collected.evalset), "looked_at": rows})
        return
    say(collected.sentence())
    for candidate in collected.taken:
        say(f"  + {candidate.case_id}  {printable(candidate.why)}")


def _set(path: str) -> EvalSet:
    from ..evals import EvalSet

    file = Path(path)
    return EvalSet.read(file) if file.exists() else EvalSet(name=file.name.partition(".")[0] or "captured", cases=())


def _rules(path: str | None) -> Any:
    if path is None:
        return None
    from ..redaction import DEFAULT_RULES, read_rules

    return (*DEFAULT_RULES, *read_rules(path))


def ago(text: str, *, option: str = "--since") -> timedelta:
    """Parse a duration such as `30m`, `12h`, `7d` or `2w`.

    Args:
        text: The duration.
        option: The option that it was given with, for the message.
    """
    match = _AGO.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is not a duration like 30m, 12h, 7d or 2w", param_hint=option)
    duration = timedelta(**{_UNITS[match[2]]: int(match[1])})
    if duration > _LONGEST:
        raise click.BadParameter(f"{text!r} is longer than {_LONGEST.days} days", param_hint=option)
    return duration


COMMANDS = (evals,)
