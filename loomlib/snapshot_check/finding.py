"""A value or resource that all sessions restored from one snapshot share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

KINDS: Final = (
    "id", "random", "clock", "credential", "connection", "database", "file", "thread", "process", "cache",
)  # fmt: skip

_WHAT: Final = {
    "id": "All sessions have the same id",
    "random": "All sessions draw the same random numbers, or have the same random value",
    "clock": "All sessions read the time at which the snapshot was prepared, not their own",
    "credential": "All sessions use a credential that expires",
    "connection": "A connection is open; its other end will have closed it when a session is restored",
    "database": "A database is open; restored sessions share its file and its locks",
    "file": "A file is open; restored sessions share its position, or write into each other's lines",
    "thread": "A thread runs from start-up; it does not run in a restored session",
    "process": "A child process runs from start-up; it does not run in a restored session",
    "cache": "A cache counts its age from the build, so that sessions start with entries that have expired",
}
_FIX: Final = {
    "id": "Create the id in the request (the entrypoint's context has the session id), not at import.",
    "random": "Create the value or generator in the request, or reseed there: random.seed(); "
    "secrets and uuid4 are safe.",
    "clock": "Read the clock in the request.",
    "credential": "Get the credential in the request, or from a provider that refreshes it; let boto3 find its own.",
    "connection": "Open it at first use (functools.cache on a function), and close what the warm-up hook opens.",
    "database": "Connect at first use; the warm-up hook may load data into memory and must close the connection.",
    "file": "Open it where it is used and close it; write logs to standard output.",
    "thread": "Start the thread at first use, in the request or its first call, not at import.",
    "process": "Start the process at first use; enter an MCP client's context in the request.",
    "cache": "Fill the cache at first use; the warm-up hook may load data that does not age.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFinding:
    """One line of an agent that creates something that restored sessions must not share.

    Attributes:
        kind: One of `KINDS`.
        file: The file in the agent's package; "" when the line is unknown.
        line: The line number; 0 when it is unknown.
        source: The line itself, with secrets redacted.
        made_by: The function that created it, or what it is.
        paths: Where it is kept, such as `agent.SETTINGS['id']`.
        detail: What was compared.
    """

    kind: str
    file: str
    line: int
    source: str = ""
    made_by: str = ""
    paths: tuple[str, ...] = ()
    detail: str = ""

    @property
    def what(self) -> str:
        """What is wrong."""
        return _WHAT[self.kind]

    @property
    def fix(self) -> str:
        """How to fix it."""
        return _FIX[self.kind]

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}" if self.file else "unknown line"

    def row(self) -> dict[str, Any]:
        """Return the finding as a table row."""
        return {
            "kind": self.kind,
            "where": self.where,
            "source": self.source,
            "made_by": self.made_by,
            "kept_in": ", ".join(self.paths),
            "what": self.what,
            "fix": self.fix,
        }
