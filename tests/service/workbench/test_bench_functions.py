"""Lambda functions of a workbench, on a local AgentCore: created from files, listed, called, deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

import loomlib as loom
from loomlib.errors import RequestRejectedError, ResourceNotFoundError

ORDERS = """
def lambda_handler(event, context):
    print("asked for", event["order"])
    return {"order": event["order"], "status": "shipped"}
"""


def test_a_function_of_a_file_is_listed_called_and_deleted(bench: loom.Workbench, tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(ORDERS)
    function = bench.tools.functions.create("bench-orders", tmp_path / "orders.py", description="Orders")
    (row,) = bench.tools.functions.table().query("name == 'bench-orders'").to_dict("records")
    assert (row["handler"], row["description"], row["arn"]) == ("orders.lambda_handler", "Orders", function.value.arn)
    reply = function.call({"order": "4711"})
    assert (reply.ok, reply.value, reply.error) == (True, {"order": "4711", "status": "shipped"}, "")
    assert "asked for 4711" in reply.log
    assert "local AgentCore" in reply.labels
    assert reply.answer.version == "$LATEST"
    failed = bench.tools.functions.get("bench-orders").call()
    assert (failed.ok, failed.value, failed.error) == (False, None, "KeyError: 'order'")
    with pytest.raises(ResourceNotFoundError):
        function.call(qualifier="live")
    bench.tools.functions.delete(function.value.arn)
    with pytest.raises(ResourceNotFoundError, match=r"bench\.tools\.functions\.table"):
        bench.tools.functions.get("bench-orders")


def test_code_without_a_handler_s_module_is_refused(bench: loom.Workbench, tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(ORDERS)
    with pytest.raises(RequestRejectedError, match=r"folder with app\.py"):
        bench.tools.functions.create("several", tmp_path)
    with pytest.raises(RequestRejectedError, match="no such file"):
        bench.tools.functions.create("missing", tmp_path / "three.py")
