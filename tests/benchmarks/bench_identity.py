"""Bearer tokens: what a JWT authorizer adds to a warm call, beside a signature, with a known token and a new one."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from loomlib import local
from loomlib.aws.runtimes import stop_session

from .agents import BARE
from .laboratory import Laboratory, new_session
from .raw import Caller, signed_request
from .table import Row, ms

_BODY = {"prompt": "hello"}


def tokens(laboratory: Laboratory, n: int = 300) -> Iterator[Row]:
    """The same agent with and without an authorizer, one connection to the service, in turns."""
    laboratory.deploy_protected("protected", BARE)
    state, caller = laboratory.state, Caller(laboratory.state.port)
    known_token = local.issue_token(state, "alice")
    new_tokens = [local.issue_token(state, f"user-{number}") for number in range(n)]
    sessions = {"bare": new_session(), "protected": new_session()}

    def ask(name: str, bearer: str | None) -> float:
        return caller.ask(signed_request(laboratory.signed(name, sessions[name], _BODY, bearer))).first_ms

    for name, bearer in (("bare", None), ("protected", known_token)):
        ask(name, bearer)
    signed: list[float] = []
    times: dict[str, list[float]] = {"a known token": [], "a new token": []}
    for number in range(n):
        signed.append(ask("bare", None))
        times["a known token"].append(ask("protected", known_token))
        times["a new token"].append(ask("protected", new_tokens[number]))
    caller.close()
    laboratory.end_session("bare", sessions["bare"])
    stop_session(laboratory.clients, laboratory.arns["protected"], sessions["protected"], bearer=known_token)
    for token_kind, measured in times.items():
        added = median(measured) - median(signed)
        yield Row(
            what=f"warm call with {token_kind}, beside a signed one",
            ours=ms(measured),
            reference=ms(signed),
            compared=f"{added:+.2f} ms",
            aim="≤ + 1 ms",
            met=added <= 1,
            n=n,
        )
