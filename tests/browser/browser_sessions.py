"""Sessions of a browser on a local AgentCore, and Playwright connected to them."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from playwright.sync_api import Browser

from loomlib import local

SYSTEM = "aws.browser.v1"


def client_of(state: local.ServiceState, name: str) -> Any:
    return boto3.client(
        name,
        endpoint_url=state.url,
        region_name=state.region,
        aws_access_key_id=state.access_key,
        aws_secret_access_key=state.secret_key,
        config=Config(retries={"total_max_attempts": 1}),
    )


@contextmanager
def session(data: Any, **parameters: Any) -> Generator[dict[str, Any]]:
    browser_session = data.start_browser_session(**{"browserIdentifier": SYSTEM, "name": "test", **parameters})
    yield browser_session
    data.stop_browser_session(
        browserIdentifier=browser_session["browserIdentifier"], sessionId=browser_session["sessionId"]
    )


def connect(
    chromium: Browser, state: local.ServiceState, started: dict[str, Any], key: Credentials | None = None
) -> Browser:
    """Playwright's browser on a session's automation stream, with the owner's key or another one."""
    url = started["streams"]["automationStream"]["streamEndpoint"]
    request = AWSRequest("GET", url)
    key = key or Credentials(state.access_key, state.secret_key)
    SigV4Auth(key, "bedrock-agentcore", state.region).add_auth(request)
    return chromium.browser_type.connect_over_cdp(url, headers=dict(request.headers))


def processes_of(home: Path) -> list[str]:
    """The command lines of the browsers of a home folder's service."""
    lines = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in lines.splitlines() if str(home / "sessions") in line and "user-data-dir" in line]
