"""The package of an agent: its code, and for AWS its requirements built for AgentCore's machines."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..aws.packages import Package, make_package
from ..aws.runtime_requests import INSTRUMENT
from ..errors import DeployError
from .spec import AgentSpec
from .wheels import REQUIREMENTS, MakeEnvironment, Report, install_wheels

DEFAULT_PYTHON: Final = "3.13"
"""The Python version on AWS for an agent that does not set one."""

_DISTRO: Final = "aws_opentelemetry_distro"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPackage:
    """A package, and notes about it for the plan."""

    package: Package
    notes: tuple[str, ...] = ()


def build_package(
    code: Path,
    spec: AgentSpec,
    *,
    where: str,
    environment: MakeEnvironment,
    report: Report = lambda _line: None,
) -> BuiltPackage:
    """Build the package of an agent.

    The local AgentCore installs requirements itself, for this machine. On AWS nothing is installed: a package contains
    its dependencies as wheels for Linux on ARM64.

    Args:
        code: The agent's folder, or its one file.
        spec: The deployment.
        where: "local" or "aws".
        environment: Creates the environment variables of pip's process.
        report: Called with lines of progress.

    Raises:
        DeployError: There is no file to start, a requirement cannot be installed, or the package exceeds a quota.
    """
    start, is_instrumented = _entry_point(spec.entry_point)
    try:
        has_requirements = code.is_dir() and (code / REQUIREMENTS).is_file()
        if where == "local" or spec.build == "container" or not has_requirements:
            package = make_package(code, start)
            notes = (_NOTHING_INSTALLED,) if where == "aws" and not has_requirements else ()
        else:
            with tempfile.TemporaryDirectory(prefix="loom-package-") as folder:
                installed = Path(folder)
                install_wheels(
                    code, installed, python=spec.python or DEFAULT_PYTHON, environment=environment, report=report
                )
                report("packaging")
                package, notes = make_package(code, start, installed=installed), ()
                is_instrumented |= not spec.entry_point and any(installed.glob(f"{_DISTRO}-*.dist-info"))
    except ValueError as error:
        raise DeployError(
            f"The agent cannot be packaged: {error}", on=spec.name, try_="correct the stated cause"
        ) from error
    if is_instrumented:
        package = replace(package, entry_point=f"{INSTRUMENT} {package.entry_point}")
    return BuiltPackage(package=package, notes=notes)


_NOTHING_INSTALLED: Final = (
    "The package has no dependencies: there is no requirements.txt, and AgentCore on AWS installs nothing. Deploy the "
    "agent's folder with a requirements.txt unless the code needs nothing but Python itself."
)


def _entry_point(text: str) -> tuple[str | None, bool]:
    start = text.removeprefix(f"{INSTRUMENT} ").strip()
    return start or None, start != text
