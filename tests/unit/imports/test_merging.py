"""Merging edits with generated code: nothing of either side is lost, and a second write changes nothing."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_variants import shop_agent, weather_group
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.errors import LoomError
from loomlib.imports.bedrock_agents.emit import (
    GeneratedAgent,
    generate_agent,
    merge_texts,
    write_agent,
)

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n", "é\u2028x\n", "last"]), max_size=8).map("".join)


@settings(max_examples=400, deadline=None)
@given(LINES, LINES, LINES)
def test_a_merge_keeps_every_line_that_either_side_added(base: str, mine: str, theirs: str) -> None:
    merged = merge_texts(base, mine, theirs)
    line_counts = Counter(merged.text.split("\n"))
    for side in (mine, theirs):
        added = Counter(side.split("\n")) - Counter(base.split("\n"))
        assert all(line_counts[line] >= count for line, count in added.items() if line)
    assert ("<<<<<<< yours" in merged.text) is bool(merged.conflicts)


@settings(max_examples=200, deadline=None)
@given(LINES, LINES)
def test_a_side_without_changes_yields_to_the_other(base: str, other: str) -> None:
    assert merge_texts(base, other, base).text == other
    assert merge_texts(base, base, other).text == other
    assert merge_texts(base, other, other).text == other


@settings(max_examples=200, deadline=None)
@given(LINES, LINES)
def test_what_was_merged_without_a_conflict_merges_again_into_itself(base: str, mine: str) -> None:
    theirs = f"first\n{base}"
    merged = merge_texts(base, mine, theirs)
    if not merged.conflicts:
        assert merge_texts(theirs, merged.text, theirs).text == merged.text


def test_distant_changes_are_merged_and_close_ones_are_marked() -> None:
    base = "one\ntwo\nthree\nfour\nfive\n"
    assert merge_texts(base, "ONE\ntwo\nthree\nfour\nfive\n", "one\ntwo\nthree\nfour\nFIVE\n").text == (
        "ONE\ntwo\nthree\nfour\nFIVE\n"
    )
    marked = merge_texts(base, "one\nmine\nthree\nfour\nfive\n", "one\ntheirs\nthree\nfour\nfive\n")
    assert marked.text == (
        "one\n<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> generated\nthree\nfour\nfive\n"
    )  # fmt: skip
    assert marked.conflicts == 1


def test_windows_line_breaks_stay() -> None:
    merged = merge_texts("a\nb\nc\n", "A\r\nb\r\nc\r\n", "a\nb\nC\n")
    assert (merged.text, merged.conflicts) == ("A\r\nb\r\nC\r\n", 0)


def agent_of(**files: str) -> GeneratedAgent:
    return GeneratedAgent(
        name="shop", framework="strands", files={name.replace("__", "."): text for name, text in files.items()}
    )


def files_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_second_import_changes_nothing(tmp_path: Path) -> None:
    generated = generate_agent(shop_agent(action_groups=(weather_group(),)), "strands")
    first = write_agent(generated, tmp_path / "shop")
    assert set(first.files.values()) == {"created"}
    before = files_of(tmp_path / "shop")
    again = write_agent(generate_agent(shop_agent(action_groups=(weather_group(),)), "strands"), tmp_path / "shop")
    assert set(again.files.values()) == {"unchanged"}
    assert not again.is_changed
    assert files_of(tmp_path / "shop") == before


def test_edits_survive_a_changed_agent(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    write_agent(generate_agent(shop_agent(action_groups=(weather_group(),)), "strands"), folder)
    module = folder / "definitions" / "shop_agent.py"
    module.write_text(module.read_text().replace("The city", "The name of the city"))
    (folder / "own.py").write_text("OWN = 1\n")
    changed = shop_agent(action_groups=(weather_group(),), instruction="You help everybody.")
    result = write_agent(generate_agent(changed, "strands"), folder)
    assert result.files["definitions/shop_agent.py"] == "merged"
    assert result.conflicts == result.unresolved == ()
    text = module.read_text()
    assert "The name of the city" in text
    assert "You help everybody." in text
    assert (folder / "own.py").read_text() == "OWN = 1\n"


def test_a_conflict_is_marked_listed_and_stays_until_it_is_resolved(tmp_path: Path) -> None:
    write_agent(agent_of(a__py="x = 1\n", b__py="y = 1\n"), tmp_path)
    (tmp_path / "a.py").write_text("x = 2\n")
    result = write_agent(agent_of(a__py="x = 3\n", b__py="y = 3\n"), tmp_path)
    assert (result.conflicts, result.unresolved) == (("a.py",), ("a.py",))
    marked = (tmp_path / "a.py").read_text()
    assert {"x = 2", "x = 3"} <= set(marked.splitlines())
    again = write_agent(agent_of(a__py="x = 3\n", b__py="y = 3\n"), tmp_path)
    assert (again.conflicts, again.unresolved) == ((), ("a.py",))
    assert (tmp_path / "a.py").read_text() == marked
    (tmp_path / "a.py").write_text("x = 3\n")
    assert write_agent(agent_of(a__py="x = 3\n", b__py="y = 3\n"), tmp_path).unresolved == ()


def test_deleted_and_no_longer_generated_files_are_treated_as_edits(tmp_path: Path) -> None:
    write_agent(agent_of(a__py="a\n", b__py="b\n", c__py="c\n", d__py="d\n"), tmp_path)
    (tmp_path / "a.py").unlink()
    (tmp_path / "b.py").unlink()
    (tmp_path / "d.py").write_text("d\nmore\n")
    result = write_agent(agent_of(a__py="a\n", b__py="changed\n"), tmp_path)
    assert result.files == {"a.py": "kept", "b.py": "conflict", "c.py": "removed", "d.py": "kept"}
    assert sorted(path.name for path in tmp_path.glob("*.py")) == ["d.py"]
    assert write_agent(agent_of(a__py="a\n", b__py="changed\n"), tmp_path).files == {"a.py": "kept", "b.py": "kept"}


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("mine\n")
    with pytest.raises(LoomError, match="files that were not generated"):
        write_agent(generate_agent(shop_agent(), "strands"), tmp_path)
    assert files_of(tmp_path).keys() == {"agent.py"}


def test_a_file_that_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    write_agent(agent_of(a__py="a\n"), tmp_path)
    (tmp_path / "a.py").write_bytes(b"\xff\xfe")
    with pytest.raises(LoomError, match=r"not UTF-8 text.*a\.py"):
        write_agent(agent_of(a__py="b\n"), tmp_path)


def test_an_interrupted_write_is_finished_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"m{number}__py": f"value = {number}\n" for number in range(4)}
    replace, count = os.replace, 0

    def at(limit: int) -> Callable[[str, str], None]:
        def replacing(source: str, target: str) -> None:
            nonlocal count
            count += 1
            if count > limit:
                raise OSError("the disk is gone")
            replace(source, target)

        return replacing

    newer = {name: text.replace("value", "newer") for name, text in files.items()}
    reference = tmp_path / "done"
    write_agent(agent_of(**files), reference)
    (reference / "m2.py").write_text("edited\nvalue = 2\n")
    write_agent(agent_of(**newer), reference)
    expected = {name: text for name, (text, _) in files_of(reference).items()}
    for limit in range(1, 14):
        folder = tmp_path / f"at-{limit}"
        write_agent(agent_of(**files), folder)
        (folder / "m2.py").write_text("edited\nvalue = 2\n")
        count = 0
        monkeypatch.setattr(os, "replace", at(limit))
        with contextlib.suppress(LoomError):
            write_agent(agent_of(**newer), folder)
        monkeypatch.undo()
        write_agent(agent_of(**newer), folder)
        assert {name: text for name, (text, _) in files_of(folder).items()} == expected


def test_an_edit_after_an_interrupted_write_is_merged_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_agent(agent_of(a__py="one\ntwo\nthree\n"), tmp_path)
    replace = os.replace

    def interrupted(source: str, target: str) -> None:
        if Path(target).name == "a.py":
            raise OSError("the disk is gone")
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    newer = agent_of(a__py="one\ntwo\nTHREE\n")
    with pytest.raises(LoomError, match="the disk is gone"):
        write_agent(newer, tmp_path)
    monkeypatch.undo()
    (tmp_path / "a.py").write_text("ONE\ntwo\nthree\n")
    assert write_agent(newer, tmp_path).files == {"a.py": "merged"}
    assert (tmp_path / "a.py").read_text() == "ONE\ntwo\nTHREE\n"
    assert write_agent(newer, tmp_path).files == {"a.py": "kept"}


@settings(max_examples=40, deadline=None)
@given(LINES, LINES, LINES)
def test_any_edit_survives_any_change(base: str, mine: str, theirs: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_agent(agent_of(a__txt=base), folder)
        (folder / "a.txt").write_bytes(mine.encode())
        result = write_agent(agent_of(a__txt=theirs), folder)
        merged = merge_texts(base, mine, theirs)
        assert (folder / "a.txt").read_bytes().decode() == merged.text
        assert (result.conflicts != ()) is bool(merged.conflicts)
        before = files_of(folder)
        write_agent(agent_of(a__txt=theirs), folder)
        assert files_of(folder) == before


def test_what_is_kept_of_the_last_write_has_each_text_once(tmp_path: Path) -> None:
    write_agent(agent_of(a__py="same\n", b__py="same\n"), tmp_path)
    write_agent(agent_of(a__py="other\n", b__py="same\n"), tmp_path)
    names = sorted(path.name for path in (tmp_path / ".loom-import").iterdir())
    assert sum(name.endswith(".text") for name in names) == 2
    assert "files.json" in names
    assert "staged.json" not in names
    json.loads((tmp_path / ".loom-import" / "files.json").read_text())
