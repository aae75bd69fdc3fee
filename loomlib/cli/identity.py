"""`loom identity`: tokens of the local issuer; and where commands read a bearer token from."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from .. import local
from .command_context import CommandContext, pass_command_context
from .option_types import FiniteRange
from .output import emit_json


@click.group()
def identity() -> None:
    """Tokens of the local issuer, for runtimes with a JWT authorizer."""


@identity.command()
@click.option("--user", required=True, help="The subject (sub).")
@click.option("--scope", "scopes", multiple=True, help="A scope; repeatable.")
@click.option("--client", default=local.DEFAULT_CLIENT, show_default=True, help="The client (client_id).")
@click.option("--audience", multiple=True, help="An audience (aud); repeatable.")
@click.option("--expires", type=FiniteRange(min=1), default=3600, show_default=True, help="Seconds of validity.")
@click.option("--claim", "claims", multiple=True, metavar="NAME=VALUE", help="An additional claim, as JSON or text.")
@pass_command_context
def token(
    command: CommandContext,
    user: str,
    scopes: tuple[str, ...],
    client: str,
    audience: tuple[str, ...],
    expires: float,
    claims: tuple[str, ...],
) -> None:
    """Print a token of the local issuer, and nothing else.

    LOOM_BEARER=$(loom identity token --user alice) loom invoke --bearer LOOM_BEARER AGENT PROMPT
    """
    with command.connect() as bench:
        access_token = bench.identity.token(
            user,
            client=client,
            scopes=scopes,
            audience=audience,
            expires_s=expires,
            claims=dict(_claim(text) for text in claims),
        )
    if command.as_json:
        emit_json({"token": access_token, "expires_s": expires})
    else:
        click.echo(access_token)


@identity.command()
@pass_command_context
def issuer(command: CommandContext) -> None:
    """Print the address of the local issuer's metadata (discoveryUrl)."""
    with command.connect() as bench:
        address = bench.identity.discovery_url
    if command.as_json:
        emit_json({"discoveryUrl": address})
    else:
        click.echo(address)


def read_bearer(source: str | None) -> str | None:
    """Return the token that an option `--bearer` names: an environment variable, `@FILE`, or `-` for standard input.

    Raises:
        click.BadParameter: There is no token; or the option holds the token itself, which other users could see in the
            list of processes.
    """
    if source is None:
        return None
    if source == "-":
        text = sys.stdin.readline()
    elif source.startswith("@"):
        try:
            text = Path(source[1:]).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.BadParameter(f"{source[1:]} cannot be read: {error}", param_hint="--bearer") from error
    elif source.count(".") == 2 or len(source) > 100:
        raise click.BadParameter(
            "give the name of an environment variable, @FILE or -, not the token: other users see command lines",
            param_hint="--bearer",
        )
    else:
        text = os.environ.get(source, "")
    if not text.strip():
        raise click.BadParameter(f"{source} does not contain a token", param_hint="--bearer")
    return text.strip()


def _claim(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--claim")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


COMMANDS = (identity,)
