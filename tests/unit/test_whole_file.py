"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loomlib.errors import LoomError
from loomlib.jobs import whole_file


def test_two_that_write_one_path_at_once_spoil_nothing_and_the_last_to_end_wins(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    with whole_file("The export", path) as one:
        one.write("of the one, ")
        with whole_file("The export", path) as other:
            other.write("of the other")
        assert path.read_text() == "of the other"
        one.write("whole")
    assert path.read_text() == "of the one, whole"
    assert os.listdir(tmp_path) == ["export.jsonl"]


def test_a_block_that_raises_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), whole_file("The export", path) as file:
        file.write("new, and then half a character: \ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["export.jsonl"]


def test_a_private_file_is_its_owners_and_another_keeps_the_rights_of_the_one_it_replaces(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    with whole_file("The set", path) as file:
        file.write("{}")
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with whole_file("The set", path, private=False) as file:
        file.write("{}")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_name_that_is_too_long_and_a_folder_that_is_not_there_are_errors_in_words(tmp_path: Path) -> None:
    for path in (tmp_path / ("x" * 300), tmp_path / "none" / "set.json", tmp_path):
        with pytest.raises(LoomError, match="The set cannot be written") as refused, whole_file("The set", path):
            pass
        assert refused.value.on == str(path)
    assert os.listdir(tmp_path) == []
