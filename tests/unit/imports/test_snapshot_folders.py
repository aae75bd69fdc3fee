"""A snapshot's folder: read as it was written, whatever the names and texts; complete, and changes are noticed."""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loomlib.errors import LoomError
from loomlib.imports.bedrock_agents import ActionGroup, Collaborator, ImportedAgent
from loomlib.imports.bedrock_agents.snapshot import (
    AgentSnapshot,
    SnapshotFormatError,
    agent_digest,
    changed_files,
    read_snapshot,
    snapshot_files,
    write_snapshot,
)
from tests.imported_agents import orders_agent, support_supervisor

HOSTILE = (
    "../../outside",
    "/etc/passwd",
    "..",
    ".",
    "",
    "CON",
    "a/b",
    "a\\b",
    "C:",
    "A",
    "a",
    "x" * 300,
    "\x00",
    "ü",
    "a\n",
    "$(id)",
)


def snapshot_of(agent: ImportedAgent, **more: Any) -> AgentSnapshot:
    arguments: dict[str, Any] = {"region": "us-east-1", "is_immutable": True, "notes": ("a note",), **more}
    return AgentSnapshot(agent=agent, digest=agent_digest(agent), **arguments)


_TEXT = st.text(st.characters(), max_size=20) | st.sampled_from(HOSTILE)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


def _values(kind: Any, depth: int) -> st.SearchStrategy[Any]:
    """Return values of a type of the model, agents with at most `depth` levels of collaborators."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is ImportedAgent and depth < 0:
        return st.none()
    if origin in (Union, UnionType):
        return st.one_of([_values(item, depth) for item in arguments])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(_values(arguments[0], depth), max_size=2).map(tuple)
    if origin is Mapping:
        return st.dictionaries(_TEXT, _values(arguments[1], depth), max_size=2)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        inner = depth - 1 if kind is Collaborator else depth
        fields_by_name = {member.name: member for member in fields(kind)}
        required = {
            name for name, member in fields_by_name.items() if member.default is MISSING is member.default_factory
        }
        strategies = {name: _values(hints[name], inner) for name in fields_by_name}
        optional = {name: strategy for name, strategy in strategies.items() if name not in required}
        return st.fixed_dictionaries({name: strategies[name] for name in required}, optional=optional).map(
            lambda members: kind(**members)
        )
    plain = {str: _TEXT, bool: st.booleans(), int: st.integers(), NoneType: st.none(), Any: _JSON}
    return st.floats(allow_nan=False, allow_infinity=False) if kind is float else plain[kind]


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_any_agent_is_read_as_it_was_written_and_stays_in_its_folder(data: st.DataObject) -> None:
    agent = data.draw(_values(ImportedAgent, 2))
    snapshot = snapshot_of(agent, notes=tuple(data.draw(st.lists(_TEXT, max_size=2))))
    with tempfile.TemporaryDirectory() as place:
        folder = write_snapshot(snapshot, Path(place) / "snapshot")
        assert read_snapshot(folder) == snapshot
        assert os.listdir(place) == ["snapshot"]
        for path in folder.rglob("*"):
            assert path.name.isascii()
            assert path.name.isprintable()


def test_the_files_of_an_agent_are_readable_and_where_they_are_expected(tmp_path: Path) -> None:
    folder = write_snapshot(snapshot_of(support_supervisor()), tmp_path / "support")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {
        "README.md", "agent.json", "snapshot.json", "instruction.md", "prompts/orchestration.txt",
        "collaborators/orders/schemas/orders.json", "collaborators/billing/agent.json",
    } <= names  # fmt: skip
    assert (folder / "instruction.md").read_text() == support_supervisor().instruction
    readme = (folder / "README.md").read_text()
    assert "| guardrails | kept |" in readme
    assert "## order-desk, a collaborator" in readme
    assert not [name for name in names if "time" in (folder / name).read_text().split('"')]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_in_the_folder_and_is_no_markup(name: str, tmp_path: Path) -> None:
    group = replace(orders_agent().action_groups[0], name=name)
    inner = replace(orders_agent(), name=f"|{name}<script>")
    agent = replace(
        orders_agent(),
        name=f"# {name} | <b>",
        action_groups=(group, group),
        collaborators=tuple(Collaborator(id=str(number), name=name, agent=inner) for number in range(3)),
    )
    folder = write_snapshot(snapshot_of(agent), tmp_path / "one")
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert read_snapshot(folder).agent == agent
    readme = (folder / "README.md").read_text()
    assert "<b>" not in readme.replace("\\<b>", "")


def test_a_changed_and_a_removed_file_are_noticed_and_not_overwritten(tmp_path: Path) -> None:
    snapshot = snapshot_of(support_supervisor())
    folder = write_snapshot(snapshot, tmp_path / "support")
    schema = folder / "collaborators/orders/schemas/orders.json"
    schema.write_text(schema.read_text().replace("Adds a note", "Deletes everything"))
    (folder / "instruction.md").unlink()
    assert changed_files(folder) == ["collaborators/orders/schemas/orders.json", "instruction.md"]
    with pytest.raises(SnapshotFormatError, match=r"changed or removed: collaborators/orders/schemas/orders\.json"):
        read_snapshot(folder)
    with pytest.raises(LoomError, match="would overwrite or remove: collaborators"):
        write_snapshot(snapshot, folder)
    assert "Deletes everything" in schema.read_text()


def test_a_snapshot_replaces_another_one_and_nothing_else(tmp_path: Path) -> None:
    folder = write_snapshot(snapshot_of(support_supervisor()), tmp_path / "agent")
    write_snapshot(snapshot_of(orders_agent()), folder)
    assert read_snapshot(folder).agent == orders_agent()
    assert not (folder / "collaborators").exists()
    (folder / "my notes.txt").write_text("mine")
    with pytest.raises(LoomError, match=r"would overwrite or remove: my notes\.txt"):
        write_snapshot(snapshot_of(orders_agent()), folder)
    code = tmp_path / "code"
    code.mkdir()
    (code / "agent.py").write_text("print()")
    with pytest.raises(LoomError, match="not a snapshot of an agent"):
        write_snapshot(snapshot_of(orders_agent()), code)
    link = tmp_path / "link"
    link.symlink_to(code)
    with pytest.raises(LoomError, match="is a file or a link"):
        write_snapshot(snapshot_of(orders_agent()), link)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "code", "link"]
    assert [path.name for path in code.iterdir()] == ["agent.py"]


def test_a_write_that_fails_leaves_the_former_snapshot_and_nothing_beside_it(tmp_path: Path) -> None:
    folder = write_snapshot(snapshot_of(orders_agent()), tmp_path / "agent")
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(LoomError, match="cannot be written"):
        write_snapshot(snapshot_of(orders_agent()), blocked / "below" / "agent")
    assert read_snapshot(folder).agent == orders_agent()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "file"]


def test_a_writer_killed_at_any_moment_leaves_one_whole_snapshot(tmp_path: Path) -> None:
    snapshots = [snapshot_of(support_supervisor()), snapshot_of(orders_agent())]
    folder = write_snapshot(snapshots[0], tmp_path / "agent")
    waits = random.Random(5)
    for _ in range(20):
        child = os.fork()
        if child == 0:
            try:
                while True:
                    for snapshot in snapshots:
                        write_snapshot(snapshot, folder)
            finally:
                os._exit(1)
        time.sleep(waits.uniform(0.0, 0.05))  # the moment of the kill
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert read_snapshot(folder) in snapshots
    for path in tmp_path.glob(".agent.*"):
        os.utime(path, (0, 0))
    (tmp_path / ".agent.mine").mkdir()
    os.utime(tmp_path / ".agent.mine", (0, 0))
    write_snapshot(snapshots[1], folder)
    assert read_snapshot(folder) == snapshots[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".agent.mine", "agent"]


def rewritten(folder: Path, name: str, change: Any) -> None:
    """Change a JSON file of a snapshot, and its digest with it, as an attacker does."""
    from loomlib.imports.bedrock_agents.snapshot.digests import content_digest

    value = json.loads((folder / name).read_bytes())
    change(value)
    (folder / name).write_text(json.dumps(value))
    about = json.loads((folder / "snapshot.json").read_bytes())
    about["files"][name] = content_digest((folder / name).read_bytes())
    (folder / "snapshot.json").write_text(json.dumps(about))


def test_a_forged_snapshot_reads_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"paths": {}}')
    folder = write_snapshot(snapshot_of(orders_agent()), tmp_path / "agent")

    def outside(value: Any) -> None:
        value["action_groups"][0]["api_document_file"] = "schemas/../../secret.json"

    rewritten(folder, "agent.json", outside)
    with pytest.raises(SnapshotFormatError, match="a name that Loom does not assign"):
        read_snapshot(folder)

    def listed(value: Any) -> None:
        value["files"]["../secret.json"] = "sha256:0"

    about = json.loads((folder / "snapshot.json").read_bytes())
    listed(about)
    (folder / "snapshot.json").write_text(json.dumps(about))
    with pytest.raises(SnapshotFormatError, match="outside the snapshot"):
        read_snapshot(folder)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda value: value.update(idle_timeout_s="soon"), "agent.idle_timeout_s is not of type int"),
        (lambda value: value.update(unknown=1), "the unknown member unknown"),
        (lambda value: value.update(collaboration="boss"), "'boss', not one of none, supervisor, router"),
        (lambda value: value.pop("model"), "agent is incomplete"),
        (lambda value: value.update(action_groups={}), "agent.action_groups is not a list"),
        (lambda value: value["action_groups"].append(3), r"agent.action_groups\[1\] is not an object"),
        (lambda value: value.update(name="other"), "digest does not match its agent"),
    ],
)
def test_a_file_in_another_form_is_refused_with_the_place(change: Any, reason: str, tmp_path: Path) -> None:
    folder = write_snapshot(snapshot_of(orders_agent()), tmp_path / "agent")
    rewritten(folder, "agent.json", change)
    with pytest.raises(SnapshotFormatError, match=reason):
        read_snapshot(folder)


def test_what_is_no_snapshot_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(SnapshotFormatError, match="loom bedrock-agents snapshot"):
        read_snapshot(tmp_path)
    for text, reason in (
        ("[1]", "not a JSON object"),
        ("{", "not JSON"),
        ('{"format": 9}', "format 9; this release reads 1"),
    ):
        (tmp_path / "snapshot.json").write_text(text)
        with pytest.raises(SnapshotFormatError, match=reason):
            read_snapshot(tmp_path)


def test_the_digest_is_that_of_what_the_agent_does() -> None:
    agent = support_supervisor()
    digest = agent_digest(agent)
    same = replace(
        agent,
        version="9",
        alias_id="OTHER00001",
        alias_name="beta",
        action_groups=agent.action_groups[::-1],
        collaborators=agent.collaborators[::-1],
        prompts=agent.prompts[::-1],
    )
    assert agent_digest(same) == digest
    inner = agent.collaborators[0].agent
    assert inner is not None
    newer = replace(agent.collaborators[0], agent=replace(inner, version="5"))
    assert agent_digest(replace(agent, collaborators=(newer, *agent.collaborators[1:]))) == digest
    changed = replace(agent.collaborators[0], agent=replace(inner, instruction="Be rude."))
    group = ActionGroup(id="X", name="x", executor="none", schema="missing")
    for other in (
        replace(agent, instruction=agent.instruction + " "),
        replace(agent, collaborators=(changed, *agent.collaborators[1:])),
        replace(agent, guardrail=None),
        replace(agent, action_groups=(*agent.action_groups, group)),
    ):
        assert agent_digest(other) != digest


def test_the_files_are_the_same_for_the_same_agent() -> None:
    assert snapshot_files(snapshot_of(support_supervisor())) == snapshot_files(snapshot_of(support_supervisor()))
