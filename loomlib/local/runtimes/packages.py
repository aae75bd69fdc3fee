"""Deployment packages: zip files that are checked, extracted and byte-compiled."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from moto.core.exceptions import ServiceException
from moto.s3.models import s3_backends
from moto.utilities.utils import get_partition

from ..wire import RefusedError
from . import extraction
from .extraction import (
    CPU_LIMIT_S,
    MEMORY_LIMIT_BYTES,
    ZIPPED_LIMIT_BYTES,
    InvalidPackageError,
    partial_folder,
)

_EXTRACTION = Path(__file__).with_name("extraction.py")
_EXTRACTED_WITHIN_S = 900.0  # also on a machine that is busy with agents


def fetch(bucket: str, key: str, version_id: str | None, *, account_id: str, region: str, to: Path) -> None:
    """Copy a package from the local S3.

    Args:
        bucket: The S3 bucket.
        key: The object's key.
        version_id: The object's version; None for the newest.
        account_id: Owner of the bucket.
        region: A region of the bucket's partition.
        to: File to write.

    Raises:
        RefusedError: The object does not exist or is larger than AWS allows.
    """
    backend = s3_backends[account_id][get_partition(region)]
    where = f"s3://{bucket}/{key}" + (f" (version {version_id})" if version_id else "")
    try:
        stored = backend.get_object(bucket, key, version_id=version_id)
    except ServiceException as error:
        raise RefusedError("ValidationException", 400, f"{where} cannot be read: {error}", reason="Other") from error
    if stored is None:
        raise RefusedError("ValidationException", 400, f"{where} does not exist", reason="FieldValidationFailed")
    if stored.size > ZIPPED_LIMIT_BYTES:
        limit = f"{ZIPPED_LIMIT_BYTES:,}"
        raise RefusedError("ValidationException", 400, f"{where} is larger than {limit} bytes", reason="Other")
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("wb") as file:
        file.write(stored.value)


async def extract_limited(
    package: Path,
    code: Path,
    entry_point: Sequence[str],
    *,
    cpu_s: int = CPU_LIMIT_S,
    memory_bytes: int = MEMORY_LIMIT_BYTES,
) -> None:
    """Unzip a package into a new folder and byte-compile it, in a process of its own with limits.

    Args:
        package: The zip file.
        code: The folder; replaced if it exists.
        entry_point: AWS's list of one or two items, of which the last is a file of the package.
        cpu_s: Largest processor time in seconds.
        memory_bytes: Largest address space.

    Raises:
        InvalidPackageError: The package is invalid, exceeds a limit, or cannot be stored here.
    """
    request = {"package": str(package), "code": str(code), "script": entry_point[-1], "service": str(os.getpid())}
    limits = {"cpu_s": str(cpu_s), "memory_bytes": str(memory_bytes)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_EXTRACTION)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    try:
        async with asyncio.timeout(_EXTRACTED_WITHIN_S):
            output, _ = await process.communicate(json.dumps(request | limits).encode())
    except TimeoutError as error:
        raise InvalidPackageError(f"The package was not extracted within {_EXTRACTED_WITHIN_S:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if process.returncode != 0:
            await asyncio.to_thread(shutil.rmtree, partial_folder(code, process.pid), ignore_errors=True)
    message = output.decode("utf-8", "replace").strip()
    match process.returncode:
        case 0:
            return
        case extraction.REFUSED:
            raise InvalidPackageError(message)
        case extraction.FAILED:
            raise InvalidPackageError(f"The package could not be stored on this machine: {message}")
        case code_ if code_ in (-signal.SIGXCPU, -signal.SIGKILL):
            raise InvalidPackageError(
                f"The package needs more than {cpu_s:,} s of processor time to be extracted and compiled"
            )
        case other:
            raise InvalidPackageError(f"The process that extracts the package ended with {other}")
