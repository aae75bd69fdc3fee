"""AgentCore Browser without a browser: its resources, and what is refused. `tests/browser` has the sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from loomlib.local.find_chromium import find_chromium

ROLE = "arn:aws:iam::123456789012:role/browsers"


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    return f"{error.value.response['ResponseMetadata']['HTTPStatusCode']} {error.value.response['Error']['Code']}"


def create(aws: Any, **more: Any) -> dict[str, Any]:
    name = f"reader_{uuid4().hex[:8]}"
    return aws.control.create_browser(name=name, networkConfiguration={"networkMode": "PUBLIC"}, **more)


def test_the_system_browser_is_in_every_region(aws: Any) -> None:
    assert aws.control.get_browser(browserId="aws.browser.v1")["browserArn"] == (
        "arn:aws:bedrock-agentcore:us-east-1:aws:browser/aws.browser.v1"
    )
    listed = aws.control.list_browsers(type="SYSTEM")["browserSummaries"]
    assert [browser["browserId"] for browser in listed] == ["aws.browser.v1"]


def test_a_browser_is_created_read_listed_and_deleted(aws: Any) -> None:
    place = {"bucket": "recordings", "prefix": "browsers"}
    browser = create(aws, recording={"enabled": True, "s3Location": place}, executionRoleArn=ROLE, description="reads")
    assert browser["status"] == "CREATING"
    assert browser["browserArn"].startswith("arn:aws:bedrock-agentcore:us-east-1:123456789012:browser-custom/reader_")
    read = aws.control.get_browser(browserId=browser["browserId"])
    assert (read["status"], read["description"], read["recording"]["s3Location"]) == ("READY", "reads", place)
    listed = aws.control.list_browsers(type="CUSTOM")["browserSummaries"]
    assert browser["browserId"] in [summary["browserId"] for summary in listed]
    assert aws.control.delete_browser(browserId=browser["browserId"])["status"] == "DELETING"
    with pytest.raises(ClientError) as refused:
        aws.control.get_browser(browserId=browser["browserId"])
    assert code_of(refused) == "404 ResourceNotFoundException"


def test_a_profile_is_created_found_by_its_name_and_deleted(aws: Any) -> None:
    name = f"shop_{uuid4().hex[:8]}"
    profile = aws.control.create_browser_profile(name=name)
    assert f":browser-profile/{name}-" in profile["profileArn"]
    assert aws.control.get_browser_profile(profileId=profile["profileId"])["status"] == "READY"
    (listed,) = aws.control.list_browser_profiles(name=name)["profileSummaries"]
    assert listed["profileId"] == profile["profileId"]
    assert aws.control.delete_browser_profile(profileId=profile["profileId"])["status"] == "DELETING"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"networkConfiguration": {"networkMode": "VPC"}}, "501 NotImplementedException"),
        ({"browserSigning": {"enabled": True}}, "501 NotImplementedException"),
        ({"recording": {"enabled": True}}, "400 ValidationException"),
    ],
)
def test_a_browser_that_would_not_do_what_it_says_is_refused(
    aws: Any, parameters: dict[str, Any], expected: str
) -> None:
    arguments = {"name": "other", "networkConfiguration": {"networkMode": "PUBLIC"}, **parameters}
    with pytest.raises(ClientError) as refused:
        aws.control.create_browser(**arguments)
    assert code_of(refused) == expected


def test_the_system_browser_cannot_be_deleted(aws: Any) -> None:
    with pytest.raises(ClientError) as refused:
        aws.control.delete_browser(browserId="aws.browser.v1")
    assert code_of(refused) == "400 ValidationException"


def test_sessions_of_unknown_browsers_and_unknown_sessions_are_not_found(aws: Any) -> None:
    def listed() -> list[str]:
        items = aws.data.list_browser_sessions(browserIdentifier="aws.browser.v1")["items"]
        return [item["sessionId"] for item in items]

    others = listed()  # of other tests
    with pytest.raises(ClientError) as refused:
        aws.data.start_browser_session(browserIdentifier="reader-0123456789")
    assert code_of(refused) == "404 ResourceNotFoundException"
    for call in (aws.data.get_browser_session, aws.data.stop_browser_session):
        with pytest.raises(ClientError) as refused:
            call(browserIdentifier="aws.browser.v1", sessionId="01M84FX32DCM4Y3RNTHH1NJM8M")
        assert code_of(refused) == "404 ResourceNotFoundException"
    assert listed() == others


def test_members_of_a_start_that_have_no_effect_here_are_refused(aws: Any) -> None:
    proxy = {"proxies": [{"externalProxy": {"server": "proxy.example.com", "port": 8080}}]}
    with pytest.raises(ClientError, match="proxyConfiguration") as refused:
        aws.data.start_browser_session(browserIdentifier="aws.browser.v1", proxyConfiguration=proxy)
    assert code_of(refused) == "501 NotImplementedException"


def test_a_chromium_is_found_on_the_path_or_among_playwright_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_chromium() is None
    downloaded = tmp_path / ".cache" / "ms-playwright" / "chromium-1200" / "chrome-linux" / "chrome"
    downloaded.parent.mkdir(parents=True)
    downloaded.touch()
    assert find_chromium() == downloaded
    program = tmp_path / "google-chrome"
    program.touch(mode=0o755)
    assert find_chromium() == program.resolve()
