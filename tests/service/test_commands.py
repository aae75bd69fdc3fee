from __future__ import annotations

import contextlib
import json
import shlex
import time
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError, EventStreamError
from plain_agents import PLAIN_APP
from waiting import wait_until

from loomlib import local

LOOK = """
import json, os
names = ("pid", "mnt", "net", "user", "ipc")
print(json.dumps({
    "uid": os.getuid(),
    "limits": open("/proc/self/limits").read(),
    "namespaces": {name: os.readlink("/proc/self/ns/" + name) for name in names},
    "privileges": [line for line in open("/proc/self/status") if line.startswith(("Cap", "NoNewPrivs"))],
}))
"""
BUSY_AGENT = (
    PLAIN_APP
    + """
import os, signal, socket

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # takes the exit codes of this process's children
socket.setdefaulttimeout(0.2)
os.chdir("/")
app = PlainApp()

@app.entrypoint
def answer(payload):
    if "write" in payload:
        with open(payload["write"], "w") as file:
            file.write("from the agent")
    return {"pid": os.getpid(), "uid": os.getuid(), "limits": open("/proc/self/limits").read(),
            "namespaces": {name: os.readlink("/proc/self/ns/" + name) for name in ("pid", "mnt", "net", "user", "ipc")},
            "privileges": [line for line in open("/proc/self/status") if line.startswith(("Cap", "NoNewPrivs"))]}

if __name__ == "__main__":
    app.run()
"""
)


DECEIVING_AGENT = (
    PLAIN_APP
    + """
import os

app = PlainApp()
kept = []

def spawn(shell, arguments, environment, *, file_actions, **options):
    command = arguments[-1]
    output, errors, status = (action[1] for action in file_actions[1:4])
    if command == b"flood":
        writer = os.dup(status)
        import threading
        def flood():
            while True:
                os.write(writer, b"9" * 65_536)
        threading.Thread(target=flood, daemon=True).start()
    elif command == b"digits":
        os.write(status, b"9" * 10_000)
    elif command == b"silence":
        kept.extend(os.dup(each) for each in (output, errors, status))
    elif command == b"fail":
        raise OSError(11, "no more processes")
    return 999_999

os.posix_spawn = spawn

@app.entrypoint
def answer(payload):
    return "ready"

if __name__ == "__main__":
    app.run()
"""
)


@pytest.fixture(scope="module")
def worker(aws: Any) -> dict[str, Any]:
    return aws.deploy("worker", BUSY_AGENT, environmentVariables={"COLOUR": "blue"})


@pytest.fixture(scope="module")
def deceiver(aws: Any) -> dict[str, Any]:
    return aws.deploy("deceiver", DECEIVING_AGENT)


def started(aws: Any, runtime: dict[str, Any], command: str, session_id: str = "", timeout: int = 60) -> Any:
    return aws.data.invoke_agent_runtime_command(
        agentRuntimeArn=runtime["agentRuntimeArn"],
        runtimeSessionId=session_id or str(uuid.uuid4()),
        body={"command": command, "timeout": timeout},
    )


def run(aws: Any, runtime: dict[str, Any], command: str, **more: Any) -> tuple[str, str, dict[str, Any]]:
    """A command's output, its errors and its end."""
    events = [event["chunk"] for event in started(aws, runtime, command, **more)["stream"]]
    assert events[0] == {"contentStart": {}}
    deltas = [event["contentDelta"] for event in events[1:-1]]
    text = ["".join(delta.get(name, "") for delta in deltas) for name in ("stdout", "stderr")]
    return text[0], text[1], events[-1]["contentStop"]


def test_a_command_runs_in_the_folder_and_with_the_variables_of_its_session(aws: Any, worker: dict[str, Any]) -> None:
    session_id = str(uuid.uuid4())
    answer, body = aws.invoke(worker["agentRuntimeArn"], b"{}", runtimeSessionId=session_id)
    answer = started(aws, worker, "ls; echo $COLOUR $UNKNOWN; echo oops >&2; exit 7", session_id)
    assert answer["runtimeSessionId"] == session_id
    assert answer["contentType"] == "application/vnd.amazon.eventstream"
    assert answer["statusCode"] == 200
    events = [event["chunk"] for event in answer["stream"]]
    assert events[-1] == {"contentStop": {"exitCode": 7, "status": "COMPLETED"}}
    text = "".join(event["contentDelta"].get("stdout", "") for event in events[1:-1])
    assert "agent.py" in text.splitlines()
    assert text.splitlines()[-1] == "blue"
    pid = json.loads(body)["pid"]
    assert (
        run(aws, worker, f"tr '\\0' ' ' < /proc/{pid}/cmdline", session_id=session_id)[0].strip().endswith("agent.py")
    )


def test_files_are_shared_with_the_agent(aws: Any, worker: dict[str, Any]) -> None:
    session_id = str(uuid.uuid4())
    run(aws, worker, "pwd > place; echo from the command > /tmp/one", session_id=session_id)
    folder = run(aws, worker, "cat place", session_id=session_id)[0].strip()
    aws.invoke(worker["agentRuntimeArn"], json.dumps({"write": f"{folder}/two"}).encode(), runtimeSessionId=session_id)
    assert run(aws, worker, "cat /tmp/one two", session_id=session_id)[0] == "from the command\nfrom the agent"


def test_a_command_is_as_isolated_and_limited_as_the_agent(aws: Any, worker: dict[str, Any]) -> None:
    session_id = str(uuid.uuid4())
    agent = json.loads(aws.invoke(worker["agentRuntimeArn"], b"{}", runtimeSessionId=session_id)[1])
    look = f"python3 -c {shlex.quote(LOOK)}"
    out, err, _ = run(aws, worker, look, session_id=session_id)
    command = json.loads(out or err)
    assert command == {name: agent[name] for name in command}
    if "bubblewrap:" in str(local.status(aws.state.home).isolation):
        assert run(aws, worker, f"ls {__file__}", session_id=session_id)[2]["exitCode"] != 0


def test_a_restored_session_runs_commands_as_a_booted_one(aws: Any) -> None:
    agent = "\n".join(line for line in BUSY_AGENT.splitlines() if not line.startswith(("signal.", "os.chdir")))
    assert "setdefaulttimeout" in agent  # which must not hold for what the service says to a restored process
    runtime = aws.deploy("restored", agent, platformVersion="V2", environmentVariables={"COLOUR": "blue"})
    session_id = str(uuid.uuid4())
    agent_view = json.loads(aws.invoke(runtime["agentRuntimeArn"], b"{}", runtimeSessionId=session_id)[1])
    out, _, end = run(aws, runtime, "sleep 1; echo $COLOUR; exit 7", session_id=session_id)
    assert (out, end) == ("blue\n", {"exitCode": 7, "status": "COMPLETED"})
    out, err, _ = run(aws, runtime, f"python3 -c {shlex.quote(LOOK)}", session_id=session_id)
    command = json.loads(out or err)
    assert command == {name: agent_view[name] for name in command}


def test_output_arrives_while_the_command_runs(aws: Any, worker: dict[str, Any]) -> None:
    session_id = str(uuid.uuid4())
    stream = started(aws, worker, "echo ready; while [ ! -e go ]; do sleep 0.05; done; echo gone", session_id)["stream"]
    events = (event["chunk"] for event in stream)
    assert next(events) == {"contentStart": {}}
    assert next(events) == {"contentDelta": {"stdout": "ready\n"}}
    run(aws, worker, "touch go", session_id=session_id)
    assert list(events) == [
        {"contentDelta": {"stdout": "gone\n"}},
        {"contentStop": {"exitCode": 0, "status": "COMPLETED"}},
    ]


def test_a_command_above_its_time_is_killed(aws: Any, worker: dict[str, Any]) -> None:
    session_id, out = str(uuid.uuid4()), ""
    for timeout in (5, 20, 60):  # on a busy machine the command may not have begun in time
        out, _, end = run(aws, worker, "echo begun; sleep 3600 & sleep 3600", session_id=session_id, timeout=timeout)
        assert end["status"] == "TIMED_OUT"
        if out:
            break
    assert out == "begun\n"
    wait_until(lambda: not sleeping(aws, worker, session_id), what="the end of the killed command's processes")


def sleeping(aws: Any, runtime: dict[str, Any], session_id: str) -> bool:
    look = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[s]leep 3600'"
    return run(aws, runtime, look, session_id=session_id)[0].strip() != "0"


def test_a_client_that_leaves_ends_its_command(aws: Any, worker: dict[str, Any]) -> None:
    session_id = str(uuid.uuid4())
    answer = started(aws, worker, "echo begun; exec sleep 3600", session_id)
    stream = iter(answer["stream"])
    next(stream)
    next(stream)
    wait_until(lambda: sleeping(aws, worker, session_id), what="the shell to become the sleeping program")
    answer["stream"].close()
    wait_until(lambda: not sleeping(aws, worker, session_id), what="the end of a command without a client")


def test_much_output_and_broken_text_arrive(aws: Any, worker: dict[str, Any]) -> None:
    out, _, end = run(aws, worker, "head -c 5000000 /dev/zero | tr '\\0' é; printf 'é\\377ü'")
    assert end == {"exitCode": 0, "status": "COMPLETED"}
    assert out.endswith("é\ufffdü")
    assert len(out) >= 5_000_000


def test_the_end_of_the_session_ends_the_stream(aws: Any, worker: dict[str, Any]) -> None:
    session_id = str(uuid.uuid4())
    with contextlib.closing(started(aws, worker, "echo begun; sleep 3600", session_id)["stream"]) as answer:
        stream = iter(answer)
        next(stream)
        next(stream)
        aws.data.stop_runtime_session(agentRuntimeArn=worker["agentRuntimeArn"], runtimeSessionId=session_id)
        with pytest.raises(EventStreamError, match="The session was stopped"):
            list(stream)


def test_a_command_keeps_its_session_from_being_idle(aws: Any) -> None:
    runtime = aws.deploy("sleeper", BUSY_AGENT, environmentVariables={"LOOM_LOCAL_IDLE_TIMEOUT_S": "1"})
    began_s = time.monotonic()
    out, _, end = run(aws, runtime, "sleep 4; echo awake")
    assert (out, end["exitCode"]) == ("awake\n", 0)
    assert time.monotonic() - began_s >= 4


@pytest.mark.parametrize(
    ("trick", "status", "errors"),
    [
        ("flood", "COMPLETED", ""),
        ("digits", "COMPLETED", ""),
        ("silence", "TIMED_OUT", ""),
        ("fail", "COMPLETED", "no more processes"),
    ],
)
def test_an_agent_that_deceives_the_service_ends_its_own_command_only(
    aws: Any, deceiver: dict[str, Any], trick: str, status: str, errors: str
) -> None:
    out, err, end = run(aws, deceiver, trick, timeout=3 if status == "TIMED_OUT" else 240)
    assert (out, end) == ("", {"exitCode": -1, "status": status})
    assert errors in err


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"body": {"command": "true", "timeout": 0}}, "ValidationException"),
        ({"body": {"command": "true", "timeout": 3_601}}, "ValidationException"),
        ({"body": {"command": "a\0b"}}, "ValidationException"),
        ({"body": {"command": "echo \ud800"}}, "ValidationException"),
        ({"qualifier": "NONE"}, "ResourceNotFoundException"),
    ],
)
def test_a_refusal_is_an_error_of_aws(aws: Any, worker: dict[str, Any], change: dict[str, Any], code: str) -> None:
    request = {"agentRuntimeArn": worker["agentRuntimeArn"], "body": {"command": "true"}} | change
    with pytest.raises(ClientError) as refused:
        aws.data.invoke_agent_runtime_command(**request)
    assert refused.value.response["Error"]["Code"] == code
