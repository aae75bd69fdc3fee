"""Lambda functions: created, versioned and invoked by boto3, run in processes of their own."""

from __future__ import annotations

import base64
import io
import json
import uuid
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError
from waiting import wait_until

from loomlib.local.runtimes.nodes import find_node

HANDLER = """
import json
import logging
import os
import time
import uuid

process = str(uuid.uuid4())
log = logging.getLogger()
log.setLevel("INFO")
calls = []


def handle(event, context):
    calls.append(event)
    action = event.get("do", "echo")
    if action == "raise":
        raise ValueError("no such order")
    if action == "exit":
        os._exit(3)
    if action == "sleep":
        time.sleep(60)
    if action == "unmarshal":
        return {1, 2}
    if action == "flood":
        return "x" * 7_000_000
    if action == "s3":
        import boto3

        return [bucket["Name"] for bucket in boto3.client("s3").list_buckets()["Buckets"]]
    if action == "file":
        with open(event["path"]) as file:
            return file.read()
    if action == "hold":
        time.sleep(event["seconds"])
    print("hello\u2028from", context.function_name)
    log.info("logged %s", event)
    return {
        "event": event,
        "calls": len(calls),
        "process": process,
        "version": context.function_version,
        "name": os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        "own": os.environ.get("OWN"),
        "left_ms": context.get_remaining_time_in_millis(),
        "custom": context.client_context.custom if context.client_context else None,
    }
"""


def zipped(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.fixture(scope="module")
def functions(aws: Any) -> Any:
    return aws.client("lambda")


@pytest.fixture(scope="module")
def role(aws: Any) -> str:
    """A role that Lambda may assume and that may list buckets."""
    iam, name = aws.client("iam"), f"functions-{uuid.uuid4().hex[:8]}"
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
    response = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
    policy = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:ListAllMyBuckets", "Resource": "*"}],
    }
    iam.put_role_policy(RoleName=name, PolicyName="buckets", PolicyDocument=json.dumps(policy))
    return response["Role"]["Arn"]


@pytest.fixture(scope="module")
def make(functions: Any, role: str) -> Callable[..., str]:
    def make(code: str = HANDLER, *, handler: str = "app.handle", file: str = "app.py", **more: Any) -> str:
        name = f"fn-{uuid.uuid4().hex[:8]}"
        functions.create_function(
            FunctionName=name,
            Role=role,
            Handler=handler,
            Code={"ZipFile": zipped({file: code})},
            **{"Timeout": 60, "Runtime": "python3.12", **more},
        )
        return name

    return make


@pytest.fixture(scope="module")
def echo(make: Any) -> str:
    return make(Environment={"Variables": {"OWN": "value"}})


def call(functions: Any, name: str, event: Any = None, **more: Any) -> tuple[dict[str, Any], Any]:
    answer = functions.invoke(FunctionName=name, Payload=json.dumps(event or {}).encode(), **more)
    return answer, json.loads(answer["Payload"].read() or b"null")


def log_of(aws: Any, name: str) -> list[str]:
    logs = aws.client("logs")
    try:
        events = logs.filter_log_events(logGroupName=f"/aws/lambda/{name}")["events"]
    except logs.exceptions.ResourceNotFoundException:
        return []
    return [event["message"] for event in events]


def test_a_function_answers_and_its_process_is_used_again(functions: Any, echo: str) -> None:
    answer, first = call(functions, echo, {"a": 1})
    assert (answer["StatusCode"], answer["ExecutedVersion"], answer.get("FunctionError")) == (200, "$LATEST", None)
    assert (first["event"], first["name"], first["own"], first["version"]) == ({"a": 1}, echo, "value", "$LATEST")
    assert 0 < first["left_ms"] <= 60_000
    _, second = call(functions, echo)
    assert (second["process"], second["calls"]) == (first["process"], first["calls"] + 1)


def test_calls_at_once_have_processes_of_their_own(functions: Any, make: Any) -> None:
    name, seconds = make(), iter((1, 5, 20))

    def are_apart() -> bool:
        """Whether three calls had three processes; on a busy machine one may begin when another has ended."""
        event = {"do": "hold", "seconds": next(seconds)}
        with ThreadPoolExecutor(3) as pool:
            processes = {item[1]["process"] for item in pool.map(lambda _: call(functions, name, event), range(3))}
        return len(processes) == 3

    wait_until(are_apart, what="three calls at once in three processes")


def test_an_exception_is_an_answer_with_its_stack(functions: Any, echo: str) -> None:
    answer, error = call(functions, echo, {"do": "raise"})
    assert answer["FunctionError"] == "Unhandled"
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "no such order")
    assert "raise ValueError" in error["stackTrace"][-1]


@pytest.mark.parametrize(
    ("code", "handler", "kind"),
    [
        ("import not_there", "app.handle", "Runtime.ImportModuleError"),
        ("def other(event, context): ...", "app.handle", "Runtime.HandlerNotFound"),
        ("def handle(:", "app.handle", "Runtime.UserCodeSyntaxError"),
    ],
)
def test_code_that_cannot_be_loaded_fails_as_on_aws(
    functions: Any, make: Any, code: str, handler: str, kind: str
) -> None:
    answer, error = call(functions, make(code, handler=handler))
    assert (answer["FunctionError"], error["errorType"]) == ("Unhandled", kind)


@pytest.mark.parametrize("module", ["handlers", "bootstrap"])
def test_a_function_may_name_its_module_as_the_service_names_its_own(functions: Any, make: Any, module: str) -> None:
    name = make("def handle(event, context): return __name__", handler=f"{module}.handle", file=f"{module}.py")
    assert call(functions, name)[1] == module


def test_a_process_that_exits_is_replaced(functions: Any, make: Any) -> None:
    name = make()
    assert call(functions, name, {"do": "exit"})[1]["errorType"] == "Runtime.ExitError"
    assert call(functions, name)[1]["calls"] == 1


def test_a_call_that_takes_too_long_ends(functions: Any, make: Any) -> None:
    _, late = call(functions, make(Timeout=1), {"do": "sleep"})
    assert late["errorType"] == "Sandbox.Timedout"
    assert "Task timed out after 1.00 seconds" in late["errorMessage"]


def test_results_that_cannot_be_sent_are_errors(functions: Any, echo: str) -> None:
    assert call(functions, echo, {"do": "unmarshal"})[1]["errorType"] == "Runtime.MarshalError"
    assert call(functions, echo, {"do": "flood"})[1]["errorType"] == "Function.ResponseSizeTooLarge"


def test_versions_and_aliases_choose_the_code(functions: Any, make: Any) -> None:
    name = make("def handle(event, context): return 'first'")
    version = functions.publish_version(FunctionName=name)["Version"]
    functions.create_alias(FunctionName=name, Name="live", FunctionVersion=version)
    functions.update_function_code(
        FunctionName=name, ZipFile=zipped({"app.py": "def handle(event, context): return 'second'"})
    )
    assert call(functions, name)[1] == "second"
    answer, result = call(functions, name, Qualifier="live")
    assert (result, answer["ExecutedVersion"]) == ("first", version)
    arn = functions.get_function(FunctionName=name)["Configuration"]["FunctionArn"]
    assert call(functions, f"{arn}:live")[1] == "first"


def test_a_warm_process_does_not_outlive_a_change_of_memory_or_runtime(functions: Any, make: Any) -> None:
    code = (
        "import os\n"
        "def handle(event, context):\n"
        "    return [os.environ['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'], os.environ['AWS_EXECUTION_ENV']]\n"
    )
    name = make(code, MemorySize=128)
    assert call(functions, name)[1] == ["128", "AWS_Lambda_python3.12"]
    functions.update_function_configuration(FunctionName=name, MemorySize=256)
    assert call(functions, name)[1] == ["256", "AWS_Lambda_python3.12"]
    functions.update_function_configuration(FunctionName=name, Runtime="python3.13")
    assert call(functions, name)[1] == ["256", "AWS_Lambda_python3.13"]


def test_the_log_has_aws_s_lines_and_the_functions_own(aws: Any, functions: Any, echo: str) -> None:
    answer, _ = call(functions, echo, {"b": 2}, LogType="Tail")
    tail = base64.b64decode(answer["LogResult"]).decode()
    assert tail.startswith("START RequestId: ")
    assert f"hello\u2028from {echo}" in tail
    assert "logged {'b': 2}" in tail
    assert "REPORT RequestId: " in tail

    wait_until(lambda: any("logged {'b': 2}" in line for line in log_of(aws, echo)), what="the function's log lines")


def test_events_and_dry_runs_are_answered_at_once(aws: Any, functions: Any, echo: str) -> None:
    marker = uuid.uuid4().hex
    assert call(functions, echo, {"marker": marker}, InvocationType="Event")[0]["StatusCode"] == 202
    assert call(functions, echo, InvocationType="DryRun")[0]["StatusCode"] == 204

    wait_until(lambda: any(marker in line for line in log_of(aws, echo)), what="the event's call")


def test_the_client_context_reaches_the_handler(functions: Any, echo: str) -> None:
    context = base64.b64encode(json.dumps({"custom": {"tool": "a___b"}}).encode()).decode()
    assert call(functions, echo, ClientContext=context)[1]["custom"] == {"tool": "a___b"}


def test_a_function_reaches_the_local_aws_and_not_the_users_files(aws: Any, functions: Any, make: Any) -> None:
    name = make()
    aws.client("s3").create_bucket(Bucket=f"seen-{name}")
    _, buckets = call(functions, name, {"do": "s3"})
    assert f"seen-{name}" in buckets
    _, hidden = call(functions, name, {"do": "file", "path": str(aws.state.home / "service.json")})
    assert hidden["errorType"] in ("FileNotFoundError", "PermissionError")


def test_what_cannot_be_run_is_refused_by_name(functions: Any, make: Any, role: str) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        call(functions, "nobody")
    with pytest.raises(ClientError, match="InvalidRequestContentException"):
        functions.invoke(FunctionName=make(), Payload=b"{")
    with pytest.raises(ClientError, match="Python and JavaScript only, not ruby3"):
        call(functions, make("", Runtime="ruby3.4"))
    with pytest.raises(ClientError, match=r"nodejs99\.x needs Node\.js 99 or newer .*; found: .*Install it"):
        call(functions, make("", Runtime="nodejs99.x", file="app.js"))


def test_an_alias_divides_its_calls_between_two_versions(functions: Any, make: Any) -> None:
    name = make("def handle(event, context): return 'first'")
    first = functions.publish_version(FunctionName=name)["Version"]
    functions.update_function_code(
        FunctionName=name, ZipFile=zipped({"app.py": "def handle(event, context): return 'second'"})
    )
    second = functions.publish_version(FunctionName=name)["Version"]
    weights = {"AdditionalVersionWeights": {second: 0.5}}
    functions.create_alias(FunctionName=name, Name="live", FunctionVersion=first, RoutingConfig=weights)
    calls = [call(functions, name, Qualifier="live") for _ in range(40)]
    assert {(answer["ExecutedVersion"], result) for answer, result in calls} == {(first, "first"), (second, "second")}
    whole = {"AdditionalVersionWeights": {second: 1.0}}
    functions.update_alias(FunctionName=name, Name="live", FunctionVersion=first, RoutingConfig=whole)
    arn = functions.get_function(FunctionName=name)["Configuration"]["FunctionArn"].removesuffix(":$LATEST")
    assert [call(functions, f"{arn}:live")[1] for _ in range(5)] == ["second"] * 5


def test_layers_bring_modules_of_which_the_last_layer_and_the_own_code_count_first(functions: Any, make: Any) -> None:
    arns = [
        functions.publish_layer_version(LayerName=f"layer-{uuid.uuid4().hex[:8]}", Content={"ZipFile": zipped(files)})
        for files in (
            {"python/shared.py": "VALUE = 'of the first'", "python/lib/python3.12/site-packages/deep.py": "VALUE = 1"},
            {"python/shared.py": "VALUE = 'of the second'", "python/app.py": "def handle(*_): return 'wrong'"},
        )
    ]
    code = "import deep, shared\ndef handle(event, context): return [deep.VALUE, shared.VALUE]"
    name = make(code, Layers=[layer["LayerVersionArn"] for layer in arns])
    assert call(functions, name)[1] == [1, "of the second"]


JAVASCRIPT = """
const { helper } = require("./helper.js");
let calls = 0;
exports.handle = async (event, context) => {
  calls += 1;
  if (event.do === "raise") throw new TypeError("no such order");
  if (event.do === "exit") process.exit(3);
  if (event.do === "sleep") await new Promise((resolve) => setTimeout(resolve, 60_000));
  if (event.do === "flood") return "x".repeat(7_000_000);
  if (event.do === "unmarshal") return 1n;
  if (event.do === "file") return require("fs").readFileSync(event.path, "utf8");
  console.log("hello from", context.functionName, "\\nsecond line");
  return {
    event, calls, helped: helper(2), own: process.env.OWN, version: context.functionVersion, id: context.awsRequestId,
    left: context.getRemainingTimeInMillis(), node: process.versions.node, custom: context.clientContext?.custom,
  };
};
exports.older = (event, context, callback) => setTimeout(() => callback(null, { older: event.n }), 1);
"""


node = pytest.mark.skipif(find_node(20) is None, reason="this machine has no Node.js 20")


@pytest.fixture(scope="module")
def script(make: Any, functions: Any) -> str:
    helper = "exports.helper = (n) => n * 21;"
    name = make(JAVASCRIPT, file="app.js", Runtime="nodejs20.x", Environment={"Variables": {"OWN": "value"}})
    functions.update_function_code(FunctionName=name, ZipFile=zipped({"app.js": JAVASCRIPT, "helper.js": helper}))
    return name


@node
def test_a_function_in_javascript_answers_stays_warm_and_logs(functions: Any, script: str) -> None:
    context = base64.b64encode(json.dumps({"custom": {"tool": "t"}}).encode()).decode()
    _, first = call(functions, script, {"n": "ü"})
    answer, second = call(functions, script, {"n": "ü"}, LogType="Tail", ClientContext=context)
    assert (first["event"], first["helped"], first["own"], first["version"]) == ({"n": "ü"}, 42, "value", "$LATEST")
    assert (second["calls"] - first["calls"], second["custom"]) == (1, {"tool": "t"})
    assert 0 < second["left"] <= 60_000
    tail = base64.b64decode(answer["LogResult"]).decode()
    assert f"{second['id']}\tINFO\thello from {script}" in tail
    assert [line.split(" ")[0] for line in tail.splitlines() if line[0] in "SER"] == ["START", "END", "REPORT"]


@node
def test_errors_of_javascript_are_those_of_aws_s_runtime(functions: Any, make: Any, script: str) -> None:
    answer, error = call(functions, script, {"do": "raise"})
    assert answer["FunctionError"] == "Unhandled"
    assert (error["errorType"], error["errorMessage"]) == ("TypeError", "no such order")
    assert error["trace"][0] == "TypeError: no such order"
    assert call(functions, script, {"do": "unmarshal"})[1]["errorType"] == "Runtime.MarshalError"
    assert call(functions, script, {"do": "flood"})[1]["errorType"] == "Function.ResponseSizeTooLarge"
    assert "code 3" in call(functions, script, {"do": "exit"})[1]["errorMessage"]
    assert call(functions, script)[1]["calls"] == 1
    for code, kind in (
        ("exports.handle = (", "Runtime.UserCodeSyntaxError"),
        ("require('absent')", "Runtime.ImportModuleError"),
        ("exports.other = 1", "Runtime.HandlerNotFound"),
        ("throw new RangeError('at import')", "RangeError"),
    ):
        broken = make(code, file="app.js", Runtime="nodejs20.x")
        assert call(functions, broken)[1]["errorType"] == kind


@node
def test_a_long_call_in_javascript_ends_and_files_are_hidden(aws: Any, functions: Any, make: Any) -> None:
    code = JAVASCRIPT.replace('require("./helper.js")', "{}")
    slow = make(code, file="app.js", Runtime="nodejs20.x", Timeout=1)
    assert "timed out after 1.00 seconds" in call(functions, slow, {"do": "sleep"})[1]["errorMessage"]
    patient = make(code, file="app.js", Runtime="nodejs20.x")
    hidden = call(functions, patient, {"do": "file", "path": str(aws.state.home / "service.json")})[1]
    assert hidden["errorType"] == "Error"
    assert "ENOENT" in hidden["errorMessage"] or "EACCES" in hidden["errorMessage"]


@node
def test_javascript_has_modules_callbacks_and_layers(functions: Any, make: Any) -> None:
    older = make(JAVASCRIPT.replace('require("./helper.js")', "{}"), file="app.js", handler="app.older",
                 Runtime="nodejs20.x")  # fmt: skip
    assert call(functions, older, {"n": 5})[1] == {"older": 5}
    silent = make("exports.handle = (event) => void setTimeout(() => event.n, 5)", file="app.js",
                  Runtime="nodejs20.x")  # fmt: skip
    assert [call(functions, silent, {"n": 5})[1] for _ in range(2)] == [None, None], "nothing is left to wait for"
    module = "import fs from 'node:fs'; export const handle = async () => fs.existsSync('app.mjs');"
    assert call(functions, make(module, file="app.mjs", Runtime="nodejs20.x"))[1] is True
    layer = {"nodejs/node_modules/shared/index.js": "module.exports = 'of the layer';"}
    layer_version = functions.publish_layer_version(
        LayerName=f"layer-{uuid.uuid4().hex[:8]}", Content={"ZipFile": zipped(layer)}
    )
    code = "exports.handle = async () => require('shared');"
    name = make(code, file="app.js", Runtime="nodejs20.x", Layers=[layer_version["LayerVersionArn"]])
    assert call(functions, name)[1] == "of the layer"
