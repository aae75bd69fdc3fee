"""Differences of two packages, and the versions that a rollback returns to."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.redaction import Redactor
from loomlib.releases.comparing import SHOWN_FILES, compare_packages
from loomlib.releases.served import served_versions
from loomlib.store import EndpointChangeRow

KEY = "AKIAIOSFODNN7EXAMPLE"
OTHER_KEY = "AKIAI44QH5DHBEXAMPLE"


def packed(compression: int = zipfile.ZIP_DEFLATED, **files: str | bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def compared(before: bytes, after: bytes):
    return {file.path: file for file in compare_packages(before, after, Redactor().document())}


def changed(action: str, version: str) -> EndpointChangeRow:
    return EndpointChangeRow(
        id=1, scope="local", agent_arn="a", endpoint="prod", action=action, version=version, at=datetime.now(UTC)
    )


def test_a_changed_secret_shows_that_it_changed_and_no_more():
    differences = compared(packed(agent__py=f'KEY = "{KEY}"\n'), packed(agent__py=f'KEY = "{OTHER_KEY}"\n'))
    diff = differences["agent.py"].diff
    assert KEY not in diff
    assert OTHER_KEY not in diff
    removed, added = (line for line in diff.splitlines()[2:] if line[0] in "+-")
    assert removed[1:] != added[1:]
    assert (differences["agent.py"].lines_added, differences["agent.py"].lines_removed) == (1, 1)


def test_a_secret_that_stays_has_the_same_placeholder_on_both_sides():
    differences = compared(packed(a__py=f'KEY = "{KEY}"\nx = 1\n'), packed(a__py=f'KEY = "{KEY}"\nx = 2\n'))
    assert [line for line in differences["a.py"].diff.splitlines()[2:] if line[0] in "+-"] == ["-x = 1", "+x = 2"]


def test_binary_files_and_those_beyond_the_first_are_only_named_own_files_first():
    many = {f"vendored/file_{number:03}__py": f"x = {number}\n" for number in range(SHOWN_FILES)}
    differences = compared(packed(agent__py="x = 1\n"), packed(agent__py="x = 2\n", data__bin=b"\xff\xfe\0", **many))
    assert len(differences) == SHOWN_FILES + 2
    assert differences["agent.py"].diff
    assert differences["data.bin"].reason == "binary"
    assert [file.reason for file in differences.values()].count("one of many files") == 2
    assert differences["vendored/file_059.py"].diff == ""


def test_a_file_without_a_last_line_end_and_an_empty_file_are_compared():
    differences = compared(packed(a__py="x = 1"), packed(a__py="x = 2", empty__py=""))
    assert differences["a.py"].diff.endswith("-x = 1\n+x = 2\n")
    assert (differences["empty.py"].change, differences["empty.py"].diff, differences["empty.py"].reason) == (
        "added",
        "",
        "",
    )


def test_a_package_that_is_no_zip_file_is_an_error():
    with pytest.raises(zipfile.BadZipFile):
        compare_packages(b"no zip file", packed(a__py=""), Redactor().document())


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize(("skipped", "damage"), [(0, b"\xff" * 8), (0, b""), (16, b"\xff" * 8)])
def test_a_package_with_a_damaged_file_is_an_error_of_the_same_kind(skipped, damage, compression):
    whole = packed(compression, a__py="x = 1\n" * 20)
    at = whole.index(b"a.py") + len(b"a.py") + skipped
    damaged = whole[:at] + damage + whole[at + 8 :]
    with pytest.raises(zipfile.BadZipFile):
        compare_packages(damaged, packed(a__py="x = 2\n"), Redactor().document())


def test_rollbacks_go_back_one_version_after_the_other():
    changes = [changed("created", "1"), changed("promoted", "2"), changed("promoted", "3")]
    assert served_versions(changes, "3") == ("1", "2", "3")
    assert served_versions([*changes, changed("rolled back", "2")], "2") == ("1", "2")
    again = [*changes, changed("rolled back", "2"), changed("promoted", "4")]
    assert served_versions(again, "4") == ("1", "2", "4")


def test_what_another_tool_chose_comes_last_and_a_deleted_endpoint_begins_anew():
    assert served_versions([changed("created", "1")], "7") == ("1", "7")
    assert served_versions([changed("created", "1"), changed("deleted", "1"), changed("created", "2")], "2") == ("2",)
    assert served_versions([], "") == ()


@given(
    st.lists(
        st.tuples(st.sampled_from(["observed", "promoted", "rolled back", "deleted"]), st.sampled_from("1234")),
        max_size=12,
    ),
    st.sampled_from("1234"),
)
def test_the_last_version_is_always_the_one_that_is_served(events, live):
    served = served_versions([changed(action, version) for action, version in events], live)
    assert served[-1] == live
    assert all(one != other for one, other in pairwise(served))
