"""An agent's requirements, installed for AgentCore's machines: Linux on ARM64, regardless of this machine.

Only wheels are installed, so that no code of a package runs here. pip runs in isolated mode, in a folder of its own and
with an allow-list of environment variables: the agent's folder may contain a module named `pip`, and packages must not
see the deployer's credentials.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ..errors import DeployError
from ..presentation.formats import plural
from ..redaction import SECRETS, redact

REQUIREMENTS: Final = "requirements.txt"
PLATFORMS: Final = ("manylinux2014_aarch64", "manylinux_2_17_aarch64", "manylinux_2_28_aarch64")
"""Platform tags that Amazon Linux 2023 on ARM64 supports; its glibc is 2.34."""

Report = Callable[[str], None]
MakeEnvironment = Callable[[Path], Mapping[str, str]]
"""Returns the environment variables of pip's process, given a folder for temporary files."""

_USER_INFO: Final = re.compile(r"(?<=//)[^/\s]+@")
_WITHIN_S: Final = 900.0
_LINES_SHOWN: Final = 12
_ROUNDS: Final = 5
_OPTIONS: Final = frozenset(
    {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--no-index", "--pre"}
    | {"--prefer-binary", "--require-hashes", "--trusted-host"}
)
_OPTIONS_OF_ONE: Final = frozenset({"--hash"})
_NESTED: Final = re.compile(r"(-r|--requirement|-c|--constraint)[\s=]*(\S+)")
_DIRECT: Final = re.compile(
    r"[a-z+]+:|\.{0,2}/|~/|[^@;]*@\s*(?!https?://[^\s?#]+\.whl(#\S*)?\s*(;|$))\S", re.IGNORECASE
)
_COMMENT: Final = re.compile(r"(^|\s+)#.*$")
_ENCODING: Final = re.compile(rb"\s*#.*?coding[:=]\s*([-\w.]+)")
_SHEBANG: Final = re.compile(rb"\A#!.*python[^\n]*\n")


def install_wheels(
    code: Path, target: Path, *, python: str, environment: MakeEnvironment, report: Report = lambda _line: None
) -> None:
    """Install the requirements of an agent's folder for AgentCore's machines.

    Args:
        code: The agent's folder. Without a `requirements.txt` nothing is installed.
        target: The folder to install into.
        python: The version of Python, such as "3.13".
        environment: Creates the environment variables of pip's process.
        report: Called with lines of progress.

    Raises:
        DeployError: A requirement is not a published package, or pip cannot install it for this platform.
    """
    file = code / REQUIREMENTS
    if not file.is_file():
        return
    lines = list(_requirement_lines(file, code))
    if not lines:
        return
    report(f"installing {plural(len(lines), 'requirement')} for Linux on ARM64, Python {python}")
    requirements = [_parsed(line, file) for line in lines]
    with tempfile.TemporaryDirectory(prefix="loom-pip-") as folder:
        scratch = Path(folder)
        _run_pip(("-r", str(file)), target, scratch, python, environment(scratch))
        for _ in range(_ROUNDS):
            missing = list(_missing(requirements, target, _markers_of(python)))
            if not missing:
                break
            _run_pip(("-c", str(_pins(target, scratch)), *missing), target, scratch, python, environment(scratch))
    _normalize(target)


def _run_pip(
    arguments: Sequence[str], target: Path, scratch: Path, python: str, environment: Mapping[str, str]
) -> None:
    command = [
        *(sys.executable, "-I", "-m", "pip", "install", *arguments, "--target", str(target), "--upgrade"),
        *(word for platform in PLATFORMS for word in ("--platform", platform)),
        *("--only-binary", ":all:", "--implementation", "cp", "--python-version", python),
        *("--no-compile", "--no-input", "--no-warn-script-location", "--disable-pip-version-check", "--quiet"),
        "--no-warn-conflicts",  # with this interpreter's own packages: reading those takes most of pip's time
    ]
    try:
        process = subprocess.run(
            command,
            cwd=scratch,
            # A wheel may require a source distribution by its URL, whatever --only-binary says. pip itself is isolated
            # and does not read PYTHONHOME; the Python that would build one does, and ends before it runs any code.
            env={**environment, "PYTHONHOME": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DeployError("pip took longer than 15 minutes", try_="check the index that pip uses") from error
    if process.returncode:
        output = process.stdout.decode("utf-8", "replace").strip().splitlines()
        if any("No module named pip" in line for line in output):
            raise DeployError("This Python has no pip", on=sys.executable, try_="python -m ensurepip")
        raise DeployError(
            "pip cannot install the requirements for Linux on ARM64:\n" + "\n".join(output[-_LINES_SHOWN:]),
            on=f"Python {python}",
            try_='versions that have wheels for manylinux2014_aarch64, or build = "container"',
        )


def _requirement_lines(file: Path, root: Path, ancestors: frozenset[Path] = frozenset()) -> Iterator[str]:
    """Yield the requirements of a file and of the files that it includes; reject lines that would run code here.

    Lines are joined and options parsed as pip does it: any difference could bypass the checks.
    """
    real = file.resolve()
    if real in ancestors or not real.is_relative_to(root.resolve()) or not real.is_file():
        raise DeployError(
            "A requirements file must exist in the agent's folder and must not include itself",
            on=str(file),
            try_="move it",
        )
    for number, raw in _joined_lines(_utf8_text(real)):
        line = _COMMENT.sub("", raw).strip()
        if not line:
            continue
        arguments, options = _split_line(line, file, number)
        if nested := _NESTED.fullmatch(line):
            nested_lines = list(_requirement_lines(file.parent / nested[2], root, ancestors | {real}))
            yield from nested_lines if nested[1] in ("-r", "--requirement") else ()
        elif not set(options) <= (_OPTIONS if not arguments else _OPTIONS_OF_ONE):
            raise _not_published(line, file, number)
        elif arguments:
            if _DIRECT.match(arguments) or "${" in arguments:  # pip substitutes environment variables there
                raise _not_published(line, file, number)
            yield arguments


def _utf8_text(file: Path) -> str:
    content = file.read_bytes()
    encodings = [declaration[1].lower() for line in content.split(b"\n")[:2] if (declaration := _ENCODING.match(line))]
    if any(name not in (b"utf-8", b"utf8", b"ascii", b"us-ascii") for name in encodings):
        raise DeployError("A requirements file must be encoded in UTF-8", on=file.name, try_="save it as UTF-8")
    return content.decode("utf-8-sig", errors="replace")


def _joined_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines, joining those that end in a backslash as pip does; a comment is not continued in the next line."""
    start, parts = 1, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        start = start if parts else number
        is_comment = bool(_COMMENT.match(line))
        if line.endswith("\\") and not is_comment:
            parts.append(line.strip("\\"))
            continue
        yield start, "".join([*parts, f" {line}" if is_comment else line])
        parts = []
    if parts:
        yield start, "".join(parts)


def _split_line(line: str, file: Path, number: int) -> tuple[str, list[str]]:
    """Return the part of a line before its options, and the options without their values."""
    words = line.split(" ")
    first = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    try:
        rest = shlex.split(" ".join(words[first:]))
    except ValueError as error:
        raise _not_published(line, file, number) from error
    return " ".join(words[:first]).strip(), [word.partition("=")[0] for word in rest if word.startswith("-")]


def _not_published(line: str, file: Path, number: int) -> DeployError:
    return DeployError(
        f"A requirement must be a published package: {_without_secrets(line)}",
        on=f"{file.name}, line {number}",
        try_='put the package\'s folder beside agent.py, publish a wheel, or build = "container"',
    )


def _without_secrets(line: str) -> str:
    """Return the start of a line without the user information of its addresses, which may be a token."""
    return redact(_USER_INFO.sub("…@", line), SECRETS).text[:120]


def _parsed(line: str, file: Path) -> Requirement:
    try:
        return Requirement(line)
    except InvalidRequirement as error:
        raise DeployError(
            f"This line is not a requirement: {_without_secrets(line)}",
            on=file.name,
            try_="a line such as requests==2.32.0",
        ) from error


def _markers_of(python: str) -> dict[str, str]:
    """Return the environment markers of AgentCore's machines; pip uses those of the machine that it runs on."""
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": "posix",
        "platform_machine": "aarch64",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }


def _missing(requirements: Sequence[Requirement], target: Path, markers: Mapping[str, str]) -> Iterator[str]:
    """Yield requirements that apply on AgentCore's machines but not on this one, so that pip has skipped them."""
    metadata_folders = {canonicalize_name(folder.name.split("-")[0]): folder for folder in target.glob("*.dist-info")}
    queue, seen_keys = [(requirement, "") for requirement in requirements], set[str]()
    while queue:
        requirement, extra = queue.pop()
        if requirement.marker and not requirement.marker.evaluate({**markers, "extra": extra}):
            continue
        key = f"{canonicalize_name(requirement.name)}[{','.join(sorted(requirement.extras))}]"
        if key in seen_keys:
            continue
        seen_keys.add(key)
        folder = metadata_folders.get(canonicalize_name(requirement.name))
        if folder is None:
            if requirement.url and _DIRECT.match(f"{requirement.name} @ {requirement.url}"):
                raise DeployError(
                    f"A package depends on another one that is not published: {_without_secrets(str(requirement))}",
                    on=requirement.name,
                    try_='build = "container"',
                )
            requirement.marker = None
            yield str(requirement)
            continue
        needs = list(_needs(folder))
        queue += [(need, name) for need in needs for name in ("", *sorted(requirement.extras))]


def _needs(folder: Path) -> Iterator[Requirement]:
    for line in (folder / "METADATA").read_text("utf-8", errors="replace").split("\n\n", 1)[0].splitlines():
        if line.startswith("Requires-Dist:"):
            try:
                yield Requirement(line.partition(":")[2].strip())
            except InvalidRequirement:  # of an old release; pip has already checked it
                continue


def _pins(target: Path, scratch: Path) -> Path:
    """Return a constraints file that pins the packages that are already installed."""
    pins = scratch / "installed.txt"
    names = sorted(folder.name.removesuffix(".dist-info") for folder in target.glob("*.dist-info"))
    pins.write_text("".join("{}=={}\n".format(*name.split("-")) for name in names if name.count("-") == 1), "utf-8")
    return pins


def _normalize(target: Path) -> None:
    """Remove differences between machines: the interpreter's path in scripts, and their hashes in the records."""
    for script in (target / "bin").glob("*"):
        if script.is_file():
            script.write_bytes(_SHEBANG.sub(b"#!/usr/bin/env python3\n", script.read_bytes()))
    for folder in target.glob("*.dist-info"):
        (folder / "direct_url.json").unlink(missing_ok=True)
        record = folder / "RECORD"
        if not record.is_file():
            continue
        rows = csv.reader(io.StringIO(record.read_text("utf-8")))
        portable_rows = [
            row for row in rows if row and not row[0].startswith("../") and not row[0].endswith("direct_url.json")
        ]
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(sorted(portable_rows))
        record.write_text(out.getvalue(), "utf-8")
