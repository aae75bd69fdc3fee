"""Sessions under another user id, which a service of root's gives them where bubblewrap is not installed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from plain_agents import PLAIN_APP
from waiting import wait_until

from loomlib import local
from loomlib.local.sandbox.users import can_mount
from tests.service.conftest import Aws

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can give sessions another user id"
)

AGENT = (
    PLAIN_APP
    + """
import os

app = PlainApp()

@app.entrypoint
def answer(payload):
    names = {"os": os}
    exec(payload["code"], names)
    return names["result"]

if __name__ == "__main__":
    app.run()
"""
)
TRIED = """
def tried(path):
    try:
        return len(os.listdir(path)) if os.path.isdir(path) else len(open(path, "rb").read())
    except OSError as error:
        return type(error).__name__
"""


def _without_bubblewrap(folder: Path) -> str:
    """Make a folder with this machine's programs but bubblewrap, for PATH."""
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for program in os.listdir(place):
            with contextlib.suppress(FileExistsError):
                if program != "bwrap":
                    (folder / program).symlink_to(f"{place}/{program}")
    return str(folder)


def _open_interpreter(folder: Path) -> Path:
    """Return an interpreter with this one's packages that other users can read, whatever is above this one's."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    base, packages = Path(sys.base_prefix), sysconfig.get_paths()["purelib"]
    left_out = shutil.ignore_patterns("site-packages", "test", "config-*")
    shutil.copytree(base / "lib" / version, folder / "base" / "lib" / version, symlinks=True, ignore=left_out)
    for library in (base / "lib").glob("libpython*.so*"):
        shutil.copy2(library, folder / "base" / "lib")
    (folder / "base" / "bin").mkdir()
    shutil.copy2(os.path.realpath(sys.executable), folder / "base" / "bin" / version)
    site = folder / "own" / "lib" / version / "site-packages"
    site.mkdir(parents=True)
    (site / "all.pth").write_text(f"import site; site.addsitedir({packages!r})\n")
    (folder / "own" / "bin").mkdir()
    (folder / "own" / "bin" / "python").symlink_to(folder / "base" / "bin" / version)
    (folder / "own" / "pyvenv.cfg").write_text(f"home = {folder}/base/bin\n")
    return folder / "own" / "bin" / "python"


class Place:
    """A service whose sessions have another user id, and a call of code in one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.loom = [str(_open_interpreter(folder)), "-c", "import sys; from loomlib.cli import main; sys.exit(main())"]
        sources = str(Path(local.__file__).parents[2])
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith("LOOM_")} | {
            "PATH": _without_bubblewrap(folder / "programs"),
            "LD_LIBRARY_PATH": str(folder / "base" / "lib"),
            "PYTHONPATH": os.pathsep.join(filter(None, (sources, os.environ.get("PYTHONPATH")))),
            "LOOM_HOME": str(self.home),
        }
        self.aws: Aws
        self.secret = folder / "secret"
        self.secret.write_text("the user's key")
        self.secret.chmod(0o600)

    def run(self, *words: str) -> str:
        result = subprocess.run(
            [*self.loom, *words], env=self.variables, cwd=self.folder, text=True, capture_output=True, check=False
        )
        return result.stdout + result.stderr

    def call(self, runtime: dict[str, Any], session: str, code: str) -> Any:
        payload = json.dumps({"code": TRIED + code}).encode()
        return json.loads(self.aws.invoke(runtime["agentRuntimeArn"], payload, runtimeSessionId=session)[1])

    def stop(self, runtime: dict[str, Any], session: str) -> None:
        self.aws.data.stop_runtime_session(agentRuntimeArn=runtime["agentRuntimeArn"], runtimeSessionId=session)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="loom-users-") as name, contextlib.ExitStack() as closing:
        folder = Path(name)
        folder.chmod(0o755)
        place = Place(folder)
        output = place.run("up")
        closing.callback(local.stop, place.home)
        state = local.find(place.home)
        assert state is not None, output
        status = local.status(place.home)
        if status.isolation_label != "sessions: another user id, network shared":
            pytest.skip(f"this machine's packages or sources are closed to other users: {status.isolation}")
        place.aws = closing.enter_context(contextlib.closing(Aws(state)))
        yield place


@pytest.fixture(scope="module")
def runtimes(place: Place) -> dict[str, dict[str, Any]]:
    return {name: place.aws.deploy(f"user_{name}", AGENT, platformVersion=name) for name in ("V1", "V2")}


@pytest.mark.parametrize("platform", ["V1", "V2"])
def test_an_agent_is_another_user_without_any_right(place: Place, runtimes: dict[str, Any], platform: str) -> None:
    session = str(uuid.uuid4())
    code = """
lines = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
result = {name: lines[name].split() for name in ("Uid", "Gid", "Groups", "NoNewPrivs", "CapEff", "CapBnd")}
open("beside.txt", "w").write("mine")
open(os.path.expanduser("~/at_home.txt"), "w").write("mine")
import tempfile; tempfile.NamedTemporaryFile().close()
result["is_own"] = tempfile.gettempdir().startswith(os.path.dirname(os.getcwd()).partition(".sessions")[0])
print("to a pipe by its path", file=open("/dev/stdout", "w"))
"""
    identity = place.call(runtimes[platform], session, code)
    assert identity["Uid"] == identity["Gid"]
    user = int(identity["Uid"][0])
    assert 50_000 <= user < 60_000
    assert set(identity["Uid"]) == {str(user)}
    assert (identity["Groups"], identity["NoNewPrivs"]) == ([], ["1"])
    assert {*identity["CapEff"], *identity["CapBnd"]} == {"0" * 16}
    assert identity["is_own"]
    place.stop(runtimes[platform], session)


@pytest.mark.parametrize("platform", ["V1", "V2"])
def test_an_agent_reads_nothing_of_the_user_and_of_other_runtimes(
    place: Place, runtimes: dict[str, Any], platform: str
) -> None:
    session, other = str(uuid.uuid4()), str(uuid.uuid4())
    neighbour = runtimes["V2" if platform == "V1" else "V1"]
    victim = place.call(neighbour, other, "open('note', 'w').write('x'); result = [os.getcwd(), os.getpid()]")
    closed = [
        *(place.secret, place.home, place.home / "sessions", place.home / "runtimes", place.home / "service.json"),
        *(victim[0], f"{victim[0]}/note", f"/proc/{victim[1]}/environ"),
        f"/proc/{place.aws.state.pid}/environ",
    ]
    code = f"result = [tried(path) for path in {[str(path) for path in closed]!r}]"
    assert place.call(runtimes[platform], session, code) == ["PermissionError"] * len(closed)
    code = f"""
result = []
for pid in ({place.aws.state.pid}, {victim[1]}, os.getppid() if {platform == "V1"} else {victim[1]}):
    try:
        os.kill(pid, 0)
    except OSError as error:
        result.append(type(error).__name__)
"""
    assert place.call(runtimes[platform], session, code) == ["PermissionError"] * 3
    place.stop(runtimes[platform], session)
    place.stop(neighbour, other)


def test_sessions_of_one_version_have_different_users_where_each_is_started(
    place: Place, runtimes: dict[str, Any]
) -> None:
    sessions = [str(uuid.uuid4()) for _ in range(2)]
    first, _ = (place.call(runtimes["V1"], session, "result = [os.getuid(), os.getcwd()]") for session in sessions)
    user, path = place.call(runtimes["V1"], sessions[1], f"result = [os.getuid(), tried({first[1]!r})]")
    assert user != first[0]
    assert path == "PermissionError"
    for session in sessions:
        place.stop(runtimes["V1"], session)


def test_a_session_ends_with_everything_that_it_forked(place: Place, runtimes: dict[str, Any]) -> None:
    session = str(uuid.uuid4())
    # Without its mark, its parent and its group; and the supervisor cannot be killed first.
    code = """
import subprocess, sys, tempfile
subprocess.Popen(["sh", "-c", "setsid sleep 1000 & setsid sleep 1000 &"], env={"PATH": os.environ["PATH"]})
os.makedirs("/tmp/loom-left-" + str(os.getuid()), exist_ok=True)
try:
    os.kill(os.getppid(), 9)
    result = "killed its supervisor"
except PermissionError:
    result = os.getuid()
"""
    user = place.call(runtimes["V1"], session, code)
    assert isinstance(user, int)

    def processes() -> list[str]:
        pids: list[str] = []
        for entry in os.scandir("/proc"):
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and entry.stat().st_uid == user:
                    pids.append(entry.name)
        return pids

    wait_until(lambda: len(processes()) >= 3, what="the agent and what it forked")
    place.stop(runtimes["V1"], session)
    assert processes() == []
    assert not Path(f"/tmp/loom-left-{user}").exists()


def test_what_is_still_roots_has_no_variable_of_the_agents(place: Place) -> None:
    artifact = place.aws.upload({"agent.py": AGENT})
    created = place.aws.create("user_variable", artifact, environmentVariables={"OWN": "1"}, platformVersion="V1")
    runtime, session = place.aws.settled(created["agentRuntimeId"]), str(uuid.uuid4())
    parent, own = place.call(runtime, session, "result = [os.getppid(), os.environ['OWN']]")
    variables = Path(f"/proc/{parent}/environ").read_text().split("\0")
    of_the_shell = {"PWD", "OLDPWD", "SHLVL", "_"}  # which joins the control groups
    names = {variable.partition("=")[0] for variable in variables if variable} - of_the_shell
    assert names <= {"LOOM_SESSION", "LD_LIBRARY_PATH"}
    assert (own, Path(f"/proc/{parent}").stat().st_uid) == ("1", 0)
    place.stop(runtime, session)


def test_a_command_and_a_restart_of_a_session_work(place: Place, runtimes: dict[str, Any]) -> None:
    for runtime in runtimes.values():
        session = str(uuid.uuid4())
        place.call(runtime, session, "open('made', 'w').write('by the agent'); result = 1")
        answer = place.aws.data.invoke_agent_runtime_command(
            agentRuntimeArn=runtime["agentRuntimeArn"],
            runtimeSessionId=session,
            body={"command": "id -u; cat made; echo said >/dev/stdout"},
        )
        text = "".join(
            event["chunk"].get("contentDelta", {}).get("stdout", "") for event in answer["stream"] if "chunk" in event
        )
        user, *rest = text.split("\n")
        assert 50_000 <= int(user) < 60_000
        assert "".join(rest) == "by the agentsaid"
        place.stop(runtime, session)
        assert place.call(runtime, session, "result = os.path.exists('made')") is False
        place.stop(runtime, session)


def test_session_storage_outlives_its_session_and_is_its_next_users(place: Place) -> None:
    storage = [{"sessionStorage": {"mountPath": "/mnt/notes"}}]
    if not can_mount():
        with pytest.raises(ClientError, match=r"needs bubblewrap, or root that may mount \(CAP_SYS_ADMIN\)"):
            place.aws.deploy("user_stores", AGENT, filesystemConfigurations=storage)
        return
    runtime = place.aws.deploy("user_stores", AGENT, filesystemConfigurations=storage)
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    write = """
with open("/mnt/notes/note", "a") as file:
    file.write("kept ")
result = [os.getuid(), open("/mnt/notes/note").read(), os.listdir("/mnt")]
"""
    user, text, beside = place.call(runtime, first, write)
    assert (text, beside) == ("kept ", ["notes"])
    assert place.call(runtime, second, "result = os.listdir('/mnt/notes')") == []
    place.stop(runtime, first)
    later_user, text, _ = place.call(runtime, first, write)
    assert text == "kept kept "
    assert later_user != user
    place.stop(runtime, first)
    place.stop(runtime, second)


def test_an_interpreters_cell_is_another_user(place: Place) -> None:
    data = place.aws.data
    session = data.start_code_interpreter_session(codeInterpreterIdentifier="aws.codeinterpreter.v1")["sessionId"]
    code = f"import os; print(os.getuid() >= 50_000, os.access({str(place.secret)!r}, os.R_OK))"
    answer = data.invoke_code_interpreter(
        codeInterpreterIdentifier="aws.codeinterpreter.v1",
        sessionId=session,
        name="executeCode",
        arguments={"language": "python", "code": code},
    )
    results = [event["result"] for event in answer["stream"]]
    assert results[0]["structuredContent"]["stdout"].strip() == "True False"
    data.stop_code_interpreter_session(codeInterpreterIdentifier="aws.codeinterpreter.v1", sessionId=session)


def test_requirements_are_installed_by_another_user_and_can_be_imported(place: Place) -> None:
    backend = f"""
import os, zipfile

def build_wheel(folder, *_):
    seen = [os.getuid(), os.access({str(place.secret)!r}, os.R_OK)]
    with zipfile.ZipFile(os.path.join(folder, "seen_by_build-1.0-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("seen_by_build.py", f"SEEN = {{seen}}")
        for name, text in (
            ("METADATA", "Metadata-Version: 2.1\\nName: seen-by-build\\nVersion: 1.0\\n"),
            ("WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"),
            ("RECORD", ""),
        ):
            wheel.writestr("seen_by_build-1.0.dist-info/" + name, text)
    return "seen_by_build-1.0-py3-none-any.whl"
"""
    files = {
        "agent.py": AGENT,
        "requirements.txt": "./own",
        "own/backend.py": backend,
        "own/pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    }
    runtime = place.aws.settled(place.aws.create("user_requires", place.aws.upload(files))["agentRuntimeId"])
    assert runtime["status"] == "READY", runtime.get("failureReason")
    session = str(uuid.uuid4())
    code = "import seen_by_build as built; result = [*built.SEEN, os.stat(built.__file__).st_uid]"
    user, can_read, owner = place.call(runtime, session, code)
    assert 50_000 <= user < 60_000
    assert (can_read, owner) == (False, 0)
    place.stop(runtime, session)


def test_a_package_that_is_too_large_to_be_copied_can_be_read_and_not_changed(place: Place) -> None:
    files: dict[str, str | bytes] = {f"many/{number}.txt": str(number) for number in range(201)}
    artifact = place.aws.upload({"agent.py": AGENT, **files})
    runtime = place.aws.settled(place.aws.create("user_large", artifact)["agentRuntimeId"])
    session = str(uuid.uuid4())
    code = "result = [tried('many/150.txt'), os.access('many', os.W_OK), os.access('many/150.txt', os.W_OK)]"
    assert place.call(runtime, session, code) == [3, False, False]
    place.stop(runtime, session)


def test_doctor_and_the_log_name_the_isolation(place: Place) -> None:
    name = "another user id: agents cannot read your files"
    assert name in place.run("doctor")
    assert name in (place.home / "service.log").read_text()


def test_a_home_that_is_closed_to_others_is_named_with_what_to_do(
    tmp_path: Path, start_service: Callable[..., Aws], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", _without_bubblewrap(tmp_path / "programs"))
    tmp_path.chmod(0o700)
    isolation = local.status(start_service(home=tmp_path / "home").state.home).isolation
    assert isolation.startswith("none: agents run with your user's permissions")
    assert "bubblewrap is not installed; another user id cannot be used, because it could not read" in isolation
    assert "is mode 0700; install the environment and name a home (LOOM_HOME) outside of it" in isolation
    assert "chmod o+x /" in isolation
