"""A deployment package: a zip that is checked before a byte of it is written, extracted and byte-compiled."""

from __future__ import annotations

import compileall
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from moto.core.exceptions import ServiceException
from moto.s3.models import s3_backends
from moto.utilities.utils import get_partition

from ..wire import RefusedError

# AWS's limits for direct code deployment, zipped and unzipped (Amazon Bedrock AgentCore service quotas).
ZIPPED_LIMIT_BYTES = 250_000_000
UNZIPPED_LIMIT_BYTES = 750_000_000
# Deflate cannot pass about 1,032 : 1. Real packages stay near 4 : 1; a small file of zeros may be far above.
_RATIO_LIMIT, _RATIO_FROM_BYTES = 200, 10_000_000
_ENTRY_LIMIT = 50_000
_PIECE_BYTES = 1 << 20


# What zipfile raises for damage; "encrypted" is a RuntimeError, "unknown compression" a NotImplementedError, and a
# directory that points outside the file an OSError or ValueError.
_DAMAGE = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    struct.error,
    zlib.error,
)


class InvalidPackageError(Exception):
    """A package that cannot be deployed; the message becomes the runtime's `failureReason`."""


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
        Refused: The object does not exist or is larger than AWS allows.
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


def extract(package: Path, code: Path, entry_point: Iterable[str]) -> None:
    """Unzip a package into a new folder and byte-compile it.

    Args:
        package: The zip file.
        code: The folder; replaced if it exists.
        entry_point: AWS's list of one or two items, of which the last is a file of the package.

    Raises:
        InvalidPackageError: The package is damaged or a zip bomb, lacks its entry point, or holds links, special files
            or paths that leave the folder.
    """
    shutil.rmtree(code, ignore_errors=True)
    partial = code.with_name(code.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        with zipfile.ZipFile(package) as archive:
            entries = archive.infolist()
            _check(entries, package.stat().st_size)
            _write(archive, entries, partial)
    except _DAMAGE as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise InvalidPackageError(f"The package is not a readable zip file: {error}") from error
    except InvalidPackageError:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    script = tuple(entry_point)[-1]
    if not (partial / script).is_file():
        shutil.rmtree(partial, ignore_errors=True)
        raise InvalidPackageError(f"The entry point {script} is not in the package")
    compileall.compile_dir(partial, quiet=2, stripdir=str(partial), prependdir=str(code), workers=1)
    partial.replace(code)


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
            raise InvalidPackageError(f"The package has a path that leaves its folder: {name!r}")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise InvalidPackageError(f"The package has a link or special file: {name!r}")


def _write(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], folder: Path) -> None:
    written = 0
    for entry in entries:
        target = folder / entry.filename
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("wb") as file:
            # The sizes in a zip's directory may be wrong; count what is really written.
            while piece := source.read(_PIECE_BYTES):
                written += len(piece)
                if written > UNZIPPED_LIMIT_BYTES:
                    raise InvalidPackageError(f"The package unzips to more than {UNZIPPED_LIMIT_BYTES:,} bytes")
                file.write(piece)
        if entry.external_attr >> 16 & stat.S_IXUSR:
            target.chmod(0o755)
