"""Requirement overlays: packages that an agent requires and that the interpreter lacks, installed once and cached."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import secrets
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..sandbox.bubblewrap import View, isolating
from ..sandbox.cgroups import Cgroups
from ..sandbox.isolation import Isolation
from ..sandbox.limits import Limits
from ..sandbox.users import end as end_user
from ..sandbox.users import hand_over, home_of, in_memory, supervising, supervisor_variables, take_user
from ..sandbox.variables import installer_environment, named_paths
from ..sandbox.watching import Watch
from ..sessions.processes import signal_group, signal_process
from .packages import InvalidPackageError
from .pythons import Python

_PIP_LINES_SHOWN = 12
_LOOKS_FOR_THE_LAST_PROCESS = 100
_JOIN = 'count=$1; shift; while [ "$count" -gt 0 ]; do echo 0 > "$1"; shift; count=$((count - 1)); done; exec "$@"'
"""Shell script: join control groups ($1 is their number, their files follow), then run the other arguments."""


class Environments:
    """The overlays of one home folder, in `environments/{digest}`; the same requirements are installed once.

    Args:
        folder: The folder that contains them.
        interpreter: The Python that runs pip.
        isolation: What separates installers from this machine.
        limits: The limits of a session, whose memory and process limits apply to installers, because requirements also
            run code.
    """

    def __init__(
        self,
        folder: Path,
        interpreter: str = sys.executable,
        isolation: Isolation | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._folder, self._interpreter, self._isolation = folder, interpreter, isolation or Isolation()
        self._limits = replace(limits or Limits(), storage=None, open_files=None)
        self._building: dict[str, asyncio.Lock] = {}

    async def overlay(self, code: Path, python: Python | None = None) -> Path | None:
        """Return the folder to add to `sys.path` for a package, or None when nothing is missing.

        Args:
            code: The extracted package.
            python: The Python that runs it, without the workbench's packages; None for the workbench's.

        Raises:
            InvalidPackageError: pip failed; the message has its last lines.
        """
        requirements = await asyncio.to_thread(_lacking, code, python)
        return await self._installed(requirements, python, code) if requirements else None

    async def builds(self, distributions: Sequence[str], python: Python | None = None) -> Path | None:
        """Return the folder with this machine's builds of a package's distributions; None if the package has them all.

        Args:
            distributions: Names and versions as requirements; their dependencies are not installed.
            python: The Python that loads them; None for the workbench's.

        Raises:
            InvalidPackageError: pip failed; the message has its last lines.
        """
        requirements = await asyncio.to_thread(_not_installed, distributions) if python is None else list(distributions)
        return await self._installed(requirements, python, None) if requirements else None

    async def _installed(self, requirements: list[str], python: Python | None, code: Path | None) -> Path:
        version = sys.version if python is None else str(python.executable)
        subject = "\n".join((version, platform.platform(), *requirements, *([] if code else ["--no-deps"])))
        if code and any(map(any, map(_local_words, requirements))):  # `.` refers to a different project in each package
            subject += await asyncio.to_thread(_digest_of, code)
        digest = hashlib.sha256(subject.encode()).hexdigest()[:20]
        folder = self._folder / digest
        async with self._building.setdefault(digest, asyncio.Lock()):
            if not folder.is_dir():
                await self._install(requirements, folder, code, python)
        return folder

    async def _install(self, requirements: list[str], folder: Path, code: Path | None, python: Python | None) -> None:
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        (partial / "scratch").mkdir(parents=True)
        requirements_file = partial / "requirements.txt"
        requirements_file.write_text(
            "\n".join(_with_paths(requirements, code, partial / "source") if code else requirements) + "\n", "utf-8"
        )
        environment = installer_environment(os.environ, partial / "scratch")
        # Isolated mode and another working folder: a package's own `pip` must not run in pip's place.
        # pip byte-compiles the installed files, so that the first session need not.
        command = [
            *(self._interpreter, "-I", "-m", "pip", *(("--python", str(python.executable)) if python else ())),
            *("install", "--target", str(partial / "packages"), "-r", str(requirements_file)),
            *("--no-input", "--no-warn-script-location", "--quiet", *(() if code else ("--no-deps",))),
            "--no-warn-conflicts",  # with the interpreter's own packages: reading those takes most of pip's time
        ]
        descriptors: list[int] = []
        if self._isolation.level == "bubblewrap":
            view = View(
                folder=partial,
                read=(*((code,) if code else ()), *named_paths(environment), *(python.folders if python else ())),
                own_network=False,
            )
            command, descriptors = isolating(self._isolation.program, view, environment, command)
            environment = {}
        user = 0
        if self._isolation.level == "user":
            user, _ = take_user(self._folder.parent, partial, [Path(self._interpreter)])
            descriptors = [in_memory(environment)]
            command = supervising((), command, user, descriptors[0])
            environment = supervisor_variables()
        mark, cgroups, limit_names = secrets.token_hex(8), Cgroups(), list[str]()
        watch = Watch(cgroups)
        groups = cgroups.make(mark, self._limits)
        if groups:
            command = ["/bin/sh", "-c", _JOIN, "sh", str(len(groups)), *map(str, groups), *command]
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=partial,
                env=environment,
                pass_fds=descriptors,
                start_new_session=True,
            )
        except BaseException:
            cgroups.remove(mark)
            cgroups.close()
            if user:
                end_user(user)
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

        def kill() -> None:
            if user:
                signal_process(process.pid, signal.SIGTERM)  # the supervisor then ends all others
            else:
                signal_group(process.pid, signal.SIGKILL)

        def end(name: str) -> None:
            limit_names.append(name)
            kill()

        watch.add(mark, process.pid, (), self._limits, end)
        try:
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            kill()
            await process.wait()
            raise
        finally:
            watch.close()
            limit_names += filter(None, [cgroups.reached(mark)])
            cgroups.remove(mark)
            cgroups.close()
            if user:
                await asyncio.to_thread(end_user, user)
                shutil.rmtree(home_of(partial), ignore_errors=True)
            if process.returncode != 0:
                shutil.rmtree(partial, ignore_errors=True)
        if process.returncode:
            for _ in range(_LOOKS_FOR_THE_LAST_PROCESS):  # the kernel ends sandboxed ones a moment later
                if not any(group.exists() for group in groups):
                    break
                await asyncio.sleep(0.05)
                cgroups.remove(mark)
                cgroups.close()
            if limit_names:
                raise InvalidPackageError(
                    f"pip could not install {', '.join(requirements)}: {self._limits.reached(limit_names[0])}"
                )
            tail = output.decode("utf-8", "replace").strip().splitlines()[-_PIP_LINES_SHOWN:]
            raise InvalidPackageError("\n".join([f"pip could not install {', '.join(requirements)}:", *tail]))
        if (partial / "packages").is_symlink():
            raise InvalidPackageError(f"{', '.join(requirements)} put a link in place of the folder of packages")
        (partial / "packages").mkdir(exist_ok=True)
        if user:
            hand_over(partial / "packages", os.geteuid(), former=user)
        (partial / "packages").replace(folder)
        shutil.rmtree(partial, ignore_errors=True)


def _local_words(line: str) -> list[bool]:
    """Return the words of a requirement that are paths in the package."""
    return [word.startswith(("./", "../")) or word == "." for word in line.split()]


def _digest_of(folder: Path) -> str:
    """Return a digest of the names and the contents of a folder's files, without compiled ones."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink() and file.suffix != ".pyc":
            with file.open("rb") as opened:
                content = hashlib.file_digest(opened, "sha256").hexdigest()
            digest.update(f"{file.relative_to(folder).as_posix()}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _with_paths(lines: list[str], code: Path, source: Path) -> list[str]:
    """Return the lines with the package's own paths replaced by absolute paths in a copy, where a build may write."""
    local = list(map(_local_words, lines))
    if not any(map(any, local)):
        return lines
    shutil.copytree(code, source, symlinks=True)
    result: list[str] = []
    for line, flags in zip(lines, local, strict=True):
        words: list[str] = []
        for word, is_local in zip(line.split(), flags, strict=True):
            path = (source / word).resolve()
            if is_local and not path.is_relative_to(source.resolve()):
                raise InvalidPackageError(f"requirements.txt names a path that is not in the package: {word}")
            words.append(str(path) if is_local else word)
        result.append(" ".join(words))
    return result


def _lacking(code: Path, python: Python | None) -> list[str]:
    if not (code / "requirements.txt").is_file():
        return []
    from .requirements import lacking  # its parser takes 20 ms to import, and most packages do not need it

    return lacking(code, of_workbench=python is None)


def _not_installed(distributions: Sequence[str]) -> list[str]:
    if not distributions:
        return []
    from .requirements import is_satisfied  # as above

    return [line for line in distributions if not is_satisfied(line)]
