"""Extraction of a package, and its byte-compilation: run as a script, in a process of its own with limits.

A package may be hostile: a nine-megabyte file of assignments keeps Python's compiler busy for more than a minute and
takes gigabytes; meanwhile the service could not answer requests. This module needs only the standard library, so that
its process starts within 30 ms.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import py_compile
import resource
import shutil
import signal
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

# AWS's limits for direct code deployment, zipped and unzipped (Amazon Bedrock AgentCore service quotas).
ZIPPED_LIMIT_BYTES = 250_000_000
UNZIPPED_LIMIT_BYTES = 750_000_000
# Deflate cannot pass about 1,032 : 1. Real packages are near 4 : 1; a small file of zeros may be far above.
_RATIO_LIMIT, _RATIO_FROM_BYTES = 200, 10_000_000
_ENTRY_LIMIT = 50_000
_PIECE_BYTES = 1 << 20
_NICE = 19  # invocations of agents have priority
_PR_SET_PDEATHSIG = 1  # prctl(2)

CPU_LIMIT_S = 300
"""Processor time for one package. A real package of 750 MB needs about a minute."""

MEMORY_LIMIT_BYTES = 2 << 30
"""Address space for one package; compiling real source files needs less than 300 MB."""

REFUSED = 3
"""Exit status if the package is invalid; the reason is then on standard output."""

FAILED = 4
"""Exit status if this machine is the cause, such as a full disk."""

# What zipfile raises for damage; "encrypted" is a RuntimeError, "unknown compression" a NotImplementedError, and a
# directory that points outside the file a ValueError, or an OSError without an error number or with EINVAL.
_DAMAGE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, struct.error, zlib.error)


class InvalidPackageError(Exception):
    """A package that cannot be deployed; the message becomes the runtime's `failureReason`."""


def extract(package: Path, code: Path, entry_point: Iterable[str]) -> None:
    """Unzip a package into a new folder and byte-compile it.

    Args:
        package: The zip file.
        code: The folder; replaced if it exists.
        entry_point: AWS's list of one or two items, of which the last is a file of the package.

    Raises:
        InvalidPackageError: The package is damaged or a zip bomb, lacks its entry point, or holds links, special files
            or paths that leave the folder.
        OSError: This machine cannot store it, for example because the disk is full.
    """
    for stale in (code, *code.parent.glob(f"{code.name}.partial*")):  # of attempts that were interrupted
        shutil.rmtree(stale, ignore_errors=True)
    partial = partial_folder(code, os.getpid())
    partial.mkdir(parents=True)
    try:
        with zipfile.ZipFile(package) as archive:
            entries = archive.infolist()
            _check(entries, package.stat().st_size)
            _write(archive, entries, partial)
    except _DAMAGE as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise InvalidPackageError(f"The package is not a readable zip file: {error}") from error
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        if error.errno in (None, errno.EINVAL):  # seeking to where the directory of a damaged file points
            raise InvalidPackageError(f"The package is not a readable zip file: {error}") from error
        raise
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    script = tuple(entry_point)[-1]
    if not (partial / script).is_file():
        shutil.rmtree(partial, ignore_errors=True)
        raise InvalidPackageError(f"The entry point {script} is not in the package")
    try:
        _compile(partial, code)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    partial.replace(code)


def _compile(partial: Path, code: Path) -> None:
    """Byte-compile every source file; a file that does not compile is skipped and fails on import."""
    for source in sorted(partial.rglob("*.py")):
        name = source.relative_to(partial)
        try:
            py_compile.compile(str(source), dfile=str(code / name), doraise=True)
        except py_compile.PyCompileError as error:
            if error.exc_type_name == "MemoryError":
                limit, _ = resource.getrlimit(resource.RLIMIT_AS)
                raise InvalidPackageError(
                    f"{str(name)[:200]} needs more than {limit >> 20:,} MiB of memory to be compiled"
                ) from error
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise


def partial_folder(code: Path, process_id: int) -> Path:
    """Return the folder that holds a package until this process has extracted it."""
    return code.with_name(f"{code.name}.partial-{process_id}")


def _check(entries: list[zipfile.ZipInfo], zipped_bytes: int) -> None:
    if len(entries) > _ENTRY_LIMIT:
        raise InvalidPackageError(f"The package has more than {_ENTRY_LIMIT:,} entries")
    total = sum(entry.file_size for entry in entries)
    if total > UNZIPPED_LIMIT_BYTES:
        raise InvalidPackageError(f"The package unzips to {total:,} bytes, more than {UNZIPPED_LIMIT_BYTES:,}")
    if total > _RATIO_FROM_BYTES and total > _RATIO_LIMIT * zipped_bytes:
        raise InvalidPackageError(
            f"The package unzips to {total // max(zipped_bytes, 1):,} times its size, like a zip bomb"
        )
    for entry in entries:
        # The name as stored, before zipfile shortens it at a null byte.
        name = entry.orig_filename
        path = PurePosixPath(name)
        if not name or "\0" in name or "\\" in name or path.is_absolute() or ".." in path.parts or ":" in name:
            raise InvalidPackageError(f"The package has a path that leaves its folder: {name[:200]!r}")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise InvalidPackageError(f"The package has a link or special file: {name[:200]!r}")


def _write(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], folder: Path) -> None:
    bytes_written = 0
    for entry in entries:
        target = folder / entry.filename
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("wb") as file:
            # The sizes in a zip's directory may be wrong; count what is really written.
            while piece := source.read(_PIECE_BYTES):
                bytes_written += len(piece)
                if bytes_written > UNZIPPED_LIMIT_BYTES:
                    raise InvalidPackageError(f"The package unzips to more than {UNZIPPED_LIMIT_BYTES:,} bytes")
                file.write(piece)
        if entry.external_attr >> 16 & stat.S_IXUSR:
            target.chmod(0o755)


def _end_with(service: int) -> None:
    """Let this process end with the service, whose successor extracts the package again (Linux only)."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != service:  # it ended before the call
        sys.exit(FAILED)


def _main(request: dict[str, str]) -> int:
    """Extract a package under this process's limits; print the error, if any."""
    _end_with(int(request["service"]))
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_CPU, (int(request["cpu_s"]), int(request["cpu_s"]) + 1))
    memory_bytes = int(request["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        extract(Path(request["package"]), Path(request["code"]), [request["script"]])
    except InvalidPackageError as error:
        sys.stdout.write(str(error))
        return REFUSED
    except OSError as error:
        sys.stdout.write(f"{error.strerror or error} ({error.filename or request['code']})")
        return FAILED
    except MemoryError:
        sys.stdout.write(f"The package needs more than {memory_bytes >> 20:,} MiB of memory")
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(_main(json.loads(sys.stdin.read())))
