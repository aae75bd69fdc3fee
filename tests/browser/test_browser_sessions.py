"""Browser sessions of the local AgentCore: a real Chromium, driven by AgentCore's SDK and Playwright."""

from __future__ import annotations

import base64
import json
import os
import secrets
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from playwright.sync_api import Browser, BrowserContext, Error, Route
from tenant_roles import Tenant, refusal
from waiting import wait_until

import loomlib as loom
from loomlib import local
from loomlib.errors import RequestRejectedError

from .browser_sessions import SYSTEM, client_of, connect, processes_of, session
from .conftest import CHROMIUM

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no chromium at {CHROMIUM}")]
AGENT = """
import os
from bedrock_agentcore import BedrockAgentCoreApp
from bedrock_agentcore.tools.browser_client import browser_session
from opentelemetry import trace
from playwright.async_api import async_playwright

app = BedrockAgentCoreApp()

@app.entrypoint
async def answer(payload):
    tracer = trace.get_tracer("reader")
    with tracer.start_as_current_span("read"), browser_session(os.environ["AWS_REGION"]) as session:
        url, headers = session.generate_ws_headers()
        async with async_playwright() as playwright:
            browser = await playwright.chromium.connect_over_cdp(url, headers=headers)
            page = browser.contexts[0].pages[0]
            await page.goto(payload["prompt"])
            return await page.inner_text("p")

app.run()
"""
CONTRACT = Path(__file__).parents[1] / "contract" / "scripts" / "browser.py"


@pytest.fixture(scope="module")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.ServiceState]:
    state, _ = local.start(tmp_path_factory.mktemp("browsers") / "home", persistent=True)
    yield state
    local.stop(state.home)


@pytest.fixture
def client(browsers: local.ServiceState) -> Callable[[str], Any]:
    return partial(client_of, browsers)


def test_the_sdk_and_playwright_work_unchanged_in_the_exported_shell(browsers: local.ServiceState) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    process = subprocess.run(
        [sys.executable, str(CONTRACT)],
        env=environment | local.shell_environment(browsers, {}),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[-2:] == ["The page said hello", "the window is 800 x 600"]


def test_a_stopped_session_leaves_no_process_and_no_file(
    browsers: local.ServiceState, client: Callable[[str], Any]
) -> None:
    data = client("bedrock-agentcore")
    before = set((browsers.home / "sessions").glob("*"))
    with session(data, sessionTimeoutSeconds=600, viewPort={"width": 640, "height": 480}) as browser_session:
        assert processes_of(browsers.home)
        read = data.get_browser_session(browserIdentifier=SYSTEM, sessionId=browser_session["sessionId"])
        assert (read["status"], read["sessionTimeoutSeconds"]) == ("READY", 600)
        assert read["viewPort"] == {"width": 640, "height": 480}
    read = data.get_browser_session(browserIdentifier=SYSTEM, sessionId=browser_session["sessionId"])
    assert read["status"] == "TERMINATED"
    wait_until(lambda: not processes_of(browsers.home), what="the end of its processes")
    assert set((browsers.home / "sessions").glob("*")) <= before
    with pytest.raises(ClientError, match="TERMINATED"):
        data.update_browser_stream(
            browserIdentifier=SYSTEM,
            sessionId=browser_session["sessionId"],
            streamUpdate={"automationStreamUpdate": {"streamStatus": "DISABLED"}},
        )


def test_a_session_ends_when_its_time_is_over(browsers: local.ServiceState, client: Callable[[str], Any]) -> None:
    data = client("bedrock-agentcore")
    began = time.monotonic()
    browser_session = data.start_browser_session(browserIdentifier=SYSTEM, sessionTimeoutSeconds=1)

    def is_over() -> bool:
        read = data.get_browser_session(browserIdentifier=SYSTEM, sessionId=browser_session["sessionId"])
        return read["status"] == "TERMINATED"

    wait_until(is_over, what="the end of the session")
    assert time.monotonic() - began >= 1
    wait_until(lambda: not processes_of(browsers.home), what="the end of its processes")


def test_a_repeated_client_token_starts_one_session(client: Callable[[str], Any]) -> None:
    data, token = client("bedrock-agentcore"), "token-of-one-session-that-is-long-enough"
    with session(data, clientToken=token) as browser_session:
        again = data.start_browser_session(browserIdentifier=SYSTEM, name="test", clientToken=token)
        assert again["sessionId"] == browser_session["sessionId"]
        with pytest.raises(ClientError, match="ConflictException"):
            data.start_browser_session(browserIdentifier=SYSTEM, name="other", clientToken=token)


def test_mouse_and_keyboard_act_on_the_page(
    browsers: local.ServiceState, client: Callable[[str], Any], chromium: Browser
) -> None:
    data = client("bedrock-agentcore")
    with session(data, viewPort={"width": 640, "height": 480}) as browser_session:
        browser = connect(chromium, browsers, browser_session)
        page = browser.contexts[0].pages[0]
        page.set_content(
            "<body style='margin:0;height:3000px'><textarea style='width:200px;height:100px' autofocus></textarea>"
        )

        def act(**action: Any) -> dict[str, Any]:
            answer = data.invoke_browser(
                browserIdentifier=SYSTEM, sessionId=browser_session["sessionId"], action=action
            )
            assert answer["sessionId"] == browser_session["sessionId"]
            ((name, result),) = answer["result"].items()
            assert [name] == list(action)
            return result

        assert act(mouseClick={"x": 50, "y": 50}) == {"status": "SUCCESS"}
        act(keyType={"text": "one"})
        act(keyPress={"key": "enter", "presses": 2})
        act(keyPress={"key": "x"})
        assert page.input_value("textarea") == "one\n\nx"
        act(keyShortcut={"keys": ["ctrl", "a"]})
        act(keyType={"text": "two"})
        assert page.input_value("textarea") == "two"
        act(mouseScroll={"x": 400, "y": 300, "deltaY": -500})
        page.wait_for_function("scrollY > 0")
        assert act(screenshot={})["data"].startswith(b"\x89PNG")
        failed = act(keyPress={"key": "hyper"})
        assert (failed["status"], "hyper is neither" in failed["error"]) == ("FAILED", True)
        browser.close()


def test_a_person_s_control_keeps_commands_waiting(
    browsers: local.ServiceState, client: Callable[[str], Any], chromium: Browser
) -> None:
    data = client("bedrock-agentcore")
    with session(data) as browser_session:
        target = {"browserIdentifier": SYSTEM, "sessionId": browser_session["sessionId"]}
        browser = connect(chromium, browsers, browser_session)
        page = browser.contexts[0].pages[0]
        update = {"automationStreamUpdate": {"streamStatus": "DISABLED"}}
        response = data.update_browser_stream(**target, streamUpdate=update)
        assert response["streams"]["automationStream"]["streamStatus"] == "DISABLED"
        with pytest.raises(Error, match="Timeout"):
            page.wait_for_function("true", timeout=500)
        with pytest.raises(Error, match="DISABLED"):
            connect(chromium, browsers, browser_session)
        update = {"automationStreamUpdate": {"streamStatus": "ENABLED"}}
        data.update_browser_stream(**target, streamUpdate=update)
        assert page.evaluate("6 * 7") == 42
        browser.close()


def test_starting_and_stopping_are_spans_below_their_caller_s(client: Callable[[str], Any]) -> None:
    data, logs = client("bedrock-agentcore"), client("logs")
    trace_id, parent = secrets.token_hex(16), secrets.token_hex(8)
    trace = {"traceParent": f"00-{trace_id}-{parent}-01"}
    browser_session = data.start_browser_session(browserIdentifier=SYSTEM, **trace)
    data.stop_browser_session(browserIdentifier=SYSTEM, sessionId=browser_session["sessionId"], **trace)

    def written() -> list[dict[str, Any]]:
        try:
            events = logs.filter_log_events(logGroupName="aws/spans", filterPattern=f'"{trace_id}"')["events"]
        except logs.exceptions.ResourceNotFoundException:
            return []  # made with the first span
        return [json.loads(event["message"]) for event in events] if len(events) == 2 else []

    spans = wait_until(written, what="the spans")
    assert sorted(span["name"] for span in spans) == ["StartBrowserSession", "StopBrowserSession"]
    assert {span["parentSpanId"] for span in spans} == {parent}
    assert {span["attributes"]["toolsession.id"] for span in spans} == {browser_session["sessionId"]}


def test_the_live_view_is_a_page_with_a_screenshot(browsers: local.ServiceState, client: Callable[[str], Any]) -> None:
    with session(client("bedrock-agentcore")) as browser_session:
        url = browser_session["streams"]["liveViewStream"]["streamEndpoint"]
        assert httpx.get(url, timeout=60).status_code == 403
        request = AWSRequest("GET", url)
        keys = Credentials(browsers.access_key, browsers.secret_key)
        SigV4QueryAuth(keys, "bedrock-agentcore", browsers.region, expires=300).add_auth(request)
        response = httpx.get(str(request.url), timeout=60)
        assert (response.status_code, "data:image/jpeg;base64," in response.text) == (200, True)
        assert "default-src 'none'" in response.headers["content-security-policy"]


def test_a_session_and_its_streams_are_those_of_the_tenant_that_started_it(
    browsers: local.ServiceState, client: Callable[[str], Any], chromium: Browser
) -> None:
    owner = SimpleNamespace(client=client, state=browsers)
    a, b = Tenant(owner, "a"), Tenant(owner, "b")
    with session(a.data) as browser_session:
        target = {"browserIdentifier": SYSTEM, "sessionId": browser_session["sessionId"]}
        click = {"mouseClick": {"x": 1, "y": 1}}
        assert refusal(b.data.get_browser_session, **target) == "ResourceNotFoundException"
        assert refusal(b.data.invoke_browser, **target, action=click) == "ResourceNotFoundException"
        assert refusal(b.data.stop_browser_session, **target) == "ResourceNotFoundException"
        listed = b.data.list_browser_sessions(browserIdentifier=SYSTEM)["items"]
        assert browser_session["sessionId"] not in [item["sessionId"] for item in listed]
        view = browser_session["streams"]["liveViewStream"]["streamEndpoint"]
        for tenant, status in ((a, 200), (b, 404)):
            request = AWSRequest("GET", view)
            SigV4QueryAuth(tenant.credentials, "bedrock-agentcore", browsers.region, expires=300).add_auth(request)
            assert httpx.get(str(request.url), timeout=60).status_code == status
        with pytest.raises(Error, match="404"):
            connect(chromium, browsers, browser_session, b.credentials)
        connect(chromium, browsers, browser_session, a.credentials).close()
    a.close()
    b.close()


def test_a_recording_is_stored_as_screenshots_with_their_addresses(
    browsers: local.ServiceState, client: Callable[[str], Any], chromium: Browser
) -> None:
    s3, control, data = client("s3"), client("bedrock-agentcore-control"), client("bedrock-agentcore")
    custom_browser = control.create_browser(
        name="recorded",
        executionRoleArn="arn:aws:iam::123456789012:role/browsers",
        networkConfiguration={"networkMode": "PUBLIC"},
        recording={"enabled": True, "s3Location": {"bucket": "recordings", "prefix": "browsers"}},
    )
    with pytest.raises(ClientError, match="recordings does not exist"):
        data.start_browser_session(browserIdentifier=custom_browser["browserId"])
    s3.create_bucket(Bucket="recordings")

    def names() -> list[str]:
        stored = s3.list_objects_v2(Bucket="recordings", Prefix=f"browsers/{browser_session['sessionId']}/")
        return [item["Key"].rpartition("/")[2] for item in stored.get("Contents", ())]

    with session(data, browserIdentifier=custom_browser["browserId"]) as browser_session:
        read = data.get_browser_session(
            browserIdentifier=custom_browser["browserId"], sessionId=browser_session["sessionId"]
        )
        assert read["sessionReplayArtifact"] == f"s3://recordings/browsers/{browser_session['sessionId']}/"
        wait_until(lambda: "000001.jpg" in names(), what="the first screenshot")
        browser = connect(chromium, browsers, browser_session)
        browser.contexts[0].pages[0].goto("data:text/html,<title>Shop</title><h1>Shop")
        wait_until(lambda: "000002.jpg" in names(), what="the second screenshot")
        browser.close()
    assert {"events.jsonl", "index.html"} <= set(names())
    key = f"browsers/{browser_session['sessionId']}/events.jsonl"
    events = s3.get_object(Bucket="recordings", Key=key)["Body"].read().decode().splitlines()
    assert "Shop" in [json.loads(event)["title"] for event in events]


def test_a_profile_brings_cookies_and_local_storage_into_the_next_session(
    browsers: local.ServiceState, client: Callable[[str], Any], chromium: Browser
) -> None:
    control, data = client("bedrock-agentcore-control"), client("bedrock-agentcore")
    profile = control.create_browser_profile(name="shop")["profileId"]

    def shop(context: BrowserContext) -> Any:
        def answer(route: Route) -> None:
            route.fulfill(body="<p>shop", content_type="text/html")

        page = context.new_page()
        page.route("https://shop.example/**", answer)
        page.goto("https://shop.example/")
        return page

    with session(data) as browser_session:
        browser = connect(chromium, browsers, browser_session)
        page = shop(browser.contexts[0])
        page.evaluate("document.cookie = 'customer=7; max-age=600; secure'; localStorage.setItem('cart', 'apples')")
        saved = data.save_browser_session_profile(
            profileIdentifier=profile, browserIdentifier=SYSTEM, sessionId=browser_session["sessionId"]
        )
        assert saved["profileIdentifier"] == profile
        browser.close()
    read = control.get_browser_profile(profileId=profile)
    assert (read["status"], read["lastSavedBrowserSessionId"]) == ("READY", browser_session["sessionId"])
    for configuration, expected in (({"profileIdentifier": profile}, ["customer=7", "apples"]), (None, ["", None])):
        session_options = {"profileConfiguration": configuration} if configuration else {}
        with session(data, **session_options) as browser_session:
            browser = connect(chromium, browsers, browser_session)
            page = shop(browser.contexts[0])
            assert page.evaluate("[document.cookie, localStorage.getItem('cart')]") == expected
            browser.close()


def test_a_notebook_drives_a_browser_and_shows_what_it_shows(browsers: local.ServiceState, chromium: Browser) -> None:
    with loom.connect(home=str(browsers.home)) as bench, bench.tools.browser(viewport=(640, 480)) as browser_session:
        assert browser_session.session_id == ""
        url, headers = browser_session.connection()
        playwright_browser = chromium.browser_type.connect_over_cdp(url, headers=headers)
        playwright_browser.contexts[0].pages[0].goto("data:text/html,<body style='background:red'>")
        image = browser_session.screenshot()
        assert struct.unpack(">II", image.png[16:24]) == (640, 480)
        assert repr(image).startswith("<PageImage: PNG, ")
        html = image._repr_html_()
        assert base64.b64encode(image.png).decode() in html
        assert 'alt="Screenshot of the browser&#39;s page"' in html
        assert "data:image/jpeg" in httpx.get(browser_session.live_view_url(), timeout=60).text
        assert browser_session.open("data:text/html,<title>Owls</title><body style='background:blue'>") == "Owls"
        assert browser_session.screenshot().png != image.png
        with pytest.raises(RequestRejectedError, match="cannot open the page: Cannot navigate to invalid URL"):
            browser_session.open("owls")
        session_id = browser_session.session_id
        playwright_browser.close()
    read = client_of(browsers, "bedrock-agentcore").get_browser_session(browserIdentifier=SYSTEM, sessionId=session_id)
    assert read["status"] == "TERMINATED"


def test_clients_that_come_and_go_at_once_are_all_answered(
    browsers: local.ServiceState, client: Callable[[str], Any]
) -> None:
    data = client("bedrock-agentcore")
    with session(data) as browser_session, ThreadPoolExecutor(6) as pool:

        def look(_: int) -> str:
            action = {"screenshot": {"format": "PNG"}}
            arguments = {"browserIdentifier": SYSTEM, "sessionId": browser_session["sessionId"], "action": action}
            return str(data.invoke_browser(**arguments)["result"]["screenshot"]["status"])

        assert set(pool.map(look, range(60))) == {"SUCCESS"}


def test_an_agent_in_a_session_uses_a_browser(browsers: local.ServiceState, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    with loom.connect(home=str(browsers.home)) as bench:
        agent = bench.deploy(str(folder / "agent.py"), name="reader")
        invocation = agent.invoke("data:text/html,<p>what the page says")
        assert invocation.text.strip('"') == "what the page says"
        (artifact,) = invocation.trace().artifacts()
        (picture,) = artifact.pictures
        assert (artifact.name, picture.title) == ("browser", "last page of the browser session")
        assert struct.unpack(">II", picture.content[16:24]) == (1456, 819)
