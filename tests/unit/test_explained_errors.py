"""Errors that say that a disk is full or an extra is missing, and errors that do not."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.exc import OperationalError

from loomlib.errors import MissingExtraError
from loomlib.local.recovering import explain_failure
from loomlib.recovery import is_full_disk


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES])
def test_errors_of_the_file_system_are_judged_by_their_number_alone_and_in_copied_folders(number: int) -> None:
    alone = OSError(number, os.strerror(number), "file")
    assert is_full_disk(alone) == (number != errno.EACCES)
    assert is_full_disk(shutil.Error([("from", "to", str(alone))])) == (number != errno.EACCES)


def test_a_full_database_is_found_in_what_was_raised_from_it() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE lines (line TEXT)")
        database.execute("PRAGMA max_page_count=3")
        with pytest.raises(sqlite3.OperationalError, match="full") as full:
            database.execute("INSERT INTO lines VALUES (?)", ("x" * 100_000,))
        assert is_full_disk(full.value)
        later = RuntimeError("The work failed")
        later.__cause__ = full.value
        assert is_full_disk(later)
        with pytest.raises(sqlite3.OperationalError) as other:
            database.execute("SELECT nothing FROM nowhere")
        assert not is_full_disk(other.value)


def test_a_full_database_is_found_in_sqlalchemys_error() -> None:
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE lines (line TEXT)"))
        connection.execute(sqlalchemy.text("PRAGMA max_page_count=3"))
        with pytest.raises(OperationalError, match="full") as full:
            connection.execute(sqlalchemy.text("INSERT INTO lines VALUES (:line)"), {"line": "x" * 100_000})
        assert is_full_disk(full.value)
    engine.dispose()


def test_a_request_that_needs_an_extra_names_it_without_a_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = MissingExtraError("Embeddings need wordllama", try_="pip install 'loomlib[evals]'")
    message = explain_failure(tmp_path, missing, "Retrieve")
    assert message == "Embeddings need wordllama. Try: pip install 'loomlib[evals]'"
    assert caplog.messages == [f"Retrieve failed: {message}"]
    assert caplog.records[0].exc_info is None
