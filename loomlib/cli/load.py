"""`loom load`: test whether an agent meets a service level objective at a fixed load. For nightly runs."""

from __future__ import annotations

import click

from .command_context import CommandContext, pass_command_context
from .option_types import FiniteRange
from .output import emit_json, printable, say

_EXIT_CODES = {"passed": 0, "missed": 2, "unclear": 1}


@click.command()
@click.argument("agent")
@click.option(
    "--at",
    "load",
    type=FiniteRange(min=0, min_open=True),
    required=True,
    help="Calls per second that are offered.",
)
@click.option(
    "--slo",
    default="p90 TTFT < 800 ms, errors < 1 %",
    show_default=True,
    help="The SLO: limits on pNN TTFT, pNN duration, errors.",
)
@click.option(
    "--seconds",
    type=FiniteRange(min=1),
    default=60.0,
    show_default=True,
    help="How long the load is offered.",
)
@click.option(
    "--arrivals",
    type=click.Choice(["poisson", "constant", "bursty", "recorded"]),
    default="poisson",
    show_default=True,
    help="How calls arrive; they never wait for answers. recorded: the agent's stored calls, faster or slower.",
)
@click.option(
    "--sessions",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    help="Sessions opened before the test; 0 opens one for each call. Recorded calls have their own sessions.",
)
@click.option("--prompt", default="", help="Sent with every call; the agent's first sample by default.")
@click.option("--endpoint", default="DEFAULT", show_default=True, help="The endpoint that is called.")
@click.option(
    "--most-calls", type=click.IntRange(min=0), default=0, help="Maximum number of calls (default on AWS: 5000)."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the arrivals.")
@click.option("--allow-overload", is_flag=True, help="Decide even if this machine was overloaded.")
@pass_command_context
def load(
    command: CommandContext,
    agent: str,
    load: float,
    slo: str,
    seconds: float,
    arrivals: str,
    sessions: int,
    prompt: str,
    endpoint: str,
    most_calls: int,
    seed: int,
    allow_overload: bool,
) -> int:
    """Offer AGENT a fixed number of calls a second, and decide whether it meets an SLO at this load.

    The decision is based on the whole 95 % interval of every metric that has a limit. The result is a stored load test.

    Exit code 0: it meets the SLO; 1: not decided, or the test could not be run; 2: it does not meet the SLO.
    """
    from ..experiments import Silent
    from ..latency.load_test import LoadStudy

    with command.connect() as bench:
        subject = bench.agent(agent, deploy=True).at(endpoint)
        study = LoadStudy(
            subject,
            slo=slo,
            loads=[load],
            arrivals=arrivals,
            seconds=seconds,
            sessions=sessions,
            prompt=prompt or subject.targets.sample_prompt,
            most_calls=most_calls,
            seed=seed,
        )
        say(printable(str(study.estimate())))
        result = study.run(Silent())
    gate = result.gate_at(load, allow_overload=allow_overload)
    code = _EXIT_CODES[gate.outcome]
    if command.as_json:
        emit_json({**result.summary(), "gates": [gate.summary()], "exit_code": code})
    else:
        click.echo(printable(gate.sentence()))
        for sentence in result.sentences():
            click.echo(printable(sentence))
    return code


COMMANDS = (load,)
