"""Hostile cells of code interpreters: each is contained, its limit is named, and another session is served."""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from attack import CANARY
from botocore.config import Config
from waiting import wait_until

from loomlib import local
from loomlib.local.sandbox.isolation import choose

MANAGED = "aws.codeinterpreter.v1"
LIMITS = "memory=300m,processes=48,storage=30m,open_files=64"

pytestmark = pytest.mark.skipif(choose().level != "bubblewrap", reason="hostile cells need the boundary")


class Cells:
    """Sessions of one service, and the result of a cell in each."""

    def __init__(self, state: local.ServiceState, user: Path) -> None:
        self.state, self.user = state, user
        self.data: Any = boto3.client(
            "bedrock-agentcore",
            endpoint_url=state.url,
            region_name=state.region,
            aws_access_key_id=state.access_key,
            aws_secret_access_key=state.secret_key,
            config=Config(retries={"total_max_attempts": 1}, read_timeout=120),
        )

    def start(self) -> str:
        return self.data.start_code_interpreter_session(codeInterpreterIdentifier=MANAGED)["sessionId"]

    def status(self, session: str) -> str:
        return self.data.get_code_interpreter_session(codeInterpreterIdentifier=MANAGED, sessionId=session)["status"]

    def invoke(self, session: str, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.data.invoke_code_interpreter(
            codeInterpreterIdentifier=MANAGED, sessionId=session, name=tool, arguments=arguments
        )
        (event,) = answer["stream"]
        return event["result"]

    def run(self, session: str, code: str) -> dict[str, Any]:
        code = code.replace("USER", str(self.user)).replace("SERVICE", str(self.state.home))
        return self.invoke(session, "executeCode", code=code)

    def stop(self, session: str) -> None:
        self.data.stop_code_interpreter_session(codeInterpreterIdentifier=MANAGED, sessionId=session)

    @contextlib.contextmanager
    def session(self) -> Iterator[str]:
        session = self.start()
        yield session
        self.stop(session)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cells]:
    folder = tmp_path_factory.mktemp("hostile-cells")
    user = folder / "user"
    (user / ".aws").mkdir(parents=True)
    (user / ".aws" / "credentials").write_text(f"[default]\naws_secret_access_key = {CANARY} of a file\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(user))
        patch.setenv("AWS_SECRET_ACCESS_KEY", f"{CANARY} of the environment")
        patch.setenv("LOOM_MODEL_API_KEY", f"{CANARY} of the model")
        state, _ = local.start(folder / "home", local.ServiceOptions(limits=LIMITS), persistent=True)
        field = Cells(state, user)
        yield field
        field.data.close()
        local.stop(state.home)


@pytest.fixture(scope="module")
def neighbour(cells: Cells) -> str:
    session = cells.start()
    cells.run(session, f"open('private.txt', 'w').write('{CANARY} of a neighbour'); kept = 1")
    return session


LIMITED = {
    "processes": [
        "import os, time\nwhile True:\n    try:\n        if os.fork() == 0:\n            time.sleep(60)\n"
        "    except OSError:\n        time.sleep(0.05)",
    ],
    "memory": ["taken = []\nwhile True:\n    taken.append(bytearray(b'x' * 2**24))"],
    "storage": [
        "import itertools\nfor number in itertools.count():\n    open(f'junk{number}', 'wb').write(b'x' * 2**20)",
    ],
}


@pytest.mark.parametrize(
    ("limit", "code"), [pytest.param(name, code, id=name) for name, codes in LIMITED.items() for code in codes]
)
def test_a_cell_that_takes_without_end_ends_its_session_and_names_the_limit(
    cells: Cells, neighbour: str, limit: str, code: str
) -> None:
    session = cells.start()
    result = cells.run(session, code)
    assert result["isError"] is True
    assert f"Resource limit reached: {limit}" in result["structuredContent"]["stderr"]
    assert cells.status(session) == "TERMINATED"
    assert cells.run(neighbour, "kept")["structuredContent"]["stdout"] == "1"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_of_output_is_cut_and_the_limit_named(cells: Cells, stream: str) -> None:
    with cells.session() as session:
        result = cells.run(session, f"import sys\nfor _ in range(64): sys.{stream}.write('x' * 2**20)")
        content = result["structuredContent"]
        assert len(content[stream]) < 2 * 2**20
        assert (
            f"Resource limit reached: output (1,048,576 bytes); the rest of {stream} was dropped" in content["stderr"]
        )
        command = "head -c 30000000 /dev/zero | tr '\\0' x" + (" >&2" if stream == "stderr" else "")
        content = cells.invoke(session, "executeCommand", command=command)["structuredContent"]
        assert len(content[stream]) < 2 * 2**20
        assert "Resource limit reached: output" in content["stderr"]


def test_too_many_open_files_fail_in_the_cell_only(cells: Cells) -> None:
    with cells.session() as session:
        result = cells.run(session, "files = []\nwhile True:\n    files.append(open('/dev/null'))")
        assert "Too many open files" in result["structuredContent"]["stderr"]
        assert cells.run(session, "files.clear(); 'still here'")["structuredContent"]["stdout"] == "'still here'"


@pytest.mark.parametrize(
    "code",
    [
        "print(open('USER/.aws/credentials').read())",
        "import os; print(os.environ)",
        "import glob; print([open(f).read() for f in glob.glob('SERVICE/**/*', recursive=True)])",
        "import glob; print([open(f, 'rb').read() for f in glob.glob('/proc/[0-9]*/environ')])",
        "import os; print([os.readlink(f'/proc/{p}/cwd') for p in os.listdir('/proc') if p.isdigit()])",
        "import glob; print([open(f).read() for f in glob.glob('../*/private.txt')])",
        "import os; os.symlink('USER/.aws/credentials', 'credentials'); print(open('credentials').read())",
        "import os; print([os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if int(fd) < 9])",
    ],
)
def test_a_cell_finds_no_secret_and_no_other_session(cells: Cells, neighbour: str, code: str) -> None:
    with cells.session() as session:
        output = str(cells.run(session, code))
        assert CANARY not in output
        assert cells.state.secret_key not in output


def test_a_link_does_not_lead_file_operations_to_the_user_s_keys(cells: Cells) -> None:
    with cells.session() as session:
        cells.run(session, "import os; os.symlink('USER/.aws/credentials', 'credentials')")
        result = cells.invoke(session, "readFiles", paths=["credentials"])
        assert result["isError"] is True
        assert CANARY not in str(result)


@pytest.mark.parametrize(
    "code",
    [
        # The session's first process, all processes, and the socket to the first process.
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time; time.sleep(60)",
        "import os, signal\nos.kill(-1, signal.SIGKILL)",
        "import os\nos.write(3, (10**12).to_bytes(8, 'big') + b'x' * 4096)\nos._exit(0)",
        "import os\nos.write(3, (9).to_bytes(8, 'big') + b'[1, 2, 3]')",
        "import os\nos.close(3); os.close(1); os.close(2)",
        "import sys\nsys.stdout = sys.stderr = None",
        "import ctypes; ctypes.string_at(0)",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
    ],
)
def test_a_cell_that_breaks_its_process_harms_its_own_session_only(cells: Cells, neighbour: str, code: str) -> None:
    session = cells.start()
    result = cells.run(session, code)
    assert set(result) <= {"content", "structuredContent", "isError"}
    if cells.status(session) == "READY":
        assert cells.run(session, "1 + 1")["content"]
    cells.stop(session)
    assert cells.run(neighbour, "kept")["structuredContent"]["stdout"] == "1"


def test_stopping_a_session_ends_all_of_its_processes(cells: Cells) -> None:
    name = f"loom-{uuid.uuid4()}"
    session = cells.start()
    detached = f"import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 600 #{name}'], start_new_session=True)"
    cells.run(session, detached)
    cells.invoke(session, "startCommandExecution", command=f"setsid nohup sh -c 'sleep 600; : {name}'")
    wait_until(lambda: processes_with(name), what="the processes of the session")
    cells.stop(session)
    assert processes_with(name) == []


@pytest.mark.parametrize("how", ["down", "killed"])
def test_no_process_of_a_cell_outlives_the_service(tmp_path: Path, how: str) -> None:
    name = f"loom-{uuid.uuid4()}"
    state, _ = local.start(tmp_path / "home", persistent=True)
    cells = Cells(state, tmp_path)
    cells.run(
        cells.start(), f"import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 600 #{name}'], start_new_session=True)"
    )
    cells.data.close()
    wait_until(lambda: processes_with(name), what="the process")
    if how == "killed":
        os.kill(state.pid, signal.SIGKILL)
        wait_until(lambda: not processes_with(name), what="the end of the process")
    local.stop(state.home)
    assert processes_with(name) == []


def test_files_as_large_as_an_event_holds_are_read_and_larger_ones_refused(cells: Cells) -> None:
    with cells.session() as session:
        cells.run(session, "open('text', 'w').write('ж' * 7_000_000); open('escapes', 'wb').write(b'\\0' * 10_000_000)")
        (block,) = cells.invoke(session, "readFiles", paths=["text"])["content"]
        assert len(block["resource"]["text"]) == 7_000_000
        for paths in (["escapes"], ["text", "text"]):
            result = cells.invoke(session, "readFiles", paths=paths)
            assert result["isError"] is True
            assert "at most 15,000,000 bytes can be read at once" in str(result["content"])
        assert cells.status(session) == "READY"


def processes_with(text: str) -> list[str]:
    pids: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if text.encode() in (process / "cmdline").read_bytes():
                pids.append(process.name)
    return pids
