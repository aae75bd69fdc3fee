"""Browser sessions of the local AgentCore: a real Chromium, driven by AgentCore's SDK and Playwright."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from waiting import wait_until

from loomlib import local

from .conftest import CHROMIUM

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no chromium at {CHROMIUM}")]
SYSTEM = "aws.browser.v1"
CONTRACT = Path(__file__).parents[1] / "contract" / "scripts" / "browser.py"


@pytest.fixture(scope="module")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.ServiceState]:
    state, _ = local.start(tmp_path_factory.mktemp("browsers") / "home", persistent=True)
    yield state
    local.stop(state.home)


@pytest.fixture
def client(browsers: local.ServiceState) -> Callable[[str], Any]:
    def make(name: str) -> Any:
        return boto3.client(
            name,
            endpoint_url=browsers.url,
            region_name=browsers.region,
            aws_access_key_id=browsers.access_key,
            aws_secret_access_key=browsers.secret_key,
            config=Config(retries={"total_max_attempts": 1}),
        )

    return make


@contextmanager
def session(data: Any, **parameters: Any) -> Iterator[dict[str, Any]]:
    started = data.start_browser_session(**{"browserIdentifier": SYSTEM, "name": "test", **parameters})
    yield started
    data.stop_browser_session(browserIdentifier=started["browserIdentifier"], sessionId=started["sessionId"])


def processes_of(home: Path) -> list[str]:
    """The command lines of processes that name the home folder, other than the service's own."""
    lines = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if str(home / "sessions") in line and "user-data-dir" in line]


def test_the_sdk_and_playwright_work_unchanged_in_the_exported_shell(browsers: local.ServiceState) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    ran = subprocess.run(
        [sys.executable, str(CONTRACT)],
        env=kept | local.shell_environment(browsers, {}),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-2:] == ["The page said hello", "the window is 800 x 600"]


def test_a_stopped_session_leaves_no_process_and_no_file(
    browsers: local.ServiceState, client: Callable[[str], Any]
) -> None:
    data = client("bedrock-agentcore")
    with session(data, sessionTimeoutSeconds=600, viewPort={"width": 640, "height": 480}) as started:
        assert processes_of(browsers.home)
        read = data.get_browser_session(browserIdentifier=SYSTEM, sessionId=started["sessionId"])
        assert (read["status"], read["sessionTimeoutSeconds"]) == ("READY", 600)
        assert read["viewPort"] == {"width": 640, "height": 480}
    read = data.get_browser_session(browserIdentifier=SYSTEM, sessionId=started["sessionId"])
    assert read["status"] == "TERMINATED"
    assert processes_of(browsers.home) == []
    assert list((browsers.home / "sessions").iterdir()) == []
    with pytest.raises(ClientError, match="TERMINATED"):
        data.update_browser_stream(
            browserIdentifier=SYSTEM,
            sessionId=started["sessionId"],
            streamUpdate={"automationStreamUpdate": {"streamStatus": "DISABLED"}},
        )


def test_a_session_ends_when_its_time_is_over(browsers: local.ServiceState, client: Callable[[str], Any]) -> None:
    data = client("bedrock-agentcore")
    began = time.monotonic()
    started = data.start_browser_session(browserIdentifier=SYSTEM, sessionTimeoutSeconds=1)

    def is_over() -> bool:
        read = data.get_browser_session(browserIdentifier=SYSTEM, sessionId=started["sessionId"])
        return read["status"] == "TERMINATED"

    wait_until(is_over, what="the end of the session")
    assert time.monotonic() - began >= 1
    wait_until(lambda: not processes_of(browsers.home), what="the end of its processes")


def test_a_repeated_client_token_starts_one_session(client: Callable[[str], Any]) -> None:
    data, token = client("bedrock-agentcore"), "token-of-one-session-that-is-long-enough"
    with session(data, clientToken=token) as started:
        again = data.start_browser_session(browserIdentifier=SYSTEM, name="test", clientToken=token)
        assert again["sessionId"] == started["sessionId"]
        with pytest.raises(ClientError, match="ConflictException"):
            data.start_browser_session(browserIdentifier=SYSTEM, name="other", clientToken=token)
