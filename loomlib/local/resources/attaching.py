"""The control plane's resources as an attached SQLite database, for other databases and processes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

FILE_NAME: Final = "resources.db"


def attach(connection: sqlite3.Connection, home: Path) -> None:
    """Let a plain SQLite connection, opened with `uri=True`, read this home folder's memories.

    The view `memories` has `id`, `tenant` and `body`, the memory's members as JSON; `memory_tags` has `id`, `name` and
    `value`. The file is attached read-only, so a transaction of the connection never locks it.
    """
    address = f"{(home / FILE_NAME).absolute().as_uri()}?mode=ro"
    connection.execute("ATTACH ? AS catalog", (address,))
    connection.execute(
        "CREATE TEMP VIEW memories AS SELECT id, tenant, json_set(document, '$.id', id) AS body FROM catalog.resources "
        "WHERE kind = 'Memory'"
    )
    connection.execute(
        "CREATE TEMP VIEW memory_tags AS SELECT r.id, t.name, t.value FROM catalog.tags t "
        "JOIN catalog.resources r ON r.arn = t.arn WHERE r.kind = 'Memory'"
    )
