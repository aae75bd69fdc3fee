"""Interactive shells in sessions, by the unchanged client of AgentCore's SDK and by hostile clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, cast
from urllib.parse import quote

import pytest
from plain_agents import PLAIN_APP
from signed_requests import signed_headers
from waiting import PATIENCE_S, wait_until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from loomlib import local

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the SDK declares its models in pydantic's older form
    from bedrock_agentcore.runtime import AgentCoreRuntimeClient, PresignedAuth, ShellChannel

LOOKING_AGENT = (
    PLAIN_APP
    + """
import os, signal

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # takes the exit codes of this process's children
signal.signal(signal.SIGINT, signal.SIG_IGN)
app = PlainApp()

@app.entrypoint
def answer(payload):
    return {"namespaces": [os.readlink("/proc/self/ns/" + name) for name in ("pid", "mnt", "net", "user")]}

if __name__ == "__main__":
    app.run()
"""
)
DECEIVING_AGENT = (
    PLAIN_APP
    + """
import os, threading

app = PlainApp()
kept = []

def spawn(shell, arguments, environment, *, file_actions, **options):
    terminal, status = os.open(file_actions[0][2], os.O_RDWR | os.O_NOCTTY), os.dup(file_actions[3][1])
    kept.append(terminal)
    how = environment.get(b"HOW")
    if how == b"flood":
        def flood():
            while True:
                os.write(terminal, b"x" * 65_536)
        threading.Thread(target=flood, daemon=True).start()
        kept.append(status)
    elif how == b"digits":
        os.write(status, b"9" * 10_000)
        os.close(status)
    elif how == b"fail":
        os.close(status)
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
STDIN, STDOUT, STDERR, STATUS, RESIZE, HEARTBEAT, CLOSE = b"\0", b"\1", b"\2", b"\3", b"\4", b"\5", b"\xff"


@pytest.fixture(scope="module", params=["V1", "V2"])
def looker(aws: Any, request: pytest.FixtureRequest) -> dict[str, Any]:
    variables = {"COLOUR": "blue"}
    platform = {"platformVersion": request.param}
    return aws.deploy(f"looker_{request.param}", LOOKING_AGENT, environmentVariables=variables, **platform)


@pytest.fixture(scope="module")
def plain(aws: Any) -> dict[str, Any]:
    return aws.deploy("shell_agent", LOOKING_AGENT)


@pytest.fixture
def sdk(aws: Any, monkeypatch: pytest.MonkeyPatch) -> AgentCoreRuntimeClient:
    """The SDK's client, in an environment that `eval "$(loom up --export)"` makes."""
    for name, value in local.shell_environment(aws.state, {}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("bedrock_agentcore._utils.endpoints.DP_ENDPOINT_OVERRIDE", None)  # read at its import
    return AgentCoreRuntimeClient(region=aws.state.region)


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def within_time() -> Any:
        async with asyncio.timeout(PATIENCE_S):
            return await work()

    return asyncio.run(within_time())


async def printed(shell: Any, *expected: str) -> str:
    """Return what a shell prints, up to the first of the expected texts."""
    text = ""
    async for frame in shell:
        if frame.channel == ShellChannel.STDOUT:
            text += frame.text
        if any(item in text for item in expected):
            return text
    return text


def opened(aws: Any, arn: str, session_id: str = "", shell_id: str = "", **more: Any) -> Any:
    """A WebSocket to a shell, below the SDK."""
    path = f"/runtimes/{quote(arn, safe='')}/ws/shells" + (f"?shellId={quote(shell_id)}" if shell_id else "")
    fields = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": session_id or str(uuid.uuid4())}
    headers = signed_headers(aws.state, "GET", path, b"", service="bedrock-agentcore", headers=fields)
    headers.pop("Host", None)
    address = f"ws://127.0.0.1:{aws.state.port}{path}"
    return connect(address, additional_headers=headers, open_timeout=PATIENCE_S, **more)


def received(socket: ClientConnection, until: Callable[[bytes], bool]) -> list[bytes]:
    frames: list[bytes] = []
    while not frames or not until(frames[-1]):
        frames.append(socket.recv(timeout=PATIENCE_S))  # pyright: ignore[reportArgumentType]
    return frames


def echoed(socket: ClientConnection, expected: bytes) -> None:
    """Wait until the shell has printed something, in however many frames it comes."""
    text = b""
    while expected not in text:
        frame = cast(bytes, socket.recv(timeout=PATIENCE_S))
        text += frame[1:] if frame[:1] == STDOUT else b""


def closed(socket: ClientConnection) -> tuple[int, list[bytes]]:
    """The close code, and the frames before it."""
    frames: list[bytes] = []
    try:
        while True:
            frames.append(socket.recv(timeout=PATIENCE_S))  # pyright: ignore[reportArgumentType]
    except ConnectionClosed:
        return socket.close_code or 0, frames


def refused(aws: Any, arn: str, **more: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(InvalidStatus) as error:
        opened(aws, arn, **more)
    return error.value.response.status_code, json.loads(error.value.response.body or b"{}")


def test_the_sdks_client_works_in_a_shell_of_the_session(aws: Any, looker: dict[str, Any], sdk: Any) -> None:
    arn, session = looker["agentRuntimeArn"], str(uuid.uuid4())
    namespaces = json.loads(aws.invoke(arn, runtimeSessionId=session)[1])["namespaces"]

    async def work() -> None:
        async with sdk.open_shell(arn, session_id=session, shell_id="first") as shell:
            assert (shell.session_id, shell.shell_id) == (session, "first")
            await shell.resize(111, 33)
            await shell.send(
                "cd /tmp; colour=$COLOUR; stty size; readlink /proc/self/ns/{pid,mnt,net,user}; echo A''1\n"
            )
            text = await printed(shell, "A1")
            assert "33 111" in text
            assert all(name in text for name in namespaces)
            await shell.send("echo $PWD $colour $LOOM_SERVER.; sh -c 'echo up$COLOUR; exec sleep 1000'\n")
            assert "/tmp blue .\r\n" in await printed(shell, "upblue\r\n")
            await shell.send("\x03")  # Ctrl-C reaches the program in the foreground
            await shell.send("jobs; echo B''2; exit 7\n")
            assert "B2" in await printed(shell, "B2")
            assert [frame.channel async for frame in shell if frame.channel != ShellChannel.STDOUT] == [
                ShellChannel.STATUS
            ]
            assert shell.exit_code == 7

    run(work)


def test_a_presigned_address_opens_a_shell_of_a_new_session(plain: dict[str, Any], sdk: Any) -> None:
    async def work() -> None:
        async with sdk.open_shell(plain["agentRuntimeArn"], auth=PresignedAuth(expires=120)) as shell:
            await shell.send_bytes(b"exit\n")
            await printed(shell, "never")
            assert shell.exit_code == 0

    run(work)


def test_a_shell_runs_on_without_a_client_and_the_next_one_gets_its_output(
    aws: Any, plain: dict[str, Any], sdk: Any
) -> None:
    arn, session = plain["agentRuntimeArn"], str(uuid.uuid4())

    async def work() -> None:
        async with sdk.open_shell(arn, session_id=session, shell_id="kept") as shell:
            await shell.send("mine=here; until [ -e go ]; do sleep 0.05; done; echo do''ne; seq 90000\n")
            await printed(shell, "seq 90000")
        async with sdk.open_shell(arn, session_id=session, shell_id="other") as other:
            await other.send("touch go; echo $mine.; exit\n")
            assert "here" not in await printed(other, "never")
        async with sdk.open_shell(arn, session_id=session, shell_id="kept") as again:
            assert "90000\r\n" in await printed(again, "\r\n90000\r\n")
            await again.send("echo still $mine\n")
            await printed(again, "still here")
            async with sdk.open_shell(arn, session_id=session, shell_id="kept") as third:
                text = await printed(third, "still here")
                assert len(text) > 200_000  # the newest 256 KB
                assert "do''ne" not in text
                await printed(again, "never")
                assert again.kicked

    run(work)
    with opened(aws, arn, session, "kept") as socket:
        status = json.loads(socket.recv(timeout=PATIENCE_S)[1:])
        assert status["metadata"] == {"shellId": "kept", "reconnected": True}
        assert socket.response is not None
        assert socket.response.headers["X-Amzn-Bedrock-AgentCore-Shell-Id"] == "kept"
        assert socket.response.headers["X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"] == session
        socket.send(CLOSE)
        assert closed(socket)[0] == 1000

    def is_new() -> bool:
        with opened(aws, arn, session, "kept") as socket:
            return not json.loads(socket.recv(timeout=PATIENCE_S)[1:])["metadata"]["reconnected"]

    wait_until(is_new, what="the end of the shell")


def test_the_end_of_the_session_ends_its_shells(aws: Any, plain: dict[str, Any]) -> None:
    arn, session = plain["agentRuntimeArn"], str(uuid.uuid4())
    with opened(aws, arn, session) as socket:
        socket.send(STDIN + b"trap '' HUP TERM; sleep 1000\n")
        echoed(socket, b"sleep 1000")
        aws.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=session)
        code, frames = closed(socket)
        assert (code, frames[-1]) == (1001, CLOSE)


def test_a_killed_shell_says_its_signal(aws: Any, plain: dict[str, Any]) -> None:
    with opened(aws, plain["agentRuntimeArn"]) as socket:
        socket.send(STDIN + b"kill -9 $$\n")
        code, frames = closed(socket)
        causes = json.loads(frames[-1][1:])["details"]["causes"]
        assert code == 1000
        assert causes == [{"reason": "ExitCode", "message": "137"}, {"reason": "Signal", "message": "9"}]


def test_hostile_messages_harm_neither_shell_nor_service(aws: Any, plain: dict[str, Any]) -> None:
    arn, session = plain["agentRuntimeArn"], str(uuid.uuid4())
    with opened(aws, arn, session, "abused") as socket:
        assert received(socket, lambda frame: frame[:1] == STATUS)
        sizes = (b"", b"[" * 60_000, b'{"width": 1e9, "height": 2}', b'{"width": -1, "height": 70000}', b"[1]", b"\xff")
        bad = [b"", b"\x07hello", b"\x01out", *(RESIZE + size for size in sizes)]
        for frame in bad:
            socket.send(frame)
            message = received(socket, lambda frame: frame[:1] == STDERR)[-1]
            assert message.startswith(STDERR + b"Loom: ")
        socket.send("text")
        socket.send(HEARTBEAT)
        assert received(socket, lambda frame: frame[:1] == HEARTBEAT)[-1] == HEARTBEAT
    # A busy service takes few frames in a second: heartbeats are sent until it has taken too many in one, and the
    # answers are read meanwhile.
    for frames, code in ((["text"] * 5, 1003), ([HEARTBEAT] * 20_000, 1008), ([STDIN + b"x" * 2**16], 1009)):
        with opened(aws, arn, session, "abused", max_queue=None) as socket:
            with contextlib.suppress(ConnectionClosed):
                for frame in frames:
                    socket.send(frame)
            assert closed(socket)[0] == code
    with opened(aws, arn, session, "deaf") as socket:  # more input than a program reads
        socket.send(STDIN + b"stty raw; echo de''af; sleep 1000\n")
        echoed(socket, b"deaf")  # a terminal that is not raw yet drops what is too long for a line
        with contextlib.suppress(ConnectionClosed):
            for _ in range(10):
                socket.send(STDIN + b"y" * 60_000)
        assert closed(socket)[0] == 1008
    assert aws.invoke(arn, runtimeSessionId=session)[0]["statusCode"] == 200


def test_a_client_that_reads_nothing_slows_only_its_own_shell(aws: Any, plain: dict[str, Any]) -> None:
    arn, session = plain["agentRuntimeArn"], str(uuid.uuid4())
    with opened(aws, arn, session, "loud", max_queue=1) as socket:
        socket.send(STDIN + b"yes\n")
        start_s = time.monotonic()
        assert aws.invoke(arn, runtimeSessionId=session)[0]["statusCode"] == 200
        assert time.monotonic() - start_s < 10
        with contextlib.suppress(ConnectionClosed):  # the service closes it when the client has read nothing for 10 s
            socket.send(STDIN + b"\x03")


def test_openings_are_refused_in_awss_form(aws: Any, plain: dict[str, Any]) -> None:
    arn, session = plain["agentRuntimeArn"], str(uuid.uuid4())
    status, body = refused(aws, arn, shell_id="a b")
    assert (status, body["__type"], "Shell ID format invalid" in body["error"]) == (424, "RuntimeClientError", True)
    assert refused(aws, arn, session_id="short")[0] == 400
    assert refused(aws, arn.replace("shell_agent", "nothing"))[0] == 404
    for number in range(10):  # they stay open without a client
        with opened(aws, arn, session, f"shell{number}") as socket:
            socket.recv(timeout=PATIENCE_S)
    status, body = refused(aws, arn, session_id=session, shell_id="eleventh")
    assert (status, "10 shells are open" in body["error"]) == (424, True)
    with opened(aws, arn, session, "shell0") as socket:
        socket.send(CLOSE)
        assert closed(socket)[0] == 1000

    def admitted() -> bool:
        try:
            with opened(aws, arn, session, "eleventh"):
                return True
        except InvalidStatus:
            return False

    wait_until(admitted, what="room for a shell")


@pytest.mark.parametrize(("how", "code"), [("flood", 1001), ("digits", 1011), ("fail", 1011)])
def test_an_agent_that_deceives_the_service_harms_its_own_shell_only(aws: Any, how: str, code: int) -> None:
    agent = aws.deploy(f"deceiver_{how}", DECEIVING_AGENT, environmentVariables={"HOW": how})
    arn, session = agent["agentRuntimeArn"], str(uuid.uuid4())
    with opened(aws, arn, session) as socket:
        if how == "flood":
            received(socket, lambda frame: frame[:1] == STDOUT)
            aws.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=session)
        ended, frames = closed(socket)
        assert ended == code
        if how == "fail":
            assert "no more processes" in json.loads(frames[-1][1:])["message"]
