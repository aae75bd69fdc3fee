"""Web search: refused without a folder of pages, which it searches; by boto3, the SDK's client and the workbench."""

from __future__ import annotations

import importlib
import uuid
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from waiting import wait_until

import loomlib as loom
from loomlib.aws.gateways import GatewayTargetError
from loomlib.errors import AwsError

ROLE = "arn:aws:iam::123456789012:role/loom"
PAGES = {
    "docs.python.org/3/whatsnew.html": (
        "<html><head><title>What's new in Python 3.13</title>"
        '<meta property="article:published_time" content="2024-10-07"></head><body><script>alert(1)</script>'
        "<h1>Python 3.13</h1><p>The interactive interpreter has colour, and there is an experimental JIT.</p></body>"
    ),
    "kettle.md": (
        "---\nurl: https://shop.example.com/kettle\ndate: 2025-03-01\n---\n# Kettles\n\n"
        "The warranty of a kettle lasts 24 months."
    ),
    "notes/plain.txt": "A tram line connects the harbour with the old town.",
    "left-out.bin": "kettle",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, content in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.fixture(scope="module")
def online(service_with: Any, folder: Path) -> Any:
    return service_with(web_search_folder=str(folder))


@pytest.fixture(scope="module")
def bench(online: Any) -> Iterator[loom.Workbench]:
    with loom.connect(home=str(online.state.home)) as bench:
        yield bench


def searched(aws: Any, query: str, **more: Any) -> list[dict[str, Any]]:
    return aws.data.invoke_web_search(webSearchId="web-search.v1", searchQuery=query, **more)["results"]


def test_without_a_folder_every_search_says_how_to_get_one(aws: Any) -> None:
    with pytest.raises(ClientError, match=r"Web search is off.*loom up --web-search-folder FOLDER") as refused:
        searched(aws, "anything")
    assert refused.value.response["Error"]["Code"] == "NotImplementedException"
    with loom.connect(home=str(aws.state.home)) as bench:
        with pytest.raises(AwsError, match="Web search is off"):
            bench.tools.web_search("anything")
        gateway = bench.gateways.create(f"off-{uuid.uuid4().hex[:8]}", role_arn=ROLE)
        with pytest.raises(GatewayTargetError, match="Web search is off"):
            gateway.add_web_search()


def test_the_pages_of_the_folder_are_found_with_title_address_and_date(online: Any) -> None:
    best = searched(online, "how long is the warranty of a kettle")[0]
    assert (best["title"], best["url"]) == ("Kettles", "https://shop.example.com/kettle")
    assert best["publishedAt"].replace(tzinfo=UTC) == datetime(2025, 3, 1, tzinfo=UTC)
    assert "24 months" in best["text"]
    assert "---" not in best["text"]
    python = searched(online, "experimental JIT of Python", maxResults=1)
    assert [(item["title"], item["url"]) for item in python] == [
        ("What's new in Python 3.13", "https://docs.python.org/3/whatsnew.html")
    ]
    assert "alert" not in python[0]["text"]
    plain = searched(online, "tram to the old town")[0]
    assert (plain["title"], plain.get("url"), plain.get("publishedAt")) == ("plain", None, None)


def test_filters_are_those_of_the_service_model(online: Any) -> None:
    def titles(**filters: Any) -> set[str]:
        return {item["title"] for item in searched(online, "python kettle tram", filters=filters)}

    assert titles(domainFilter={"include": ["python.org"]}) == {"What's new in Python 3.13"}
    assert "What's new in Python 3.13" not in titles(domainFilter={"exclude": ["python.org"]})
    assert titles(publishedDateFilter={"publishedAfter": datetime(2025, 1, 1, tzinfo=UTC)}) == {"Kettles"}
    assert titles(publishedDateFilter={"publishedBefore": datetime(2025, 1, 1, tzinfo=UTC)}) == {
        "What's new in Python 3.13"
    }
    with pytest.raises(ClientError, match=r"web-search\.v2"):
        online.data.invoke_web_search(webSearchId="web-search.v2", searchQuery="x")


def test_a_search_sees_new_changed_and_deleted_pages_and_follows_no_links(
    online: Any, folder: Path, tmp_path: Path
) -> None:
    page = folder / "changing.md"
    page.write_text("Zebras graze near the observatory.")
    assert searched(online, "zebras near the observatory")[0]["title"] == "changing"
    page.write_text("# Penguins\n\nPenguins swim near the lighthouse, all year round.")
    assert searched(online, "penguins near the lighthouse")[0]["title"] == "Penguins"
    assert not any("Zebras" in item["text"] for item in searched(online, "zebras near the observatory"))
    page.unlink()
    assert not any("Penguins" in item["text"] for item in searched(online, "penguins near the lighthouse"))
    (tmp_path / "secret.md").write_text("The password of the vault is swordfish.")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    assert not any("swordfish" in item["text"] for item in searched(online, "the password of the vault"))


def test_a_gateway_offers_web_search_to_the_sdks_client_and_the_workbench(online: Any, bench: loom.Workbench) -> None:
    gateway = bench.gateways.create(f"web-{uuid.uuid4().hex[:8]}", role_arn=ROLE)
    assert gateway.add_web_search(exclude=["python.org"]).status == "READY"
    assert list(gateway.tools()["name"]) == ["amazon-web-search___WebSearch"]
    keys = {"aws_access_key_id": online.state.access_key, "aws_secret_access_key": online.state.secret_key}
    session = boto3.Session(region_name=online.state.region, **keys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the SDK defines models of pydantic in an older way
        sdk = importlib.import_module("bedrock_agentcore.tools.web_search_client")
    backend = sdk.GatewayMcpBackend(gateway.value.url, online.state.region, boto3_session=session)
    with sdk.WebSearchClient(online.state.region, backend=backend) as client:
        best = client.search("warranty of a kettle", max_results=2, published_after="2025-01-01").results[0]
        assert (best.title, best.url, best.published_date) == (
            *("Kettles", "https://shop.example.com/kettle"),
            "2025-03-01T00:00:00+00:00",
        )
        assert client.search("experimental JIT of Python", include_domains=["python.org"]).results == []
        with pytest.raises(sdk.WebSearchError, match="ISO 8601"):
            client.search("kettle", published_after="yesterday")
    backend.close()


def test_a_connector_that_is_not_served_fails_by_name(online: Any, bench: loom.Workbench) -> None:
    gateway = bench.gateways.create(f"other-{uuid.uuid4().hex[:8]}", role_arn=ROLE)
    connector: dict[str, Any] = {"source": {"connectorId": "bedrock-agentic-retrieve"}}
    target = online.control.create_gateway_target(
        gatewayIdentifier=gateway.value.id,
        name="agentic",
        targetConfiguration={"mcp": {"connector": connector}},
        credentialProviderConfigurations=[{"credentialProviderType": "GATEWAY_IAM_ROLE"}],
    )
    key = {"gatewayIdentifier": gateway.value.id, "targetId": target["targetId"]}
    wait_until(lambda: online.control.get_gateway_target(**key)["status"] == "FAILED", what="the target's failure")
    (reason,) = online.control.get_gateway_target(**key)["statusReasons"]
    assert "bedrock-agentic-retrieve, only web-search" in reason


def test_the_workbench_returns_a_frame(bench: loom.Workbench) -> None:
    results = bench.tools.web_search("warranty of a kettle", k=1, before=datetime.now(UTC), exclude=["python.org"])
    assert list(results.columns) == ["title", "url", "text", "published_at"]
    assert list(results["url"]) == ["https://shop.example.com/kettle"]
