"""Lesson 5, ship it: a report with a gate, a bad version that it stops, an alert, a script, and its schedule."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, cast

from ..presentation.formats import size, time_limit
from ..reports.run import ReportOutcome
from ..workbench import Workbench
from ..workbench.alerts import AlertCheckView
from .exercise import Exercise, NotSolvedError, an, expect, quoted

GOOD: Final = "calculator"
BAD: Final = "calculator_guessing"
_GATED: Final = 2
_CELL_FAILED: Final = 1
_LONGEST_S: Final = 240
_CRON_FIELDS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_EARLIEST_OF_DAY: Final = 7


def _outcome(answer: object, agent: str) -> ReportOutcome:
    outcome = an(answer, ReportOutcome, "the outcome of a report, which is what loom.run_report(…) returns")
    expect(outcome.exit_code != _CELL_FAILED, f"a cell of the report failed: {outcome.message}")
    parameters = outcome.summary.get("parameters", {})
    expect(outcome.summary.get("report") == "eval_set", "this is a different report; the exercise asks for eval_set.")
    expect(parameters.get("agent") == agent, f"this report is about {parameters.get('agent')}, not about {agent}.")
    expect(float(parameters.get("min_pass_percent") or 0) > 0, "this report has no gate: min_pass_percent is 0.")
    return outcome


def _passed(answer: object, bench: Workbench) -> str:
    outcome = _outcome(answer, GOOD)
    expect(outcome.exit_code == 0, f"the gate is missed: {outcome.message}")
    gates: list[dict[str, Any]] = outcome.summary.get("gates", [])
    unclear = [str(gate.get("sentence")) for gate in gates if gate.get("outcome") == "unclear"]
    expect(not unclear, f"the gate is unclear. {' '.join(unclear)} With so few cases, use a lower limit.")
    page = Path(outcome.html)
    expect(page.is_file(), "its page has been deleted.")
    return f"exit code 0, and {page.name} is one page of {size(page.stat().st_size)} that needs no network."


def _stopped(answer: object, bench: Workbench) -> str:
    outcome = _outcome(answer, BAD)
    expect(
        outcome.exit_code == _GATED,
        "this version was not stopped. Does the gate use trajectory, and is its limit high enough?",
    )
    return f"exit code {outcome.exit_code}: {outcome.message}"


def _alarmed(answer: object, bench: Workbench) -> str:
    view = an(answer, AlertCheckView, "what bench.alerts.check(notify=False) returns")
    about = [check for check in view.checked if check.rule.number == "error_rate"]
    expect(bool(about), "no rule on error_rate was checked: bench.alerts.add adds one.")
    in_alarm = [alarm for alarm in view.alarms if alarm.rule.number == "error_rate"]
    if not in_alarm:
        raise NotSolvedError(f"the rule was checked and is not in alarm. {view.sentence()}")
    name = in_alarm[0].rule.name
    return f"the rule {name} is in alarm: the whole confidence interval is above the limit."


def _script(answer: object, bench: Workbench) -> str:
    path = Path(answer) if isinstance(answer, str) else an(answer, Path, "the path of your script")
    expect(path.is_file(), "the file does not exist; run the cell that writes it.")
    before = set(path.parent.rglob("*.json"))
    ended = _run(path, BAD, bench)
    new_files = [file for file in path.parent.rglob("*.json") if file not in before]
    expect(
        ended.returncode != 0,
        f"called with {BAD}, your script exited with 0, so its caller would ship this version. Does it report "
        'on the agent that it is called with ("$1"), with a gate, and is the report its last command?',
    )
    expect(
        ended.returncode == _GATED,
        f"called with {BAD}, it exited with {ended.returncode}; a missed gate exits with 2. "
        f"Its message: {quoted(_message(ended.stderr or ended.stdout))}",
    )
    expect(
        any(_says_missed(file) for file in new_files),
        "it exited with 2, but its folder has no report of this agent: the report should decide, not the script.",
    )
    return f"called with {BAD}, it exited with 2, so its caller stops. With {GOOD}, it exits with 0."


def _message(output: str) -> str:
    """Return the first line with an error, else the last line."""
    lines = [line for line in output.splitlines() if line.strip()] or ["nothing"]
    return next((line for line in lines if "rror" in line or "Try:" in line), lines[-1])


def _says_missed(file: Path) -> bool:
    try:
        summary: object = json.loads(file.read_text())
    except ValueError:
        return False
    if not isinstance(summary, dict):
        return False
    document = cast("dict[str, Any]", summary)
    return document.get("exit_code") == _GATED and document.get("parameters", {}).get("agent") == BAD


def _run(path: Path, agent: str, bench: Workbench) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LOOM_HOME": str(bench.context.settings.home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
    }
    try:
        return subprocess.run(
            ["sh", str(path), agent],
            cwd=path.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as late:
        raise NotSolvedError(f"your script was stopped: it was still running after {time_limit(_LONGEST_S)}.") from late


def _scheduled(answer: object, bench: Workbench) -> str:
    line = an(answer, str, "a crontab line, as a string")
    fields = line.split(maxsplit=len(_CRON_FIELDS))
    expect(len(fields) > len(_CRON_FIELDS), "a line has five fields (minute hour day month weekday), then the command.")
    for field, (low, high) in zip(fields, _CRON_FIELDS, strict=False):
        numbers = [int(digits) for digits in re.findall(r"\d+", field)]
        is_field = re.fullmatch(r"(\*|\d+(-\d+)?)(/\d+)?(,(\*|\d+(-\d+)?)(/\d+)?)*", field) is not None
        expect(
            is_field and all(low <= number <= high for number in numbers),
            f"{quoted(field)} is not a valid crontab field.",
        )
    minute, hour = fields[0], fields[1]
    expect(minute.isdigit(), f"minute {quoted(minute)}: it would run more than once an hour.")
    expect(hour.isdigit(), f"hour {quoted(hour)}: it would run more than once a day.")
    expect(int(hour) < _EARLIEST_OF_DAY, f"at {hour} o'clock people are at work; choose an hour at night.")
    expect(fields[2:4] == ["*", "*"], "it would not run every night: use * for day and month.")
    try:
        words = shlex.split(fields[5])
    except ValueError as unclosed:
        raise NotSolvedError("the command has an unclosed quotation mark.") from unclosed
    expect(
        any(Path(word).is_file() for word in words),
        "no word of the command is an existing file: cron needs absolute paths.",
    )
    expect(GOOD in words, f"the script is called without an agent: add {GOOD} after its path.")
    days = "every night" if fields[4] == "*" else f"at night on the weekdays {fields[4]}"
    return f"at {int(hour)}:{int(minute):02d} {days}."


_REPORT: Final = (
    'loom.run_report("eval_set", {"agent": "calculator", "evalset": str(cases_file), "gate_evaluators": "trajectory", '
    '"min_pass_percent": "50"}, out=str(folder))'
)
EXERCISES: Final = (
    Exercise(
        id="5.1",
        title="A report with a gate",
        hints=(
            "loom.run_report takes the report's name, its parameters as a mapping, and out=, a folder.",
            'The gate has two parameters: "min_pass_percent" and "gate_evaluators". Five cases can show at most 57 %.',
            f"answer = {_REPORT}",
        ),
        judge=_passed,
    ),
    Exercise(
        id="5.2",
        title="A report that stops a bad version",
        hints=(
            "Use the same report and the same gate with another agent.",
            'The agent is "calculator_guessing".',
            'answer = the call of exercise 5.1 with "agent": "calculator_guessing"',
        ),
        judge=_stopped,
    ),
    Exercise(
        id="5.3",
        title="An alert",
        hints=(
            "bench.alerts.add stores a rule: a metric and a limit; bench.alerts.check(notify=False) checks it.",
            'The metric is "error_rate", a share: 5 % is 0.05.',
            'bench.alerts.add("error_rate", above=0.05, agent="in_use"); answer = bench.alerts.check(notify=False)',
        ),
        judge=_alarmed,
    ),
    Exercise(
        id="5.4",
        title="A script that stops a bad version",
        hints=(
            'loom report takes -p NAME=VALUE for each parameter; "$1" is the agent that the script is called with.',
            "A script exits with the exit code of its last command. Which command runs after the report?",
            "In the last line, add -p gate_evaluators=trajectory -p min_pass_percent=50, and remove || true.",
        ),
        judge=_script,
    ),
    Exercise(
        id="5.5",
        title="Every night",
        hints=(
            "minute hour day month weekday command: five fields, * for any.",
            "30 3 * * * means 3:30 every night. Add sh, the script's absolute path, and the agent.",
            'answer = f"30 3 * * * sh {script} calculator"',
        ),
        judge=_scheduled,
    ),
)
