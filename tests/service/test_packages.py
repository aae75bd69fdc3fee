from __future__ import annotations

import io
import os
import signal
import stat
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from echo_agent import ECHO_AGENT
from hypothesis import given
from hypothesis import strategies as st
from waiting import wait_until

from loomlib.local.runtimes.extraction import InvalidPackageError, extract
from loomlib.local.runtimes.packages import extract_limited


def packed(path: Path, files: dict[str, bytes], **attributes: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = attributes.get("mode", 0o644) << 16
            archive.writestr(entry, content)
    return path


def test_a_package_is_extracted_and_byte_compiled(tmp_path: Path) -> None:
    package = packed(tmp_path / "p.zip", {"agent.py": b"import tools.one", "tools/one.py": b"", "empty/": b""})
    extract(package, tmp_path / "code", ["opentelemetry-instrument", "agent.py"])
    assert (tmp_path / "code" / "tools" / "one.py").is_file()
    assert list((tmp_path / "code" / "__pycache__").glob("agent.*.pyc"))
    assert (tmp_path / "code" / "empty").is_dir()


@pytest.mark.parametrize(
    "name",
    ["../agent.py", "/etc/passwd", "tools/../../x", "C:\\x", "C:/x", "..\\x", "\\\\host\\x", "a\0b", "x/..", "//x"],
)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    package = packed(tmp_path / "p.zip", {"agent.py": b""})
    # zipfile mends such names when it writes them, so they are put in afterwards, at the same length.
    placeholder = "N" * len(name.encode())
    packed(package, {"agent.py": b"", placeholder: b"x"})
    package.write_bytes(package.read_bytes().replace(placeholder.encode(), name.encode()))
    with pytest.raises(InvalidPackageError, match="leaves its folder"):
        extract(package, tmp_path / "code", ["agent.py"])
    assert not (tmp_path / "code").exists()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["p.zip"]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_special_files_are_refused(tmp_path: Path, kind: int) -> None:
    package = packed(tmp_path / "p.zip", {"agent.py": b"/etc/passwd"}, mode=kind | 0o777)
    with pytest.raises(InvalidPackageError, match="link or special file"):
        extract(package, tmp_path / "code", ["agent.py"])


def test_a_bomb_is_refused_by_its_ratio(tmp_path: Path) -> None:
    package = packed(tmp_path / "p.zip", {"agent.py": b"", "zeros": bytes(60_000_000)})
    with pytest.raises(InvalidPackageError, match="like a zip bomb"):
        extract(package, tmp_path / "code", ["agent.py"])


def test_a_bomb_that_understates_its_size_is_refused(tmp_path: Path) -> None:
    package = packed(tmp_path / "p.zip", {"zeros": bytes(60_000_000)})
    content = package.read_bytes()
    # Both the local header and the directory now claim 1,000 bytes.
    package.write_bytes(content.replace((60_000_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little")))
    with pytest.raises(InvalidPackageError):
        extract(package, tmp_path / "code", ["zeros"])
    assert not (tmp_path / "code").exists()


async def test_source_that_takes_minutes_to_compile_is_refused_by_its_limit(tmp_path: Path) -> None:
    source = b"".join(b"variable_%d = %d\n" % (number, number) for number in range(100_000))
    package = packed(tmp_path / "p.zip", {"agent.py": b"", "assignments.py": source})
    with pytest.raises(InvalidPackageError, match=r"assignments.py needs more than 100 MiB of memory"):
        await extract_limited(package, tmp_path / "code", ["agent.py"], memory_bytes=100 << 20)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["p.zip"]


async def test_a_package_that_takes_too_much_processor_time_is_refused_by_its_limit(tmp_path: Path) -> None:
    source = b"".join(b"variable_%d = [%d]\n" % (number, number) for number in range(100_000))
    package = packed(tmp_path / "p.zip", {"agent.py": b"", **{f"module_{at}.py": source for at in range(8)}})
    with pytest.raises(InvalidPackageError, match=r"more than 1 s of processor time"):
        await extract_limited(package, tmp_path / "code", ["agent.py"], cpu_s=1)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["p.zip"]


async def test_source_that_cannot_be_compiled_is_left_to_fail_when_it_is_imported(tmp_path: Path) -> None:
    odd = {"nested.py": b"(" * 5_000, "null.py": b"\0", "chain.py": b"x" + b".y" * 200_000, "latin.py": b"# \xff\n"}
    package = packed(tmp_path / "p.zip", {"agent.py": b"x = 1", "zz.py": b"y = 1", **odd})
    await extract_limited(package, tmp_path / "code", ["agent.py"])
    assert list((tmp_path / "code" / "__pycache__").glob("zz.*.pyc"))


async def test_a_full_or_forbidden_place_is_not_called_a_damaged_package(tmp_path: Path) -> None:
    package = packed(tmp_path / "p.zip", {"agent.py": b""})
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidPackageError, match=r"could not be stored on this machine: Not a directory") as caught:
        await extract_limited(package, tmp_path / "file" / "code", ["agent.py"])
    assert "zip file" not in str(caught.value)


def test_a_name_that_the_file_system_refuses_is_not_called_a_damaged_package(aws: Any) -> None:
    runtime = aws.settled(aws.create("long_name", aws.upload({"agent.py": "", "n" * 300: ""}))["agentRuntimeId"])
    assert runtime["status"] == "CREATE_FAILED"
    assert "File name too long" in runtime["failureReason"]
    assert "zip file" not in runtime["failureReason"]


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    content = packed(tmp_path / "p.zip", {"0": b""}).read_bytes()
    directory_bytes, offset = struct.unpack("<II", content[-10:-2])
    many, directory = 50_001, content[offset : offset + directory_bytes]
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, many, many, directory_bytes * many, offset, 0)
    (tmp_path / "p.zip").write_bytes(content[:offset] + directory * many + end)
    with pytest.raises(InvalidPackageError, match="entries"):
        extract(tmp_path / "p.zip", tmp_path / "code", ["0"])


@given(st.binary(max_size=300))
def test_damage_is_refused_and_never_breaks_anything(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    whole = packed(folder / "p.zip", {"agent.py": b"print(1)" * 20}).read_bytes()
    (folder / "p.zip").write_bytes(whole[: len(whole) // 2] + noise)
    with pytest.raises(InvalidPackageError):
        extract(folder / "p.zip", folder / "code", ["agent.py"])
    assert [item.name for item in folder.iterdir()] == ["p.zip"]


def test_a_refused_package_fails_the_runtime_with_the_reason(aws: Any) -> None:
    for content, reason in ((b"this is no zip", "not a readable zip file"), (evil(), "leaves its folder")):
        created = aws.create(f"evil_{len(content)}", aws.upload_bytes(content))
        described = aws.settled(created["agentRuntimeId"])
        assert described["status"] == "CREATE_FAILED"
        assert reason in described["failureReason"]


def test_the_named_version_of_an_object_is_deployed(aws: Any) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="loom-versioned")
    s3.put_bucket_versioning(Bucket="loom-versioned", VersioningConfiguration={"Status": "Enabled"})
    versions = []
    for text in ("first", "second"):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("agent.py", f"# {text}\n{ECHO_AGENT}")
        versions.append(s3.put_object(Bucket="loom-versioned", Key="a.zip", Body=content.getvalue())["VersionId"])
    code = {"s3": {"bucket": "loom-versioned", "prefix": "a.zip", "versionId": versions[0]}}
    artifact = {"codeConfiguration": {"code": code, "runtime": "PYTHON_3_11", "entryPoint": ["agent.py"]}}
    runtime_id = aws.create("first_version", artifact)["agentRuntimeId"]
    assert aws.settled(runtime_id)["status"] == "READY"
    deployed = aws.state.home / "runtimes" / runtime_id / "1" / "code" / "agent.py"
    assert deployed.read_text() == f"# first\n{ECHO_AGENT}"


def test_a_version_that_was_being_made_when_the_service_died_is_made_by_the_next(
    start_service: Callable[..., Any],
) -> None:
    aws = start_service()
    runtime_id = aws.create("resumed", aws.upload({"agent.py": ECHO_AGENT}))["agentRuntimeId"]
    os.kill(aws.state.pid, signal.SIGKILL)
    again = start_service()
    assert again.settled(runtime_id)["status"] == "READY"


@pytest.mark.skipif(sys.platform != "linux", reason="a process ends with its parent on Linux")
def test_a_version_that_was_being_compiled_when_the_service_was_killed_is_made_by_the_next(
    start_service: Callable[..., Any],
) -> None:
    aws = start_service()
    source = "".join(f"variable_{number} = [{number}]\n" for number in range(40_000))
    parts = {f"part_{number}.py": source for number in range(6)}
    runtime_id = aws.create("resumed", aws.upload({"agent.py": ECHO_AGENT, **parts}))["agentRuntimeId"]
    folder = aws.state.home / "runtimes" / runtime_id / "1"
    wait_until(lambda: list(folder.glob("code.partial*/__pycache__/part_0.*.pyc")), pause_s=0.02)
    (compiling,) = [
        child for child in psutil.Process(aws.state.pid).children() if child.cmdline()[-1].endswith("extraction.py")
    ]
    os.kill(aws.state.pid, signal.SIGKILL)
    wait_until(lambda: not compiling.is_running(), pause_s=0.02)
    assert not (folder / "code").exists(), "the process went on without its service"
    again = start_service()
    described = again.settled(runtime_id)
    assert described["status"] == "READY", described.get("failureReason")
    assert not list(folder.glob("code.partial*"))
    assert len(list((folder / "code" / "__pycache__").glob("part_*.pyc"))) == 6


def test_what_interrupted_attempts_left_is_removed(tmp_path: Path) -> None:
    package = packed(tmp_path / "p.zip", {"agent.py": b""})
    for name in ("code", "code.partial", "code.partial-1"):
        (tmp_path / name / "folder").mkdir(parents=True)
        (tmp_path / name / "folder" / "old.py").write_text("")
    extract(package, tmp_path / "code", ["agent.py"])
    assert sorted(item.name for item in tmp_path.iterdir()) == ["code", "p.zip"]
    assert not (tmp_path / "code" / "folder").exists()


def evil() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("agent.py", "")
        archive.writestr("NNNevil.py", "")
    return content.getvalue().replace(b"NNNevil.py", b"../evil.py")
