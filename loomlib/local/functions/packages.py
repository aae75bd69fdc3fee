"""The code of functions, extracted once per content."""

from __future__ import annotations

import asyncio
import hashlib
import io
import shutil
import zipfile
from pathlib import Path
from typing import Final

from ..runtimes.extraction import InvalidPackageError
from ..runtimes.packages import extract_limited

FOLDER: Final = "functions"


class FunctionPackages:
    """Extracts packages below a home folder.

    Args:
        home: The home folder.
    """

    def __init__(self, home: Path) -> None:
        self._folder = (home / FOLDER).absolute()
        self._extracting: dict[str, asyncio.Lock] = {}

    async def code_of(self, package: bytes) -> Path:
        """Return the folder with the content of a package or layer.

        Args:
            package: The zip file.

        Raises:
            InvalidPackageError: It cannot be extracted.
        """
        digest = hashlib.sha256(package).hexdigest()[:32]
        folder = self._folder / digest
        async with self._extracting.setdefault(digest, asyncio.Lock()):
            code = folder / "code"
            if not code.is_dir():
                await asyncio.to_thread(_write, folder / "package.zip", package)
                try:
                    first = await asyncio.to_thread(_first_file, package)
                    await extract_limited(folder / "package.zip", code, (first,))
                except BaseException:
                    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                    raise
            return code


def _first_file(package: bytes) -> str:
    """Return the name of one file in a package, as a proof that it is not empty."""
    try:
        with zipfile.ZipFile(io.BytesIO(package)) as archive:
            return next((name for name in archive.namelist() if not name.endswith("/")), "package")
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise InvalidPackageError(f"The package is not a readable zip file: {error}") from error


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
