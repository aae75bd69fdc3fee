"""`bench.bedrock.knowledge_bases`: a folder of texts becomes a knowledge base that answers, as a notebook uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loomlib as loom
from loomlib.aws.knowledge_bases import IngestionError
from loomlib.errors import RequestRejectedError, ResourceNotFoundError


@pytest.fixture(scope="module")
def bench(aws: Any) -> Iterator[loom.Workbench]:
    with loom.connect(home=str(aws.state.home)) as opened:
        yield opened


def test_a_folder_is_searched_asked_and_kept_up_to_date(bench: loom.Workbench, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "warranty.md").write_text("The warranty of a kettle lasts 24 months.")
    (tmp_path / "inner" / "hours.txt").write_text("The shop opens at nine and closes at six.")
    attributes = {"metadataAttributes": {"topic": "hours"}}
    (tmp_path / "inner" / "hours.txt.metadata.json").write_text(json.dumps(attributes))
    others = set(bench.bedrock.knowledge_bases.table()["name"])  # of other tests
    base = bench.bedrock.knowledge_bases.create("handbook")
    assert repr(base).startswith("Knowledge base handbook (active), ")
    first = base.add_folder(tmp_path, chunk_tokens=100)
    assert (first.status, first.scanned, first.indexed, first.failed) == ("COMPLETE", 2, 2, 0)
    matches = base.search("How long is the warranty?", k=1)
    assert matches.loc[0, "source"].endswith("/handbook/warranty.md")
    assert matches.loc[0, "score"] > 0.5
    only = base.search("warranty", where={"equals": {"key": "topic", "value": "hours"}})
    assert only["metadata"].tolist() == [{"topic": "hours"}]
    reply = base.ask("How long is the warranty of a kettle?")
    assert "24 months" in reply.text
    assert any(source.endswith("warranty.md") for source in reply.sources)
    assert "24 months" in reply._repr_html_()
    assert "local AgentCore" in reply._repr_html_()
    (tmp_path / "warranty.md").write_text("The warranty of a kettle lasts 36 months.")
    again = base.add_folder(tmp_path)
    assert (again.scanned, again.indexed) == (2, 1)
    assert "36 months" in base.search("warranty of a kettle", k=1).loc[0, "text"]
    assert set(bench.bedrock.knowledge_bases.table()["name"]) == {*others, "handbook"}
    bench.bedrock.knowledge_bases.delete("handbook")
    assert set(bench.bedrock.knowledge_bases.table()["name"]) == others


def test_places_in_s3_whose_names_are_alike_are_ingested_each(bench: loom.Workbench) -> None:
    s3 = bench.context.clients.s3()
    places = [("shop", "x-y/"), ("shop-x", "y/"), ("shop", "x/y/")]
    for bucket in ("shop", "shop-x"):
        s3.create_bucket(Bucket=bucket)
    base = bench.bedrock.knowledge_bases.create("alike")
    for bucket, prefix in places:
        s3.put_object(Bucket=bucket, Key=f"{prefix}price.txt", Body=f"The price of {bucket} {prefix} is 30.".encode())
        assert (base.add_s3(bucket, prefix).indexed, base.add_s3(bucket, prefix).indexed) == (1, 0)
    sources = base.search("What is the price?")["source"]
    assert set(sources) == {f"s3://{bucket}/{prefix}price.txt" for bucket, prefix in places}
    bench.bedrock.knowledge_bases.delete("alike")


def test_wrong_input_is_refused_with_advice(bench: loom.Workbench, tmp_path: Path) -> None:
    with pytest.raises(ResourceNotFoundError, match=r"bench\.bedrock\.knowledge_bases\.table"):
        bench.bedrock.knowledge_bases.get("none")
    base = bench.bedrock.knowledge_bases.create("empty")
    with pytest.raises(RequestRejectedError, match="no text files"):
        base.add_folder(tmp_path)
    with pytest.raises(IngestionError, match="no-such-bucket"):
        base.add_s3("no-such-bucket")
    bench.bedrock.knowledge_bases.delete("empty")
