"""Runs a snapshot check: the agent's package and a probe are deployed to a runtime that is deleted afterwards."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypedDict, Unpack

from ..aws.deploy import deploy_package
from ..aws.packages import Package, make_package, runtime_name
from ..aws.runtime_code import call_once, read_code
from ..aws.runtime_settings import RuntimeSettings
from ..aws.runtimes import delete_runtime, stop_session
from ..errors import AgentNotFoundError, LoomError, NotSupportedError, ResourceNotFoundError
from ..snapshot_check import SnapshotReport, read_findings, with_probe
from ..snapshot_check.package import ENTRY_POINT, SCRIPT_VARIABLE, WARMUP_VARIABLE
from ..snapshot_check.reading import MOST_BYTES
from .blueprints import find_blueprint, find_code
from .context import Context

_STARTS: Final = 2


@dataclass(frozen=True, slots=True)
class _Code:
    name: str
    package: Package
    role_arn: str = ""
    warmup: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


class CheckOptions(TypedDict, total=False):
    """Options of a check.

    Variables of the agent's process, its warm-up hook (a path, or `:port/path` at another port of the agent's), and a
    function that is called with a line at each step.
    """

    environment: Mapping[str, str] | None
    warmup: str | None
    progress: Callable[[str], None] | None


def check_snapshot(context: Context, source: str | Path, **options: Unpack[CheckOptions]) -> SnapshotReport:
    """Check an agent of the catalog, a blueprint, or a folder or file.

    The agent is started twice in a temporary runtime of the local AgentCore, in the sandbox of its sessions.

    Args:
        context: The workbench's resources.
        source: The agent's name, runtime id or ARN, a blueprint's name, or a path.
        **options: `environment`, `warmup` and `progress`.

    Raises:
        NotSupportedError: The workbench is on AWS.
        AgentFailedError: The agent does not start.
        LoomError: Its code cannot be read, or its process did not report.
    """
    if context.where != "local":
        raise NotSupportedError(
            "The snapshot check runs on the local AgentCore",
            on=str(source),
            try_='loom.connect().tools.check_snapshot("FOLDER"), with the folder of the agent\'s code',
        )
    code = _code_of(context, source)
    environment = {**code.environment, **(options.get("environment") or {})}
    warmup = options.get("warmup") or code.warmup
    return _check(context, code, environment, warmup, options.get("progress") or (lambda _line: None))


def _code_of(context: Context, name_or_path: str | Path) -> _Code:
    if isinstance(name_or_path, str) and not Path(name_or_path).expanduser().exists():
        with contextlib.suppress(AgentNotFoundError):
            entry = context.catalog.get(name_or_path)
            if not entry.is_deleted:
                try:
                    code = read_code(context.clients, entry.runtime_id, region=entry.region)
                except ResourceNotFoundError as error:
                    if find_blueprint(entry.name) is None:
                        raise LoomError(
                            "The agent's package is no longer stored",
                            on=entry.name,
                            try_="the folder of its code, or deploy the agent again",
                        ) from error
                else:
                    return _Code(entry.name, code.package, code.role_arn, code.warmup, code.environment)
    path = find_code(name_or_path)
    own = path.stem if path.name not in ("agent.py", "main.py") else path.absolute().parent.name
    return _Code(runtime_name(own), make_package(path))


def _check(
    context: Context, code: _Code, variables: Mapping[str, str], warmup: str, progress: Callable[[str], None]
) -> SnapshotReport:
    clients, package = context.clients, code.package
    data = with_probe(package.data)
    checked = Package(data=data, digest=hashlib.sha256(data).hexdigest(), entry_point=ENTRY_POINT)
    for_probe = {SCRIPT_VARIABLE: package.entry_point} | ({WARMUP_VARIABLE: warmup} if warmup else {})
    progress("deploying to a temporary runtime")
    deployed = deploy_package(
        clients,
        f"{code.name[:30]}_check_{secrets.token_hex(4)}",
        checked,
        role_arn=code.role_arn or None,
        # The iteration order of sets of strings must not differ between the starts.
        environment={"PYTHONHASHSEED": "0", **variables, **for_probe},
        description="A snapshot check; deleted when it ends",
        settings=RuntimeSettings(platform_version="V1"),  # the probe makes the copies itself
    )
    sessions = [f"snapshot-check-{secrets.token_hex(16)}" for _ in range(_STARTS)]

    def start(session: str) -> bytes:
        try:
            return call_once(clients, deployed.arn, session, b"{}", limit_bytes=MOST_BYTES)
        finally:
            with contextlib.suppress(LoomError):
                stop_session(clients, deployed.arn, session)

    try:
        progress("starting the agent twice")
        # Without isolation both starts would serve the hook at the same port of this machine.
        at_once = 1 if warmup.startswith(":") else _STARTS
        with ThreadPoolExecutor(at_once, thread_name_prefix="loom-check") as pool:
            answers = list(pool.map(start, sessions))
        findings = read_findings(answers, package.data)
    finally:
        with contextlib.suppress(LoomError):
            delete_runtime(clients, deployed.runtime_id)
    return SnapshotReport(
        name=code.name,
        checked_at=datetime.now(UTC),
        findings=findings.findings,
        start_up_s=findings.start_up_s,
        not_checked=findings.not_checked,
        labels=context.labels,
    )
