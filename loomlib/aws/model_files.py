"""botocore's service description files, read once per process.

Each session of botocore reads the files of its clients again, which takes 0.3 s of processor time for the clients of a
deployment: the second workbench of a process need not wait for them.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from botocore.loaders import JSONFileLoader, Loader

if TYPE_CHECKING:
    from botocore.session import Session

_OWN = os.path.join(Loader.BUILTIN_DATA_PATH, "")
_EXTRAS = ".sdk-extras.json"
"""Suffix of files that botocore merges into the content of another file."""


def share_files(session: Session) -> None:
    """Make a botocore session share the content of botocore's own files with other sessions.

    Files into which botocore merges another one are not shared, nor are the user's own files.
    """
    session.get_component("data_loader").file_loader = _SharedFiles()


class _SharedFiles(JSONFileLoader):
    def load_file(self, file_path: str) -> Any:
        if not file_path.startswith(_OWN) or os.path.exists(file_path + _EXTRAS):
            return super().load_file(file_path)
        return _read(file_path)


@functools.cache
def _read(file_path: str) -> Any:
    return JSONFileLoader().load_file(file_path)
