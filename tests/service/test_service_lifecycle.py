from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from waiting import wait_until as wait_for

import loomlib as loom
from loomlib import local
from loomlib.errors import LocalServiceError, LocalServiceNotRunningError, LocalServiceNotStartedError
from loomlib.local.state import ServiceLock

Start = Callable[..., Any]
BRIEF = local.ServiceOptions(linger_s=0.5)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter when it ends between the opening and the reading
        return False


@pytest.fixture
def without_template(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start services by their command, as users do, not from the prepared process of the tests."""
    monkeypatch.delenv("LOOM_SERVICE_TEMPLATE")


@pytest.fixture(params=["command", "template"])
def both_starts(request: pytest.FixtureRequest) -> None:
    if request.param == "command":
        request.getfixturevalue("without_template")


@pytest.mark.usefixtures("both_starts")
def test_a_started_service_is_found_and_a_stopped_one_is_not(tmp_path: Path) -> None:
    assert local.find(tmp_path) is None
    state, was_started = local.start(tmp_path, persistent=True)
    assert was_started
    assert local.find(tmp_path) == state
    assert local.start(tmp_path, persistent=True) == (state, False)
    assert local.stop(tmp_path)
    assert local.find(tmp_path) is None
    assert not local.stop(tmp_path)
    wait_for(lambda: not is_alive(state.pid))  # the lock is free shortly before the process has ended


def test_its_state_is_readable_by_its_user_only_and_its_repr_hides_the_keys(start_service: Start) -> None:
    state = start_service().state
    assert stat.S_IMODE(state.home.stat().st_mode) == 0o700
    for file in ("service.json", "service.log", "service.lock", "resources.db", "logs.db"):
        assert stat.S_IMODE((state.home / file).stat().st_mode) == 0o600, file
    assert state.access_key not in repr(state)
    assert state.secret_key not in repr(state)


@pytest.mark.usefixtures("without_template")
def test_keys_and_port_stay_the_same_when_it_is_started_again(tmp_path: Path) -> None:
    first, _ = local.start(tmp_path, persistent=True)
    local.stop(tmp_path)
    second, _ = local.start(tmp_path, persistent=True)
    try:
        assert (second.access_key, second.secret_key) == (first.access_key, first.secret_key)
        assert second.port == first.port
    finally:
        local.stop(tmp_path)


@pytest.mark.usefixtures("without_template")
def test_two_starters_at_once_get_one_service(tmp_path: Path) -> None:
    results: list[tuple[local.ServiceState, bool]] = []
    starters = [
        threading.Thread(target=lambda: results.append(local.start(tmp_path, persistent=True))) for _ in range(3)
    ]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()
    try:
        assert len({state.pid for state, _ in results}) == 1
        assert [was_started for _, was_started in results].count(True) == 1
    finally:
        local.stop(tmp_path)


def test_it_ends_when_the_last_lease_is_gone(tmp_path: Path) -> None:
    state, _ = local.start(tmp_path, BRIEF, persistent=False)
    first, second = local.hold(state), local.hold(state)
    first.close()
    time.sleep(2 * BRIEF.linger_s)
    assert local.find(tmp_path) == state
    second.close()
    assert wait_for(lambda: local.find(tmp_path) is None)


@pytest.mark.parametrize("late", [0.97, 1.02])
def test_a_connection_made_while_a_service_stops_gets_one_that_runs(tmp_path: Path, late: float) -> None:
    with loom.connect(home=tmp_path, options=BRIEF) as bench:
        bench.deploy("echo").invoke("so that there is something to stop")
    time.sleep(late * BRIEF.linger_s)
    with loom.connect(home=tmp_path, options=BRIEF) as bench:
        time.sleep(BRIEF.linger_s)
        assert bench.agent("echo").invoke("are you there?").ok


def test_it_ends_when_the_process_that_holds_the_lease_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from loomlib import local\n"
        "state, _ = local.start(Path(sys.argv[1]), persistent=False)\n"
        "lease = local.hold(state); print('held', flush=True); time.sleep(60)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(local.__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert local.find(tmp_path)
        holder.kill()
    assert wait_for(lambda: local.find(tmp_path) is None)


def test_a_lease_that_is_not_answered_is_an_error_that_says_so(start_service: Start) -> None:
    state = start_service().state
    os.kill(state.pid, signal.SIGSTOP)
    try:
        with pytest.raises(LocalServiceNotRunningError, match="does not answer"):
            local.hold(state)
    finally:
        os.kill(state.pid, signal.SIGCONT)


def test_starting_a_running_one_persistently_makes_it_persistent(tmp_path: Path) -> None:
    state, _ = local.start(tmp_path, BRIEF, persistent=False)
    lease = local.hold(state)
    persistent_state, was_started = local.start(tmp_path, persistent=True)
    try:
        assert not was_started
        assert persistent_state.persistent
        lease.close()
        time.sleep(2 * BRIEF.linger_s)
        assert local.find(tmp_path) == persistent_state
    finally:
        local.stop(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_however_it_ends_no_agent_process_is_left(start_service: Start, number: signal.Signals) -> None:
    aws = start_service()
    aws.invoke(aws.deploy("left")["agentRuntimeArn"])
    (session,) = local.status(aws.state.home).sessions
    assert is_alive(session.pid)
    os.kill(aws.state.pid, number)
    assert wait_for(lambda: not is_alive(aws.state.pid))
    assert wait_for(lambda: not is_alive(session.pid))


def test_after_being_killed_it_comes_back_with_its_agents(start_service: Start) -> None:
    aws = start_service()
    arn = aws.deploy("phoenix")["agentRuntimeArn"]
    os.kill(aws.state.pid, signal.SIGKILL)
    assert wait_for(lambda: local.find(aws.state.home) is None)
    again = start_service()
    _, body = again.invoke(arn)
    assert b'"prompt": "hi"' in body


def test_the_keeper_of_a_killed_service_leaves_the_sessions_of_the_next_one_alone(start_service: Start) -> None:
    aws = start_service()
    runtime = aws.deploy("successor")
    aws.invoke(runtime["agentRuntimeArn"])
    (keeper,) = (
        child
        for child in psutil.Process(aws.state.pid).children()
        if any(part.endswith("keeper.py") for part in child.cmdline())
    )
    keeper.suspend()  # as on a busy machine, where it runs only when the next service has a session
    os.kill(aws.state.pid, signal.SIGKILL)
    assert wait_for(lambda: local.find(aws.state.home) is None)
    again = start_service()
    again.invoke(runtime["agentRuntimeArn"])
    (session,) = local.status(again.state.home).sessions
    keeper.resume()
    wait_for(lambda: not is_alive(keeper.pid))
    assert local.status(again.state.home).sessions[0].pid == session.pid
    assert is_alive(session.pid)
    assert list((again.state.home / "sessions").iterdir())


@pytest.mark.usefixtures("without_template")
def test_a_failed_start_gives_the_reason(tmp_path: Path) -> None:
    (tmp_path / "resources.db").mkdir()
    with pytest.raises(LocalServiceNotStartedError, match="unable to open database file"):
        local.start(tmp_path, persistent=True)
    assert local.find(tmp_path) is None


@pytest.mark.usefixtures("both_starts")
def test_its_process_shows_its_command_and_none_of_the_users_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.chdir(tmp_path)
    state, _ = local.start(Path("home"), persistent=True)
    process = Path(f"/proc/{state.pid}")
    try:
        assert (process / "cmdline").read_bytes().split(b"\0")[1:6] == [
            b"-P",
            b"-m",
            b"loomlib.local",
            b"--home",
            b"home",
        ]
        assert b"canary" not in (process / "environ").read_bytes()
        assert (process / "cwd").resolve() == tmp_path.resolve()
        assert os.getsid(state.pid) not in {os.getsid(0), state.pid}
    finally:
        local.stop(Path("home"))


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "LC_ALL"])
def test_a_start_that_needs_a_new_interpreter_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "0" if variable == "PYTHONHASHSEED" else "C.UTF-8")
    state, _ = local.start(tmp_path, persistent=True)
    try:
        assert f"{variable}=".encode() in Path(f"/proc/{state.pid}/environ").read_bytes()
    finally:
        local.stop(tmp_path)


def test_a_template_that_has_ended_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOM_SERVICE_TEMPLATE", str(tmp_path / "socket"))
    assert local.start(tmp_path, persistent=True)[1]
    assert local.stop(tmp_path)


@pytest.mark.parametrize("wrong", [{"quotas": "some"}, {"log_delay_s": -1.0}, {"invoke_timeout_s": 0.0}])
def test_impossible_options_are_refused_before_anything_starts(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        local.ServiceOptions(**wrong)


def test_the_state_of_a_service_that_has_died_counts_for_nothing(tmp_path: Path) -> None:
    local.start(tmp_path, persistent=True)
    local.stop(tmp_path)
    assert (tmp_path / "service.json").exists()
    assert local.find(tmp_path) is None
    with pytest.raises(LocalServiceNotRunningError):
        local.status(tmp_path)


def test_a_second_service_does_not_move_into_a_home_in_use(tmp_path: Path) -> None:
    lock = ServiceLock(tmp_path)
    lock.take()
    assert lock.holder() == os.getpid()
    with pytest.raises(LocalServiceError, match="Another local AgentCore runs in this folder"):
        ServiceLock(tmp_path).take(wait_s=0.1)


def test_in_the_foreground_it_serves_until_it_is_stopped(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from loomlib.local.foreground import serve_in_foreground\n"
        "serve_in_foreground(Path(sys.argv[1])); print('not reached', flush=True)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(local.__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    ) as foreground:
        assert wait_for(lambda: local.find(tmp_path) is not None)
        state = local.find(tmp_path)
        assert state is not None
        assert state.pid == foreground.pid
        foreground.send_signal(signal.SIGINT)
        assert foreground.stdout is not None
        assert f"in the foreground · {state.url}".encode() in foreground.stdout.read()
    assert foreground.returncode == 0


def test_asking_where_it_is_loads_nothing_heavy() -> None:
    program = (
        "import sys, loomlib.local; print(*({'moto', 'uvicorn', 'aiohttp', 'botocore', 'asyncio'} & set(sys.modules)))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(local.__file__).parents[2])}
    assert subprocess.check_output([sys.executable, "-c", program], env=environment).strip() == b""


def test_status_lists_what_runs_in_it(start_service: Start) -> None:
    aws = start_service(profile="instant", log_delay_s=0.5)
    runtime = aws.deploy("status")
    aws.invoke(runtime["agentRuntimeArn"], runtimeSessionId="s" * 40)
    status = local.status(aws.state.home)
    assert [info.runtime_id for info in status.runtimes] == [runtime["agentRuntimeId"]]
    assert [session.session_id for session in status.sessions] == ["s" * 40]
    assert (status.simulated, status.profile, status.log_delay_s) == (True, "instant", 0.5)
    assert status.rss_bytes > 10_000_000


def test_no_key_is_written_to_the_log(start_service: Start) -> None:
    aws = start_service()
    aws.invoke(aws.deploy("quiet")["agentRuntimeArn"])
    log = (aws.state.home / "service.log").read_text()
    assert aws.state.access_key not in log
    assert aws.state.secret_key not in log
