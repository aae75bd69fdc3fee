"""The requirements of a hub, and which of them are not met: `loom hub check`."""

from __future__ import annotations

import grp
import importlib.metadata
import os
import pwd
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..errors import LoomError
from ..presentation.formats import day, join, plural, size
from .certificate import read_certificate
from .configuration import check_home, read_database_url
from .proxy import find_proxy
from .settings import HubSettings

PACKAGES: Final = ("jupyterhub", "jupyterhub-idle-culler", "jupyterlab")
USER_BYTES: Final = 720 * 2**20
"""Memory of one active user, as proportional set size: server 117 MB, and kernel, local AgentCore and three open
sessions 601 MB.

Measured with `python -m tests.benchmarks hub` and `python -m tests.benchmarks learners`."""

_LONGEST_RUN_FOLDER: Final = (
    107 - len("/kernel-") - 36 - len("-ipc-5")
)  # sockaddr_un has 108 bytes; a kernel's id has 36


@dataclass(frozen=True, slots=True, kw_only=True)
class HubCheck:
    """The result of one check: whether it passed, what was found, and how to fix it.

    `stops_all` is False where only some users cannot start their server until it is fixed.
    """

    name: str
    ok: bool
    seen: str
    fix: str = ""
    stops_all: bool = True


def check_hub(settings: HubSettings) -> Iterator[HubCheck]:
    """Check the packages, proxy, certificate, users, home folders, catalog and memory of a hub; change nothing."""
    for name in PACKAGES:
        yield _guarded(name, lambda name=name: _package(name))
    yield _guarded("proxy", find_proxy)
    yield _guarded("certificate", lambda: _certificate(settings))
    yield _guarded("private files", lambda: _private(settings))
    yield _guarded("catalog", lambda: _catalog(settings))
    if settings.has_system_users:
        yield _guarded("Python for users", _readable)
        yield _guarded("users", lambda: _users(settings))
        yield from _homes(settings)
    else:
        note = "one account for all: a user can open the files of others, and sign in as them"
        yield HubCheck(name="users", ok=True, seen=note)
    yield _guarded("memory", _memory)


def _guarded(name: str, look: Callable[[], str]) -> HubCheck:
    try:
        return HubCheck(name=name, ok=True, seen=look())
    except LoomError as error:
        return HubCheck(name=name, ok=False, seen=error.what + (f" ({error.on})" if error.on else ""), fix=error.try_)
    except OSError as error:
        return HubCheck(name=name, ok=False, seen=str(error), fix="check the owner and mode of the file")


def _package(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise LoomError("not installed", try_="pip install 'loomlib[local,notebook,hub]'") from error


def _certificate(settings: HubSettings) -> str:
    certificate = read_certificate(settings.certificates)
    if certificate.valid_until <= datetime.now(UTC):
        raise LoomError(
            f"It expired on {day(certificate.valid_until.date())}",
            on=str(certificate.certificate),
            try_=f"loom hub certificate {settings.folder}",
        )
    if settings.host not in certificate.hosts and not any(
        host.startswith("*.") and settings.host.partition(".")[2] == host[2:] for host in certificate.hosts
    ):
        raise LoomError(
            f"It is for {join(certificate.hosts)}", on=settings.host, try_=f"loom hub certificate {settings.folder}"
        )
    return f"for {join(certificate.hosts)}, until {day(certificate.valid_until.date())}"


def _private(settings: HubSettings) -> str:
    for path in (settings.state, settings.databases, settings.certificates / "key.pem"):
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise LoomError("Others can open it", on=str(path), try_=f"chmod go-rwx {path}")
    stores = sorted(settings.databases.iterdir())
    for file in stores:
        read_database_url(settings, file.name)
    return f"closed to others; {plural(len(stores), 'user')} with a store at their own address, others use SQLite"


def _catalog(settings: HubSettings) -> str:
    folder = settings.catalog
    for path in (folder, *folder.rglob("*")):
        status = path.stat()
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
            raise LoomError(
                "Users can change the shared catalog",
                on=str(path),
                try_=f"chown -R root {folder}; chmod -R go-w {folder}",
            )
        if not status.st_mode & 0o004:
            raise LoomError("Users cannot read the shared catalog", on=str(path), try_=f"chmod -R a+rX {folder}")
    blueprints, sets = (
        len(list(folder.glob("blueprints/*/agent.py"))),
        len(list(folder.glob("eval_sets/*.evalset.json"))),
    )
    return f"{plural(blueprints, 'blueprint')} and {plural(sets, 'eval set')} in {folder}"


def _readable() -> str:
    package = Path(__file__).resolve().parent
    for path in (Path(sys.executable), Path(sys.executable).resolve(), package):
        for folder in path.parents:
            if not folder.stat().st_mode & 0o001:
                raise LoomError(
                    "Users cannot read the environment of Python and Loom",
                    on=f"{folder} on the way to {path}",
                    try_="install it where all users can read it, such as /opt/loom",
                )
    return sys.prefix


def _users(settings: HubSettings) -> str:
    accounts = _accounts(settings)
    if not accounts:
        raise LoomError(
            "Nobody may sign in", on=settings.group, try_=f"useradd -m -G {settings.group} NAME; passwd NAME"
        )
    longest = max((settings.run / name for name in accounts), key=lambda path: len(str(path)))
    if len(str(longest)) > _LONGEST_RUN_FOLDER:
        raise LoomError(
            "The path is too long for the sockets of kernels",
            on=str(longest),
            try_="a hub's folder with a shorter path, such as /srv/hub",
        )
    return f"{plural(len(accounts), 'user')} may sign in"


def _homes(settings: HubSettings) -> Iterator[HubCheck]:
    try:
        accounts = _accounts(settings)
    except LoomError:
        return  # the check of the users reports it
    well = 0
    for account in accounts.values():
        try:
            check_home(Path(account.pw_dir), account.pw_uid)
            well += 1
        except LoomError as error:
            problem = f"{error.what} ({error.on})"
            yield HubCheck(name=f"home of {account.pw_name}", ok=False, seen=problem, fix=error.try_, stops_all=False)
    yield HubCheck(name="homes", ok=True, seen=f"{plural(well, 'home folder')} closed to others")


def _accounts(settings: HubSettings) -> dict[str, pwd.struct_passwd]:
    accounts: dict[str, pwd.struct_passwd] = {}
    for name in (settings.group, settings.teachers):
        try:
            group = grp.getgrnam(name)
        except KeyError as error:
            raise LoomError("The group does not exist", on=name, try_=f"groupadd {name}") from error
        accounts |= {account.pw_name: account for account in pwd.getpwall() if account.pw_gid == group.gr_gid}
        for member in group.gr_mem:
            try:
                accounts[member] = pwd.getpwnam(member)
            except KeyError as error:
                raise LoomError(
                    "A member of the group is not a user", on=f"{member} in {name}", try_=f"useradd -m {member}"
                ) from error
    return accounts


def _memory() -> str:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{size(total)}: enough for about {plural(int(total * 0.8 // USER_BYTES), 'active user')}"
