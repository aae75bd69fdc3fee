"""Servers outside AgentCore in the database: an address, or a command that Loom starts."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from ..entry import ServerEntry

if TYPE_CHECKING:
    from loomlib.store import Store

SCOPE = "server"
"""The scope under which these servers are stored; the catalog of agents has other scopes."""


def server_entry(store: Store, server: str | Sequence[str]) -> ServerEntry:
    """Return the stored entry of a URL or a command; it is created at first use.

    The user, query and arguments are not stored, since they may hold secrets; a digest tells commands apart.

    Args:
        store: The database.
        server: A URL, or a command with its arguments.
    """
    if isinstance(server, str):
        parts = urlsplit(server)
        host = parts.hostname or ""
        netloc = f"{host}:{parts.port}" if parts.port else host
        address, name = urlunsplit((parts.scheme, netloc, parts.path, "", "")), f"{netloc}{parts.path}"
    else:
        digest = sha256("\0".join(server).encode()).hexdigest()[:12]
        scripts = [PurePath(part).name for part in server if part.endswith((".py", ".js", ".ts"))]
        name = scripts[0] if scripts else PurePath(server[0]).name
        address = f"command:{name}:{digest}"
    row = store.agents.upsert(
        scope=SCOPE, arn=address, runtime_id=address, region="", account_id="", name=name, status="READY"
    )
    return ServerEntry(id=row.id, name=name, arn=address)
