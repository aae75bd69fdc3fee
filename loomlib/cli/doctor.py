"""`loom doctor`: check what Loom needs."""

from __future__ import annotations

import importlib.metadata
import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from .. import local
from ..errors import LocalServiceNotRunningError, LoomError
from ..plugins import find_plugins
from ..presentation.formats import size
from ..recovery import damaged_files
from .command_context import CommandContext, pass_command_context
from .output import emit_json, say

if TYPE_CHECKING:
    from ..workbench.account_checks import AccountCheck

_NEEDED = (
    "boto3",
    "pandas",
    "plotly",
    "sqlalchemy",
    "strands-agents",
    "bedrock-agentcore",
    "moto",
    "papermill",
    "jupyterlab",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check: whether it passed, what was found, and how to fix it."""

    name: str
    ok: bool
    seen: str
    fix: str = ""


@click.command()
@click.argument("what", required=False, type=click.Choice(["aws"]))
@click.option("--model", "models", multiple=True, help="A model whose access is checked; repeatable.")
@pass_command_context
def doctor(command: CommandContext, what: str | None, models: tuple[str, ...]) -> int:
    """Check Python, packages, home folder, loopback, database, AgentCore, isolation and plugins.

    `loom doctor aws` checks an AWS account instead: credentials, region, permissions, quotas, models, log groups and
    Transaction Search, each with its fix. It changes nothing.
    """
    if what == "aws":
        return _account(command, models)
    checks = [
        _python(),
        *(_package(name) for name in _NEEDED),
        _guarded("home folder", lambda: _folder(command)),
        _guarded("loopback", _loopback),
        _guarded("store", lambda: _store(command)),
        _guarded("AgentCore", lambda: _agentcore(command)),
        _guarded("isolation of sessions", lambda: local.isolation_sentence(command.settings.home)),
        _guarded("browser of sessions", local.browser_sentence),
        _plugins(),
    ]
    well = all(check.ok for check in checks)
    if command.as_json:
        emit_json([{"name": c.name, "ok": c.ok, "seen": c.seen, "fix": c.fix, "mend": c.fix} for c in checks])
    else:
        for check in checks:
            mark = "ok    " if check.ok else "FAILED"
            click.echo(
                f"{mark}  {check.name}: {check.seen}" + (f"  → {check.fix}" if check.fix and not check.ok else "")
            )
        say("all checks passed" if well else "some checks failed; the lines above say how to fix them")
    return 0 if well else 1


def _account(command: CommandContext, models: tuple[str, ...]) -> int:
    from ..aws import Clients, Connection
    from ..workbench.account_checks import check_account

    clients = Clients(Connection(region=command.settings.region, profile=command.settings.profile))
    checks: list[AccountCheck] = []
    for check in check_account(clients, **({"models": models} if models else {})):
        checks.append(check)
        if not command.as_json:  # each when it is done: some take seconds
            mark = {"passed": "ok     ", "failed": "FAILED ", "unknown": "unknown"}[check.state]
            click.echo(f"{mark}  {check.name}: {check.seen}" + (f"  → {check.fix}" if check.fix else ""))
    clients.close()
    if command.as_json:
        emit_json([asdict(check) for check in checks])
    failed = sum(check.state == "failed" for check in checks)
    if not command.as_json:
        say(f"{failed} of {len(checks)} checks failed" if failed else "no check failed")
    return 1 if failed else 0


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check(name="Python", ok=sys.version_info >= (3, 11), seen=version, fix="Python 3.11 or newer")


def _package(name: str) -> Check:
    try:
        return Check(name=name, ok=True, seen=importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name=name, ok=False, seen="not installed", fix="pip install 'loomlib[local,notebook]'")


def _guarded(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name=name, ok=True, seen=look())
    except LoomError as error:
        return Check(name=name, ok=False, seen=error.what + (f" ({error.on})" if error.on else ""), fix=error.try_)
    except OSError as error:
        return Check(name=name, ok=False, seen=str(error), fix="check the folder's owner and the free space")


def _folder(command: CommandContext) -> str:
    command.settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    probe = command.settings.home / ".doctor"
    probe.write_text("")
    probe.unlink()
    if damaged := damaged_files(command.settings.home):
        names = ", ".join(str(item.aside.relative_to(command.settings.home)) for item in damaged)
        raise LoomError(
            "Damaged files were set aside",
            on=f"{names} in {command.settings.home}",
            try_="what was readable is in the new files; delete these when you no longer need them",
        )
    free = shutil.disk_usage(command.settings.home).free
    return f"{command.settings.home} ({size(free)} free)"


def _loopback() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"a port is free ({server.getsockname()[1]})"


def _store(command: CommandContext) -> str:
    from ..store import Store

    settings = command.settings
    store = Store.open(settings.database_url, tenant=settings.tenant, user=settings.user)
    try:
        return store.url
    finally:
        store.close()


def _agentcore(command: CommandContext) -> str:
    if command.where == "aws":
        with command.connect() as bench:
            return f"AWS · account {bench.clients.account_id()} · {bench.clients.region}"
    try:
        status = local.status(command.settings.home)
    except LocalServiceNotRunningError:
        return "local, not running (loom up or connect() starts it)"
    return f"local, up at {status.state.url}"


def _plugins() -> Check:
    problems = find_plugins().problems
    summary = "none broken" if not problems else ", ".join(problem.distribution for problem in problems)
    return Check(name="plugins", ok=not problems, seen=summary, fix="loom plugins")


COMMANDS = (doctor,)
