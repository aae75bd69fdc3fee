"""`loom report`: run a parameterized notebook."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager

import click

from .. import reports  # whose names are imported when a command uses them: papermill takes half a second
from ..errors import ReportError
from .command_context import CommandContext, pass_command_context
from .output import emit_json, say, seconds_since


@click.command()
@click.argument("name")
@click.argument("others", nargs=-1, metavar="")
@click.option(
    "-p", "--parameter", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter of the notebook; repeatable."
)
@click.option("--out", default="reports", show_default=True, help="Folder, or s3://bucket/prefix.")
@click.option(
    "--redact/--no-redact",
    default=True,
    show_default=True,
    help="Replace passwords stated in prose and personal data; other secrets are always replaced.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Scheduler of a Dask cluster whose workers make the calls of latency_study, or ask the cases of eval_set, "
    "such as tcp://host:8786.",
)
@pass_command_context
def report(
    command: CommandContext,
    name: str,
    others: tuple[str, ...],
    pairs: tuple[str, ...],
    out: str,
    redact: bool,
    dask: str | None,
) -> int:
    """Run the report NAME, or the notebook at that path, and write notebook, HTML page and JSON.

    Exit code 0: done; 1: a cell failed; 2: a gate was missed.
    """
    parameters: dict[str, str] = {}
    if others:
        flags = "".join(f" -p {text}" for text in others if "=" in text)
        advice = f"; parameters need -p: loom report {name}{flags}" if flags else ""
        raise click.UsageError(f"One report runs at a time{advice}")
    for text in pairs:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="-p")
        if key in parameters:
            raise ReportError("A parameter was given twice", on=key, try_="one -p per name")
        parameters[key] = value
    if dask:
        parameters["dask"] = dask
    where = parameters.get("where", command.where)
    if where != "local":
        parameters.setdefault("where", where)
    start = time.perf_counter()
    with _prepared(command, parameters, local=where == "local"):
        outcome = reports.run_report(name, parameters, out, settings=command.settings, say=say, redact=redact)
    if command.as_json:
        emit_json(
            {**outcome.summary, "exit_code": outcome.exit_code, "html": outcome.html, "notebook": outcome.notebook}
        )
    else:
        if outcome.message:
            say(outcome.message)
        if outcome.html:
            say(f"{outcome.html}   ← open this  ({seconds_since(start)})")
    return outcome.exit_code


@contextmanager
def _prepared(command: CommandContext, parameters: Mapping[str, str], *, local: bool) -> Generator[None]:
    """Start the local AgentCore and deploy the report's agent, with a line for each; do nothing on AWS.

    The notebook would do both as well; done here, the terminal shows them and one service lasts for the whole run.
    """
    if not local:
        yield
        return
    with command.connect() as bench:
        say(f"local AgentCore up · loopback · {bench.telemetry.session_count()} sessions")
        if agent := parameters.get("agent"):
            start = time.perf_counter()
            from ..workbench import find_or_deploy

            target, deployed = find_or_deploy(bench, agent)
            if deployed:
                say(
                    f"deployed {agent} → runtime/{target.entry.runtime_id}  ({target.status} in {seconds_since(start)})"
                )
        yield


COMMANDS = (report,)
