"""Sessions of platform V2: forked from a snapshot of their version."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from botocore.exceptions import ClientError
from plain_agents import PLAIN_APP
from waiting import wait_until

AGENT = """
import os, random, socket, subprocess, sys, threading, time, uuid
{sdk}

ID, STARTED_AT = str(uuid.uuid4()), time.time()
app = {app}()
{start}

@app.entrypoint
{kind} answer(payload, context):
    {body}

if __name__ == "__main__":
    app.run()
"""


def agent(*, start: str, kind: str, body: str) -> str:
    """An agent without AgentCore's SDK."""
    return PLAIN_APP + AGENT.format(sdk="", app="PlainApp", start=start, kind=kind, body=body)


def sdk_agent(*, start: str, kind: str, body: str) -> str:
    """An agent in the SDK's app, which warm-up hooks, spans, and threads of its server need."""
    name = "BedrockAgentCoreApp"
    return AGENT.format(sdk=f"from bedrock_agentcore import {name}", app=name, start=start, kind=kind, body=body)


SHARED = agent(
    start="",
    kind="def",
    body="""
    files = sorted(os.listdir("."))
    with open("own.txt", "w") as file:
        file.write(context.session_id)
    return {
        "id": ID, "started_at": STARTED_AT, "random": random.random(), "folder": os.getcwd(),
        "pid": os.getpid(), "new_id": str(uuid.uuid4()), "mark": os.environ["LOOM_SESSION"],
        "key": os.environ["AWS_ACCESS_KEY_ID"], "session": context.session_id, "files": files,
    }
""",
)
WARM_UP = {"build": {"warmup": {"action": {"httpPost": {"path": "/warmup"}}}}}
# What the SDK's application answers at a path of the agent's own.
WARMED = """
COUNT = 0

from starlette.responses import PlainTextResponse
from starlette.routing import Route

def warm_up(request):
    global COUNT
    COUNT += 1
    {effect}
    return PlainTextResponse("warm", status_code={status})

app.router.routes.append(Route("/warmup", warm_up, methods=["POST"]))
"""


def session(number: int) -> str:
    return f"snapshot-session-{number:04d}-0123456789abcdef"


def ask(aws: Any, arn: str, number: int, **payload: Any) -> Any:
    return json.loads(aws.invoke(arn, json.dumps(payload).encode(), runtimeSessionId=session(number))[1])


def deploy(aws: Any, name: str, code: str, **more: Any) -> str:
    return aws.deploy(name, code, platformVersion="V2", **more)["agentRuntimeArn"]


def refused(aws: Any, name: str, code: str, **more: Any) -> tuple[str, str]:
    """The ARN of a version that failed, and why it did."""
    created = aws.create(name, aws.upload({"agent.py": code}), platformVersion="V2", **more)
    runtime = aws.settled(created["agentRuntimeId"])
    assert runtime["status"] == "CREATE_FAILED"
    return runtime["agentRuntimeArn"], runtime["failureReason"]


def messages(aws: Any, arn: str) -> str:
    group = f"/aws/bedrock-agentcore/runtimes/{arn.rpartition('/')[2]}-DEFAULT"
    return "\n".join(event["message"] for event in aws.client("logs").filter_log_events(logGroupName=group)["events"])


def processes_with(text: str) -> list[int]:
    pids: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and text in (entry / "environ").read_text("utf-8", "replace"):
                pids.append(int(entry.name))
        except OSError:
            continue
    return pids


def has_ended(process: psutil.Process) -> bool:
    """Whether a process has ended: it is gone, or its parent has not read its exit code yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def zombies_of(process: psutil.Process) -> list[psutil.Process]:
    """The descendants of a process that have ended and are still there."""
    zombies: list[psutil.Process] = []
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.status() == psutil.STATUS_ZOMBIE:
                zombies.append(child)
    return zombies


@pytest.fixture(params=["best", "off"])
def isolated(request: pytest.FixtureRequest, service_with: Callable[..., Any]) -> Iterator[Any]:
    """A service that isolates its sessions, and one that does not, without the runtimes of other tests."""
    service = service_with(sandbox=request.param)
    yield service
    for runtime in service.control.list_agent_runtimes()["agentRuntimes"]:
        if runtime["status"] != "DELETING":
            service.control.delete_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"])


def test_sessions_share_what_was_made_at_the_start_and_nothing_else(isolated: Any) -> None:
    arn = deploy(isolated, "restored", SHARED)
    first, second = ask(isolated, arn, 1), ask(isolated, arn, 2)
    for name in ("id", "started_at", "random"):
        assert first[name] == second[name], name
    for name in ("pid", "new_id", "mark", "key", "session"):
        assert first[name] != second[name], name
    assert first["session"] == session(1)
    assert "own.txt" not in second["files"]
    assert ask(isolated, arn, 1)["pid"] == first["pid"]
    sessions = isolated.state.home / "sessions"
    assert {path.read_text() for path in sessions.glob("*.sessions/*/own.txt")} == {session(1), session(2)}


def test_the_hook_is_called_once_and_every_session_has_its_effect(aws: Any) -> None:
    warmed = WARMED.format(effect='print("warming", COUNT)', status=200)
    code = sdk_agent(start=warmed, kind="def", body='return {"count": COUNT}')
    arn = deploy(aws, "warmed", code, hooksConfiguration=WARM_UP)
    assert [ask(aws, arn, number)["count"] for number in (1, 2, 1)] == [1, 1, 1]
    assert messages(aws, arn).count("warming") == 1


@pytest.mark.parametrize(
    ("effect", "status", "reason"),
    [
        ("print('the hook is called', flush=True)", 500, r"POST /warmup answered 500"),
        (
            "print('the hook is called: the model is missing', flush=True); os._exit(7)",
            200,
            r"ended with exit code 7[\s\S]*model is missing",
        ),
    ],
)
def test_a_hook_that_fails_fails_the_version_and_is_not_called_again(
    aws: Any, effect: str, status: int, reason: str
) -> None:
    code = sdk_agent(start=WARMED.format(effect=effect, status=status), kind="def", body="return 1")
    arn, failure = refused(aws, f"cold_{status}", code, hooksConfiguration=WARM_UP)
    assert failure.startswith("The warm-up hook failed: ")
    assert re.search(reason, failure)
    assert messages(aws, arn).count("the hook is called") == 1


def test_a_version_that_is_deleted_while_its_hook_runs_ends_at_once_and_leaves_nothing(isolated: Any) -> None:
    start = WARMED.format(effect="print('warming', flush=True); time.sleep(100)", status=200)
    code = sdk_agent(start=start, kind="def", body="return COUNT")
    created = isolated.create(
        "deleted_early", isolated.upload({"agent.py": code}), platformVersion="V2", hooksConfiguration=WARM_UP
    )
    name, home = created["agentRuntimeId"], isolated.state.home

    def hook_runs() -> bool:
        try:
            return "warming" in messages(isolated, created["agentRuntimeArn"])
        except ClientError:  # there is no log group yet
            return False

    wait_until(hook_runs, what="the hook")
    began = time.monotonic()
    isolated.control.delete_agent_runtime(agentRuntimeId=name)
    assert time.monotonic() - began < 50
    assert not (home / "runtimes" / name).exists()
    assert not processes_with(name)
    lines = [line for line in (home / "service.log").read_text().splitlines() if name in line]
    assert "was deleted while it was CREATING" in lines[-1]
    assert not [line for line in lines if "FAILED" in line]


THREAD = "threading.Thread(target=time.sleep, args=(600,), name='refresher', daemon=True).start()"


def test_the_hook_is_called_in_each_session_that_is_booted_and_not_restored(aws: Any) -> None:
    warmed = WARMED.format(effect='print("warming", COUNT)', status=200)
    code = sdk_agent(start=THREAD + warmed, kind="def", body='return {"id": ID, "count": COUNT}')
    arn = deploy(aws, "warmed_boots", code, hooksConfiguration=WARM_UP)
    first, second, again = [ask(aws, arn, number) for number in (1, 2, 1)]
    assert first["id"] != second["id"]
    assert first == again
    assert (first["count"], second["count"]) == (1, 1)
    lines = messages(aws, arn)
    assert lines.count("warming") == 3  # with the call at the version's build
    note = "the warm-up hook POST /warmup is called in this session before its first request"
    assert lines.count(note) == lines.count("this session was booted and not restored") == 2


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ("status", r"POST /warmup answered 500"),
        ("exit", r"POST /warmup: The agent('s process ended with exit code 7| closed)"),
    ],
)
def test_a_hook_that_fails_in_a_booted_session_fails_its_start(
    aws: Any, tmp_path: Path, failure: str, reason: str
) -> None:
    cold = tmp_path / "cold"
    is_cold = f"os.path.exists({str(cold)!r})"
    effect = f"print('the model is ' + ('missing' if {is_cold} else 'there'), flush=True)"
    if failure == "exit":
        effect += f"; {is_cold} and os._exit(7)"
    warmed = WARMED.format(effect=effect, status=f"500 if {is_cold} else 200")
    code = sdk_agent(start=THREAD + warmed, kind="def", body='return {"count": COUNT}')
    arn = deploy(aws, f"cold_boots_{failure}", code, hooksConfiguration=WARM_UP)
    cold.touch()
    with pytest.raises(ClientError, match=rf"The warm-up hook failed: {reason}") as failed:
        ask(aws, arn, 1)
    assert failed.value.response["Error"]["Code"] == "RuntimeClientError"
    assert "the model is missing" in str(failed.value)
    assert messages(aws, arn).count("the model is missing") == 1
    cold.unlink()
    assert ask(aws, arn, 1) == {"count": 1}


OTHER_PORT = """
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

STATE = {"warmed": 0}

class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        STATE["warmed"] += self.path == "/warm"
        self.send_response(204 if self.path == "/warm" else 404)
        self.end_headers()

threading.Thread(target=HTTPServer(("127.0.0.1", 9001), Hook).serve_forever, daemon=True).start()
"""


def test_a_hook_at_another_port_is_called_there(isolated: Any) -> None:
    code = agent(start=OTHER_PORT, kind="def", body='return {"warmed": STATE["warmed"]}')
    for path, port, reason in (
        ("/cold", 9001, "POST /cold at port 9001 answered 404"),
        ("/warm", 9002, "nothing accepts connections at port 9002"),
    ):
        hooks = {"build": {"warmup": {"action": {"httpPost": {"path": path, "port": port}}}}}
        assert reason in refused(isolated, f"hook_of_{port}", code, hooksConfiguration=hooks)[1]
    hooks = {"build": {"warmup": {"action": {"httpPost": {"path": "/warm", "port": 9001}}}}}
    arn = deploy(isolated, "hook_elsewhere", code, hooksConfiguration=hooks)
    for number in (1, 2):  # one after the other: without isolation they share the machine's ports
        assert [ask(isolated, arn, number)["warmed"] for _ in range(2)] == [1, 1]
        isolated.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=session(number))


def test_a_version_that_does_not_start_fails_with_its_last_lines(aws: Any) -> None:
    assert "no such module" in refused(aws, "broken_start", "raise ImportError('no such module')")[1]


@pytest.mark.parametrize(
    ("start", "obstacle"),
    [
        (THREAD, "'refresher'"),
        ("LISTENER = socket.create_server(('127.0.0.1', 0))", "a server of its own"),
        ("CHILD = subprocess.Popen(['sleep', '600'])", "it has started other processes"),
        ("PIPE = os.pipe()", "an open pipe"),
    ],
)
def test_a_process_that_cannot_be_forked_boots_its_sessions_and_says_why(aws: Any, start: str, obstacle: str) -> None:
    arn = deploy(aws, f"booted_{len(obstacle)}", agent(start=start, kind="def", body='return {"id": ID}'))
    assert ask(aws, arn, 1)["id"] != ask(aws, arn, 2)["id"]
    assert messages(aws, arn).count("this session was booted and not restored") == 2
    assert obstacle in messages(aws, arn)


def test_an_open_file_is_each_sessions_own(isolated: Any) -> None:
    start = "open('words.txt', 'w').write('one two three'); FILE = open('words.txt', 'r+', buffering=1)\nFILE.read(4)"
    body = 'word = FILE.readline(); FILE.write("!" + context.session_id); return {"word": word}'
    arn = deploy(isolated, "files", agent(start=start, kind="def", body=body))
    assert [ask(isolated, arn, number)["word"] for number in (1, 2)] == ["two three", "two three"]
    assert session(2) not in ask(isolated, arn, 1)["word"]


def test_sockets_and_pipes_that_were_left_in_folders_are_left_out(aws: Any) -> None:
    start = """
for folder in (".", "inner", "/tmp", "/tmp/inner"):
    os.makedirs(folder, exist_ok=True)
    socket.socket(socket.AF_UNIX).bind(f"{folder}/left.sock")
    os.mkfifo(f"{folder}/left.pipe")
    open(f"{folder}/left.txt", "w").close()
"""
    body = """
    folders = (".", "inner", "/tmp", "/tmp/inner")
    return [name for folder in folders for name in os.listdir(folder) if "left" in name]
"""
    arn = deploy(aws, "left_files", agent(start=start, kind="def", body=body))
    assert ask(aws, arn, 1) == ["left.txt"] * 4
    assert "booted and not" not in messages(aws, arn)


def test_a_sessions_copy_of_the_files_takes_no_more_space_than_they_do(isolated: Any) -> None:
    start = """
with open("holes", "wb") as file:
    file.write(b"begin")
    file.seek(40_000_000)
    file.write(b"end")
    file.truncate(80_000_000)
with open("several", "wb") as file:
    file.write(b"x" * 1_000_000)
for number in range(5):
    os.link("several", f"same{number}")
"""
    body = """
    with open("holes", "rb") as file:
        content = [file.read(5).decode(), file.seek(40_000_000), file.read(4).strip(b"\\0").decode()]
    names = ["holes", "several", *(f"same{number}" for number in range(5))]
    files = {os.stat(name).st_ino: os.stat(name) for name in names}.values()
    return {"content": content, "size": os.path.getsize("holes"), "disk": sum(file.st_blocks * 512 for file in files)}
"""
    arn = deploy(isolated, "holes", agent(start=start, kind="def", body=body))
    answer = ask(isolated, arn, 1)
    assert (answer["content"], answer["size"]) == (["begin", 40_000_000, "end"], 80_000_000)
    assert answer["disk"] < 2_000_000
    assert "booted and not" not in messages(isolated, arn)


def test_the_standard_input_of_a_session_is_empty_and_its_own(isolated: Any) -> None:
    body = """
    if payload.get("replace"):
        with open("words.txt", "w+") as file:
            file.write("own words")
            file.seek(0)
            os.dup2(file.fileno(), 0)
    return {"read": sys.stdin.read()}
"""
    arn = deploy(isolated, "reading", agent(start="", kind="def", body=body))
    assert [ask(isolated, arn, 1, replace=replaces)["read"] for replaces in (False, True)] == ["", "own words"]
    for number in (2, 3):  # restored before and after
        assert ask(isolated, arn, number)["read"] == ""


def test_a_connection_of_the_start_is_closed_and_its_client_connects_again(aws: Any) -> None:
    start = """
import boto3
client = boto3.client("sts")
WHO = client.get_caller_identity()["Account"]
PLAIN = socket.create_connection(("127.0.0.1", int(os.environ["AWS_ENDPOINT_URL"].rpartition(":")[2])))
"""
    body = 'return {"account": client.get_caller_identity()["Account"], "read": PLAIN.recv(9).decode()}'
    arn = deploy(aws, "connected", agent(start=start, kind="def", body=body))
    expected = {"account": "123456789012", "read": ""}
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda number: ask(aws, arn, number), range(4))) == [expected] * 4


def test_threads_pools_and_loops_work_in_a_restored_session(isolated: Any) -> None:
    start = WARMED.format(effect="time.sleep(0.01)", status=200) + "\nimport asyncio"
    body = """
    words = [await asyncio.to_thread(lambda word: word.upper(), word) for word in ("a", "b")]
    process = await asyncio.create_subprocess_exec("echo", "c", stdout=subprocess.PIPE)
    return {"words": words + [(await process.communicate())[0].decode().strip()]}
"""
    arn = deploy(isolated, "looped", sdk_agent(start=start, kind="async def", body=body), hooksConfiguration=WARM_UP)
    assert [ask(isolated, arn, number)["words"] for number in (1, 2)] == [["A", "B", "c"]] * 2


def test_a_restored_session_that_ends_is_reported_and_the_next_one_restored(isolated: Any) -> None:
    body = 'print("going", flush=True)\n    if payload.get("code"): os._exit(payload["code"])\n    return {"id": ID}'
    arn = deploy(isolated, "ending", agent(start="", kind="def", body=body))
    before = ask(isolated, arn, 1)
    with pytest.raises(ClientError, match="ended with exit code 3") as failed:
        ask(isolated, arn, 1, code=3)
    assert failed.value.response["Error"]["Code"] == "RuntimeClientError"
    assert "going" in str(failed.value)
    assert ask(isolated, arn, 1) == before


def test_a_folder_and_a_signal_that_the_agent_chose_stay_chosen(isolated: Any) -> None:
    start = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nos.mkdir('deep'); os.chdir('deep')"
    body = """
    open("here.txt", "w").close()
    return {"ignored": signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN, "folder": os.path.basename(os.getcwd())}
"""
    arn = deploy(isolated, "chosen", agent(start=start, kind="def", body=body))
    for number in (1, 2):
        assert ask(isolated, arn, number) == {"ignored": True, "folder": "deep"}
    assert len(list((isolated.state.home / "sessions").glob("*.sessions/*/deep/here.txt"))) == 2
    assert "booted and not" not in messages(isolated, arn)


def test_stopping_ends_what_a_restored_session_started(isolated: Any) -> None:
    body = """
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    return {"mark": os.environ["LOOM_SESSION"]}
"""
    arn = deploy(isolated, "forking", agent(start="", kind="def", body=body))
    mark, other = ask(isolated, arn, 1)["mark"], ask(isolated, arn, 2)["mark"]
    # A process that has just begun its program has no environment for a moment.
    wait_until(lambda: processes_with(mark), what="the processes of the first session")
    isolated.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=session(1))
    assert not processes_with(mark)
    wait_until(lambda: processes_with(other), what="the processes of the second session")
    frozen = next((isolated.state.home / "sessions").glob(f"*.sessions/{other}")).parent.stem
    assert processes_with(frozen)
    isolated.control.delete_agent_runtime(agentRuntimeId=arn.rpartition("/")[2])
    wait_until(lambda: not processes_with(frozen), what="the end of the frozen process")
    assert not processes_with(other)


def test_a_service_that_is_killed_takes_its_snapshots_along(start_service: Callable[..., Any]) -> None:
    aws = start_service()
    warmed = WARMED.format(effect='print("warming")', status=200)
    code = sdk_agent(start=warmed, kind="def", body='return {"session": context.session_id, "count": COUNT}')
    arn = deploy(aws, "orphaned", code, hooksConfiguration=WARM_UP)
    ask(aws, arn, 1)
    assert "was no longer kept" not in messages(aws, arn)
    frozen = next((aws.state.home / "sessions").glob("*.sessions")).stem
    os.kill(aws.state.pid, signal.SIGKILL)
    wait_until(lambda: not processes_with(frozen), what="the end of the frozen process and its session")
    again = start_service()
    for number in (1, 2):  # the snapshot is taken again
        assert ask(again, arn, number) == {"session": session(number), "count": 1}
    reason = "was no longer kept, because the service was started again: the warm-up hook POST /warmup runs again"
    assert messages(again, arn).count(reason) == 1
    assert (again.state.home / "service.log").read_text().count(reason) == 1


SMALL = """
import os, uvicorn

async def app(scope, receive, send):
    body = str(os.getpid()).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})

uvicorn.run(app, host="0.0.0.0", port=8080, lifespan="off", log_level="warning")
"""


def test_frozen_processes_without_sessions_are_stopped_but_for_the_last_ones(
    start_service: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOM_KEPT_SNAPSHOTS", "3")
    aws = start_service()
    sessions = aws.state.home / "sessions"
    in_use = deploy(aws, "in_use", SMALL)
    process = ask(aws, in_use, 1)
    arns = [deploy(aws, f"small_{number}", SMALL, hooksConfiguration=WARM_UP) for number in range(5)]
    session_files = wait_until(
        lambda: (paths := list(sessions.glob("*.sessions"))) and len(paths) == 4 and paths,
        what="the end of two frozen processes",
    )
    assert len(session_files) == 4  # with the one that has a session
    assert ask(aws, in_use, 1) == process
    log = (aws.state.home / "service.log").read_text()
    stopped = [arn for arn in (in_use, *arns) if f"of {arn.rpartition('/')[2]} was stopped" in log]
    assert stopped == arns[:2]
    assert ask(aws, arns[0], 1) > 0  # taken again
    reason = "was no longer kept, because its frozen process was stopped: the warm-up hook POST /warmup runs again"
    assert messages(aws, arns[0]).count(reason) == 1
    (line,) = [line for line in (aws.state.home / "service.log").read_text().splitlines() if reason in line]
    assert arns[0].rpartition("/")[2] in line
    aws.data.stop_runtime_session(agentRuntimeArn=arns[0], runtimeSessionId=session(1))
    assert ask(aws, arns[0], 2) > 0


def test_a_frozen_process_that_has_ended_leaves_nothing_when_it_is_replaced(isolated: Any) -> None:
    arn, sessions = deploy(isolated, "replaced", SHARED), isolated.state.home / "sessions"
    (folder,) = sessions.glob(f"*.sessions/{ask(isolated, arn, 1)['mark']}")
    mark = folder.parent.name.removesuffix(".sessions")
    assert len(list(sessions.glob(f"{mark}*"))) == 3  # its folder, those of its sessions, and its record
    frozen = psutil.Process(json.loads((sessions / f"{mark}.json").read_text())["pid"])
    frozen.kill()
    wait_until(lambda: has_ended(frozen), what="the end of the frozen process")  # until then it may fork a session
    assert ask(isolated, arn, 2)["session"] == session(2)
    wait_until(lambda: not list(sessions.glob(f"{mark}*")), what="the removal of the ended process's files")
    assert ask(isolated, arn, 1)["session"] == session(1)


def test_an_idle_session_takes_hardly_any_processor_time(isolated: Any) -> None:
    body = """
    import resource
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    time.sleep(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
    """
    arn = deploy(isolated, "idle", agent(start="", kind="def", body=body))
    assert ask(isolated, arn, 1) < 8  # uvicorn alone wakes ten times


def test_a_session_that_has_ended_leaves_no_process(isolated: Any) -> None:
    arn = deploy(isolated, "leaving", SMALL)
    for number in (1, 2):
        ask(isolated, arn, number)
        isolated.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=session(number))
    own = psutil.Process(isolated.state.pid)
    wait_until(lambda: not zombies_of(own), what="the end of processes that have exited")


def test_sessions_of_one_version_cannot_reach_each_other(aws: Any) -> None:
    body = """
    found = {"status": open("/proc/self/status").read().split("CapEff:")[1].split()[0], "readable": []}
    if payload.get("serve"):
        app.server = socket.create_server(("127.0.0.1", 7777))
        open("/tmp/secret", "w").write("x")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) not in (os.getpid(), os.getppid()):
            for name in ("environ", "mem", "root/tmp/secret", "cwd/own.txt"):
                try:
                    if open(f"/proc/{pid}/{name}", "rb"): found["readable"].append(name)
                except OSError:
                    pass
    try:
        socket.create_connection(("127.0.0.1", 7777), 1)
        found["connected"] = True
    except OSError:
        found["connected"] = False
    found["tmp"] = os.path.exists("/tmp/secret")
    siblings = os.path.dirname(os.getcwd()) + "/" + os.path.basename(os.getcwd()) + ".sessions"
    found["siblings"] = os.listdir(siblings) if os.path.exists(siblings) else []
    import ctypes
    found["mount"] = ctypes.CDLL(None).mount(b"none", b"/mnt", b"tmpfs", 0, b"")
    return found
"""
    arn = deploy(aws, "apart", agent(start="", kind="def", body=body))
    first, second = ask(aws, arn, 1, serve=True), ask(aws, arn, 2)
    assert first["connected"]
    assert second == {
        "status": "0000000000000000",
        "readable": [],
        "connected": False,
        "tmp": False,
        "siblings": [],
        "mount": -1,
    }


def test_spans_of_a_restored_session_are_its_own(aws: Any) -> None:
    start = """
from opentelemetry import trace
tracer = trace.get_tracer("own")
with tracer.start_as_current_span("at the start"):
    pass
"""
    body = 'with tracer.start_as_current_span("in the session"): return {"id": ID}'
    arn = deploy(aws, "traced", sdk_agent(start=start, kind="def", body=body))
    for number in (1, 2):
        ask(aws, arn, number)
    logs = aws.client("logs")

    def spans() -> list[dict[str, Any]] | None:
        try:
            events = logs.filter_log_events(logGroupName="aws/spans", filterPattern='"in the session"')["events"]
        except logs.exceptions.ResourceNotFoundException:
            return None  # made with the first span
        own_spans = [span for event in events if arn in event["message"] for span in [json.loads(event["message"])]]
        return own_spans if len(own_spans) == 2 else None

    session_spans = wait_until(spans, what="the spans of two sessions")
    assert session_spans is not None
    assert {span["attributes"]["session.id"] for span in session_spans} == {session(1), session(2)}
    assert len({span["resource"]["attributes"]["service.instance.id"] for span in session_spans}) == 2


def test_many_sessions_start_at_once(aws: Any) -> None:
    arn = deploy(aws, "crowd", SHARED)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: ask(aws, arn, number), range(24)))
    assert len({answer["mark"] for answer in answers}) == 24
    assert [answer["session"] for answer in answers] == [session(number) for number in range(24)]
