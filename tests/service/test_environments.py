from __future__ import annotations

import glob
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import certifi
import pytest
from plain_agents import PLAIN_APP
from wheels import build_wheel

from loomlib.local.runtimes.packages import InvalidPackageError
from loomlib.local.runtimes.requirements import lacking

AGENT = (
    PLAIN_APP
    + """
import loom_greeting
app = PlainApp()
@app.entrypoint
def answer(payload):
    return {"text": loom_greeting.TEXT, "file": loom_greeting.__file__}
app.run()
"""
)


@pytest.fixture(scope="module", autouse=True)
def started_by_their_command() -> Iterator[None]:
    """A service that was forked shows the variables of the process that it was forked from in `/proc/<pid>/environ`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LOOM_SERVICE_TEMPLATE")
        yield


@pytest.fixture
def offline_service(start_service: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A service whose pip finds the wheels of this test and nothing else."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    build_wheel(wheels, "loom_greeting", "1.0", 'TEXT = "good morning"')
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return start_service()


def test_what_the_interpreter_lacks_is_installed_once_and_found_by_the_agent(offline_service: Any) -> None:
    files = {"agent.py": AGENT, "requirements.txt": "boto3\nloom_greeting>=1\n"}
    first = offline_service.create("needs_one", offline_service.upload(files))
    described = offline_service.settled(first["agentRuntimeId"])
    assert described["status"] == "READY", described
    _, body = offline_service.invoke(first["agentRuntimeArn"])
    assert b"good morning" in body
    overlays = list((offline_service.state.home / "environments").iterdir())
    assert len(overlays) == 1
    assert str(overlays[0]).encode() in body
    assert list(overlays[0].glob("__pycache__/loom_greeting.*.pyc"))
    second = offline_service.create("needs_two", offline_service.upload(files))
    assert offline_service.settled(second["agentRuntimeId"])["status"] == "READY"
    assert list((offline_service.state.home / "environments").iterdir()) == overlays


_TAKES = {
    "processes": "import os, time\nfor _ in range(400):\n    os.fork() or time.sleep(60) or os._exit(0)",
    "memory": "import time\ntaken = [b'x' * 2**20 for _ in range(1_500)]\ntime.sleep(60)",
}


@pytest.mark.parametrize("limit", _TAKES)
def test_a_requirement_that_takes_without_end_while_it_is_built_is_ended_and_the_limit_named(
    start_service: Callable[..., Any], limit: str
) -> None:
    aws = start_service(limits="processes=200,memory=700m")
    backend = f"def build_wheel(*_):\n    pass\n{_TAKES[limit]}\n"
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {
        "agent.py": AGENT,
        "requirements.txt": "./own",
        "own/backend.py": backend,
        "own/pyproject.toml": project,
    }
    described = aws.settled(aws.create("taking", aws.upload(files))["agentRuntimeId"])
    assert described["status"] == "CREATE_FAILED"
    assert f"Resource limit reached: {limit}" in described["failureReason"]
    # Other tests' control groups vanish meanwhile, which ends Path.glob with an error and glob.glob without one.
    own = glob.glob(f"/sys/fs/cgroup/**/loom-{aws.state.pid}-*/*/", recursive=True)
    assert not own, "its control groups are gone"


def test_packages_with_the_same_requirement_have_their_own_copy_of_it(offline_service: Any, tmp_path: Path) -> None:
    for name, text in (("own_one", "first"), ("own_two", "second")):
        folder = tmp_path / name
        folder.mkdir()
        build_wheel(folder, "loom_greeting", "1.0", f"TEXT = {text!r}")
        wheel = next(folder.iterdir())
        files = {"agent.py": AGENT, "requirements.txt": f"./{wheel.name}", wheel.name: wheel.read_bytes()}
        created = offline_service.create(name, offline_service.upload(files))
        assert offline_service.settled(created["agentRuntimeId"])["status"] == "READY"
        _, body = offline_service.invoke(created["agentRuntimeArn"])
        assert f'"text": "{text}"'.encode() in body


def test_what_pip_cannot_find_fails_the_runtime_with_pip_s_words(offline_service: Any) -> None:
    files = {"agent.py": AGENT, "requirements.txt": "loom_missing==3"}
    created = offline_service.create("needs_more", offline_service.upload(files))
    described = offline_service.settled(created["agentRuntimeId"])
    assert described["status"] == "CREATE_FAILED"
    assert "No matching distribution found for loom_missing==3" in described["failureReason"]
    assert not list((offline_service.state.home / "environments").iterdir())


def test_an_index_in_a_folder_links_to_the_wheels_beside_it(
    start_service: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, page = tmp_path / "files", tmp_path / "simple" / "loom-greeting"
    files.mkdir()
    page.mkdir(parents=True)
    build_wheel(files, "loom_greeting", "1.0", 'TEXT = "good morning"')
    (wheel,) = files.iterdir()
    (page / "index.html").write_text(f'<!DOCTYPE html><a href="../../files/{wheel.name}">{wheel.name}</a>', "utf-8")
    monkeypatch.setenv("PIP_INDEX_URL", page.parent.as_uri())
    service = start_service()
    package = {"agent.py": AGENT, "requirements.txt": "loom_greeting>=1\n"}
    described = service.settled(service.create("needs_one", service.upload(package))["agentRuntimeId"])
    assert described["status"] == "READY", described


STEALING_PIP = """
import os, pathlib, sys
text = "\\n".join(pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode() for pid in (os.getppid(), os.getpid()))
raise SystemExit("STOLEN " + text)
"""
BUILDING = """
import os, pathlib
seen = [f"{name}={value}" for name, value in os.environ.items()]
for place in (f"/proc/{os.getppid()}/environ", os.path.expanduser("~/.aws/credentials"), CREDENTIALS):
    try:
        seen.append(pathlib.Path(place).read_text())
    except OSError as error:
        seen.append(str(error))
raise SystemExit("BUILT " + " ".join(seen))
"""


@pytest.fixture
def secret_service(start_service: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A service that a user with secrets in the environment and in the home folder has started."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-in-the-environment")
    monkeypatch.setenv("LOOM_MODEL_API_KEY", "canary-of-the-model")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://user:canary-of-the-index@example.org/simple")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user" / ".aws").mkdir(parents=True)
    (tmp_path / "user" / ".aws" / "credentials").write_text("[default]\naws_secret_access_key = canary-in-a-file\n")
    return start_service()


def test_an_installation_can_read_the_user_s_certificates(
    start_service: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    build_wheel(wheels, "loom_greeting", "1.0", 'TEXT = "good morning"')
    certificates = tmp_path / "user" / "trusted.pem"
    certificates.parent.mkdir()
    shutil.copyfile(certifi.where(), certificates)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates))
    # pip reads the certificates before it finds that nothing listens at this address, which it only notes.
    monkeypatch.setenv("PIP_INDEX_URL", "https://127.0.0.1:1/simple")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    service = start_service()
    files = {"agent.py": AGENT, "requirements.txt": "loom_greeting>=1\n"}
    described = service.settled(service.create("needs_one", service.upload(files))["agentRuntimeId"])
    assert described["status"] == "READY", described


def test_a_service_uses_neither_proxy_nor_certificates_of_a_former_one(
    start_service: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The shell still has the variables that `loom up --export` set for a service that has stopped.
    for name in ("LOOM_AWS_PROXY", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.setenv(name, str(tmp_path / "former" / "aws-names" / "trusted.pem"))
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.org:3128")
    variables = Path(f"/proc/{start_service().state.pid}/environ").read_bytes().split(b"\0")
    assert b"HTTP_PROXY=http://proxy.example.org:3128" in variables
    assert not [variable for variable in variables if b"127.0.0.1:1" in variable or b"trusted.pem" in variable]


def test_no_secret_of_the_user_is_in_the_environment_of_the_service(secret_service: Any) -> None:
    for name in ("environ", "cmdline"):
        assert b"canary" not in Path(f"/proc/{secret_service.state.pid}/{name}").read_bytes()


def test_a_package_cannot_put_its_own_pip_in_the_installer_s_place(secret_service: Any) -> None:
    files = {
        "agent.py": AGENT,
        "requirements.txt": "loom_missing",
        "pip/__init__.py": "",
        "pip/__main__.py": STEALING_PIP,
    }
    created = secret_service.create("steals", secret_service.upload(files))
    described = secret_service.settled(created["agentRuntimeId"])
    assert "No matching distribution found for loom_missing" in described["failureReason"]
    assert "STOLEN" not in described["failureReason"]


def test_a_build_sees_no_secret_of_the_user(secret_service: Any, tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed, and without it a build can read the user's files")
    building = BUILDING.replace("CREDENTIALS", repr(str(tmp_path / "user/.aws/credentials")))
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {
        "agent.py": AGENT,
        "requirements.txt": "./vendored",
        "vendored/backend.py": building,
        "vendored/pyproject.toml": project,
    }
    created = secret_service.create("builds", secret_service.upload(files))
    described = secret_service.settled(created["agentRuntimeId"])
    assert "canary" not in described["failureReason"]
    assert "BUILT" in described["failureReason"], described


def write(folder: Path, text: str, **others: str) -> Path:
    (folder / "requirements.txt").write_text(text)
    for name, content in others.items():
        (folder / f"{name}.txt").write_text(content)
    return folder


def test_a_package_whose_requirements_are_met_needs_no_overlay(tmp_path: Path) -> None:
    assert lacking(tmp_path) == []
    text = "# ours\nboto3>=1.0  # any\nbotocore\n\nmissing; python_version < '3'\n--index-url ./index\n"
    assert lacking(write(tmp_path, text)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("boto3>=999", ["boto3>=999"]),
        ("boto3\nloom-missing", ["loom-missing"]),
        ("loom-missing \\\n  >=1", ["loom-missing    >=1"]),
        (
            "--extra-index-url ./index\nloom-missing",
            ["--extra-index-url ./index", "loom-missing"],
        ),
        ("./vendored", ["./vendored"]),
        ("name @ https://example.org/name.whl", ["name @ https://example.org/name.whl"]),
        ("moto[no_such_extra]", []),
        ("boto3==1.0 --hash=sha256:00", ["boto3==1.0 --hash=sha256:00"]),
    ],
)
def test_only_what_is_lacking_is_asked_for(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert lacking(write(tmp_path, text)) == expected


def test_a_requirement_that_the_package_brings_is_not_lacking(tmp_path: Path) -> None:
    folder = write(tmp_path, "loom_missing==1.2\nloom-other>=2")
    (folder / "loom_missing-1.2.dist-info").mkdir()
    (folder / "loom_other-1.0.dist-info").mkdir()
    assert lacking(folder) == ["loom-other>=2"]


def test_an_extra_whose_packages_are_missing_is_lacking(tmp_path: Path) -> None:
    # moto's "proxy" extra needs py-partiql-parser and more; "botocore[crt]" needs awscrt, which nothing here installs.
    assert lacking(write(tmp_path, "botocore[crt]")) == ["botocore[crt]"]


def test_included_files_are_read_unless_they_are_outside(tmp_path: Path) -> None:
    assert lacking(write(tmp_path, "-r more.txt", more="loom-missing\n-r requirements.txt")) == ["loom-missing"]
    with pytest.raises(InvalidPackageError, match="not in the package"):
        lacking(write(tmp_path, "-r ../../outside.txt"))
