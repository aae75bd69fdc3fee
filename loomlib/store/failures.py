"""Translation of database errors into Loom's errors. No SQLAlchemy exception leaves the store."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import exc

from ..errors import StoreDamagedError, StoreError, StoreFullError
from ..presentation.formats import size
from ..recovery import is_damage, is_full_disk, mark_damaged
from .postgresql import TRY_AGAIN

_DATABASE_ENDINGS = {".db", ".sqlite", ".sqlite3"}
_LOCKED = {"SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"}
_UNREACHABLE = {"SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"}
_CONNECTION_LOST = ("08", "57P")  # PostgreSQL's classes of error codes: connection, and the server's end
_REFUSED = ("28", "3D", "42501")
# The driver's errors of connecting have no code: their texts are the server's, in English unless it is set otherwise.
_TOO_MANY_TEXTS = ("too many connections", "remaining connection slots", "too many clients")
_REFUSED_TEXTS = ("authentication failed", "no pg_hba.conf entry", "does not exist", "is not permitted", "no password")


@contextmanager
def translated(place: str, file: Path | None = None, *, secret: str | None = None) -> Generator[None, None, None]:
    """Translate errors of the database and the file system inside the block into `StoreError` or `StoreFullError`.

    Args:
        place: The database's address without its password.
        file: The file of an SQLite database.
        secret: The password, which no message may show.
    """
    try:
        yield
    except exc.StatementError as error:
        # A value that its column type refused before any SQL was sent is the caller's mistake.
        if not isinstance(error, exc.DBAPIError) and isinstance(error.orig, (ValueError, TypeError)):
            raise error.orig from error
        raise _translate(error.orig or error, place, file, secret) from error
    except exc.SQLAlchemyError as error:
        raise _translate(error, place, file, secret) from error
    except UnicodeDecodeError as error:
        # SQLite's message about a damaged schema holds bytes of it, which the driver cannot decode.
        raise _translate(error, place, file, secret) from error
    except ModuleNotFoundError as error:
        raise StoreError(
            "The database's driver is not installed", on=place, try_=f"pip install {error.name}"
        ) from error
    except OSError as error:
        if is_full_disk(error):
            raise _full(place, file) from error
        raise StoreError(
            f"The database cannot be opened: {error.strerror}", on=place, try_="another LOOM_HOME or DATABASE_URL"
        ) from error


def is_worth_repeating(error: StoreError) -> bool:
    """Return whether the transaction that failed may succeed when it is repeated: after a deadlock, for example."""
    cause = error.__cause__
    origin = cause.orig if isinstance(cause, exc.StatementError) else cause
    return getattr(origin, "sqlstate", None) in TRY_AGAIN


def _translate(error: BaseException, place: str, file: Path | None, secret: str | None) -> StoreError:
    name = _family(getattr(error, "sqlite_errorname", "") or "")
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    if secret:
        text = text.replace(secret, "***")
    if is_full_disk(error) or getattr(error, "sqlstate", None) == "53100":
        return _full(place, file)
    if file is None and (refusal := _of_server(error, text, place)) is not None:
        return refusal
    if is_damage(error):
        reason = "its schema is not readable" if isinstance(error, UnicodeDecodeError) else text
        message = f"The database is damaged or is not a database: {reason}"
        if file is None or file.suffix not in _DATABASE_ENDINGS:  # perhaps not a database at all: it stays where it is
            return StoreDamagedError(message, on=place, try_="move it away and start with a new one")
        mark_damaged(file)
        return StoreDamagedError(
            message,
            on=place,
            try_="open it again when nothing else has it open (restart the kernel; loom down): it is then set aside, "
            "and its readable rows are copied into a new one",
        )
    if name in _LOCKED:
        return StoreError(
            "The database stayed locked by another process", on=place, try_="try again when that process has ended"
        )
    if name in _UNREACHABLE:
        return StoreError(
            f"The database cannot be opened or written: {text}",
            on=place,
            try_="check the folder's permissions and space, or set LOOM_HOME or DATABASE_URL",
        )
    if getattr(error, "sqlstate", None) == "42P07" or ("already exists" in text and "table" in text):
        return StoreError(
            f"The database contains tables that are not Loom's: {text}", on=place, try_="another DATABASE_URL"
        )
    return StoreError(
        f"The database reported an error: {text}",
        on=place,
        try_="correct what the error names, or another DATABASE_URL",
    )


def _of_server(error: BaseException, text: str, place: str) -> StoreError | None:
    """Return the meaning of PostgreSQL's error code; its driver's errors without a code are lost connections."""
    code: str | None = getattr(error, "sqlstate", "")
    if code == "":
        return None
    is_connecting = code is None and type(error).__name__ == "OperationalError"
    text = text.removeprefix("connection failed: ")
    if code == "55P03":
        return StoreError(
            "The database stayed locked by another process", on=place, try_="try again when that process has ended"
        )
    if code in TRY_AGAIN:
        return StoreError(
            "Two processes wrote the same rows at once, and the database ended this one's transaction",
            on=place,
            try_="try again; nothing was stored",
        )
    if code == "53300" or (is_connecting and any(words in text for words in _TOO_MANY_TEXTS)):
        return StoreError(
            "The database accepts no more connections",
            on=place,
            try_="close kernels that nobody uses, or raise the server's max_connections",
        )
    if (code or "").startswith(_REFUSED) or (is_connecting and any(words in text for words in _REFUSED_TEXTS)):
        return StoreError(
            f"The database refused: {text}",
            on=place,
            try_="check the user, the password and the permissions in DATABASE_URL",
        )
    if is_connecting or (code or "").startswith(_CONNECTION_LOST):
        return StoreError(
            f"The connection to the database failed: {text}",
            on=place,
            try_="check that the server runs and DATABASE_URL names it; a transaction that was open is not stored",
        )
    return None


def _family(name: str) -> str:
    """Return `SQLITE_BUSY` for `SQLITE_BUSY_SNAPSHOT`; kinds of I/O errors stay distinct."""
    return name if name.startswith("SQLITE_IOERR") else "_".join(name.split("_")[:2])


def _full(place: str, file: Path | None) -> StoreFullError:
    where = place
    if file is not None:
        try:
            where = f"{file}, {size(shutil.disk_usage(file.parent).free)} free on its disk"
        except OSError:
            where = str(file)
    return StoreFullError(
        "The store cannot grow: the disk, a quota or a file-size limit is full",
        on=where,
        try_="free some space, or move the store (LOOM_HOME or DATABASE_URL)",
    )
