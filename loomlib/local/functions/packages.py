"""The code of functions, extracted once for each content."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from pathlib import Path
from typing import Final

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

    async def code_of(self, package: bytes, handler: str) -> Path:
        """Return the folder with the code of a package.

        Args:
            package: The zip file.
            handler: The function's handler, whose module must be in it.

        Raises:
            InvalidPackageError: It cannot be extracted, or has no such module.
        """
        digest = hashlib.sha256(package).hexdigest()[:32]
        folder = self._folder / digest
        async with self._extracting.setdefault(digest, asyncio.Lock()):
            code = folder / "code"
            if not code.is_dir():
                await asyncio.to_thread(_write, folder / "package.zip", package)
                try:
                    await extract_limited(folder / "package.zip", code, (f"{handler.rpartition('.')[0]}.py",))
                except BaseException:
                    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                    raise
            return code


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
