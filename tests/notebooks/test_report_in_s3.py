"""A report that goes to S3: the local AgentCore's, through the same clients as AWS's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import nbformat
import pytest

from loomlib import local
from loomlib.aws.connection import Clients, Connection
from loomlib.errors import ReportError, ResourceNotFoundError
from loomlib.reports import run_report
from loomlib.reports.destination import NameTakenError, open_destination
from loomlib.settings import Settings

SAMPLE = Path(__file__).with_name("sample_report.ipynb")
BUCKET = "nightly-reports"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.ServiceState]:
    state, _ = local.start(tmp_path_factory.mktemp("home"), persistent=False)
    lease = local.hold(state)
    with closing(Clients(_connection(state))) as clients:
        clients.s3().create_bucket(Bucket=BUCKET)
    yield state
    lease.close()
    local.stop(state.home)


def _connection(state: local.ServiceState) -> Connection:
    return Connection(region=state.region, environment=state.environment())


def test_notebook_page_and_summary_arrive_whole(service: local.ServiceState) -> None:
    outcome = run_report(
        SAMPLE,
        {"limit_ms": "50"},
        f"s3://{BUCKET}/loom/night",
        settings=Settings(home=service.home),
        environment=service.environment(),
    )
    assert outcome.exit_code == 2
    with closing(Clients(_connection(service))) as clients:
        for address, content_type in (
            (outcome.html, "text/html; charset=utf-8"),
            (outcome.notebook, "application/x-ipynb+json"),
            (outcome.summary_path, "application/json"),
        ):
            prefix = f"s3://{BUCKET}/"
            assert address.startswith(f"{prefix}loom/night/sample_report-")
            stored_object = clients.s3().get_object(Bucket=BUCKET, Key=address.removeprefix(prefix))
            assert stored_object["ContentType"] == content_type
            assert stored_object["Body"].read()


def test_a_second_report_of_the_same_time_takes_another_name(service: local.ServiceState) -> None:
    bucket = open_destination(f"s3://{BUCKET}/taken", region=service.region, environment=service.environment())
    bucket.write("first.ipynb", b"{}", "application/x-ipynb+json", new=True)
    with pytest.raises(NameTakenError):
        bucket.write("first.ipynb", b"[]", "application/x-ipynb+json", new=True)
    bucket.write("first.ipynb", b"[]", "application/x-ipynb+json")


def test_a_missing_bucket_is_reported_before_anything_runs(service: local.ServiceState) -> None:
    lines: list[str] = []
    with pytest.raises(ResourceNotFoundError, match="missing-bucket"):
        run_report(
            SAMPLE,
            {},
            "s3://missing-bucket/x",
            settings=Settings(home=service.home),
            environment=service.environment(),
            say=lines.append,
        )
    assert lines == []


@pytest.mark.parametrize("address", ["s3://", "s3:///x", "https://example.com/x", "gs://bucket"])
def test_an_address_that_is_no_destination_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(ReportError, match="Not a destination"):
        run_report(SAMPLE, {}, address, settings=Settings(home=tmp_path))


def test_the_services_own_keys_do_not_reach_any_file(service: local.ServiceState, tmp_path: Path) -> None:
    source = (
        "import json, os, pathlib\n"
        'state = json.loads((pathlib.Path(os.environ["LOOM_HOME"]) / "service.json").read_text())\n'
        'print(state["access_key"], state["secret_key"])\nstate'
    )
    cells = [
        nbformat.v4.new_code_cell("word = 'x'  # one", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(source),
    ]
    metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), tmp_path / "keys.ipynb")
    outcome = run_report(tmp_path / "keys.ipynb", {}, str(tmp_path / "out"), settings=Settings(home=service.home))
    assert outcome.exit_code == 0, outcome.message
    for file in (outcome.html, outcome.notebook, outcome.summary_path):
        text = Path(file).read_text()
        assert service.access_key not in text
        assert service.secret_key not in text
