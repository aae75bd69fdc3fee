"""AgentCore Code Interpreter: its resources, sessions, cells, commands and files, with boto3 and in AWS's forms."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from waiting import wait_until

from loomlib.local.sandbox.isolation import choose

MANAGED = "aws.codeinterpreter.v1"
Tool = Callable[..., dict[str, Any]]


def invoke(data: Any, session_id: str, tool: str, interpreter: str = MANAGED, **arguments: Any) -> dict[str, Any]:
    answer = data.invoke_code_interpreter(
        codeInterpreterIdentifier=interpreter, sessionId=session_id, name=tool, arguments=arguments
    )
    assert answer["sessionId"] == session_id
    (event,) = answer["stream"]
    return event["result"]


def structured(result: dict[str, Any], *members: str) -> tuple[Any, ...]:
    return tuple(result["structuredContent"][member] for member in members)


def text_of(result: dict[str, Any]) -> str:
    return "".join(block["text"] for block in result["content"])


def start(data: Any, interpreter: str = MANAGED, **more: Any) -> str:
    return data.start_code_interpreter_session(codeInterpreterIdentifier=interpreter, **more)["sessionId"]


def stop(data: Any, session_id: str, interpreter: str = MANAGED) -> None:
    data.stop_code_interpreter_session(codeInterpreterIdentifier=interpreter, sessionId=session_id)


def refusal_of(call: Callable[[], Any]) -> tuple[int, str, str]:
    with pytest.raises(ClientError) as refused:
        call()
    answer: Any = refused.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"], answer["Error"]["Message"]


@pytest.fixture(scope="module")
def session(aws: Any) -> Iterator[str]:
    session_id = start(aws.data, name="shared")
    yield session_id
    stop(aws.data, session_id)


@pytest.fixture(scope="module")
def tool(aws: Any, session: str) -> Tool:
    return lambda name, **arguments: invoke(aws.data, session, name, **arguments)


# Resources


def test_the_managed_code_interpreter_is_in_every_region(aws: Any) -> None:
    for region in ("eu-central-1", "ap-southeast-2"):
        control = boto3.client(
            "bedrock-agentcore-control",
            endpoint_url=aws.state.url,
            region_name=region,
            aws_access_key_id=aws.state.access_key,
            aws_secret_access_key=aws.state.secret_key,
        )
        description = control.get_code_interpreter(codeInterpreterId=MANAGED)
        assert description["codeInterpreterArn"] == f"arn:aws:bedrock-agentcore:{region}:aws:code-interpreter/{MANAGED}"
        assert description["status"] == "READY"
        listed = control.list_code_interpreters()["codeInterpreterSummaries"]
        assert [item["codeInterpreterId"] for item in listed] == [MANAGED]
        control.close()


def test_a_code_interpreter_is_created_listed_by_type_and_deleted(aws: Any) -> None:
    created = aws.control.create_code_interpreter(name="own", networkConfiguration={"networkMode": "PUBLIC"})
    assert created["status"] == "CREATING"
    assert ":code-interpreter-custom/own-" in created["codeInterpreterArn"]
    identifier = created["codeInterpreterId"]
    assert aws.control.get_code_interpreter(codeInterpreterId=identifier)["status"] == "READY"
    by_type = {
        kind: [
            item["codeInterpreterId"]
            for item in aws.control.list_code_interpreters(type=kind)["codeInterpreterSummaries"]
        ]
        for kind in ("SYSTEM", "CUSTOM")
    }
    assert by_type["SYSTEM"] == [MANAGED]
    assert identifier in by_type["CUSTOM"]
    conflict = refusal_of(
        lambda: aws.control.create_code_interpreter(name="own", networkConfiguration={"networkMode": "SANDBOX"})
    )
    assert conflict[:2] == (409, "ConflictException")
    session_id = start(aws.data, identifier)
    assert aws.control.delete_code_interpreter(codeInterpreterId=identifier)["status"] == "DELETING"
    not_found = refusal_of(lambda: invoke(aws.data, session_id, "listFiles", identifier))
    assert not_found[:2] == (404, "ResourceNotFoundException")


def test_the_managed_code_interpreter_cannot_be_deleted(aws: Any) -> None:
    refused = refusal_of(lambda: aws.control.delete_code_interpreter(codeInterpreterId=MANAGED))
    assert refused[:2] == (400, "ValidationException")
    assert "managed by AWS" in refused[2]


# Sessions


def test_a_session_is_described_listed_and_stopped(aws: Any) -> None:
    session_id = start(aws.data, name="described", sessionTimeoutSeconds=120)
    session_ref = {"codeInterpreterIdentifier": MANAGED, "sessionId": session_id}
    description = aws.data.get_code_interpreter_session(**session_ref)
    assert (description["name"], description["status"], description["sessionTimeoutSeconds"]) == (
        "described",
        "READY",
        120,
    )
    ready = aws.data.list_code_interpreter_sessions(codeInterpreterIdentifier=MANAGED, status="READY")["items"]
    assert session_id in [item["sessionId"] for item in ready]
    stop(aws.data, session_id)
    assert aws.data.get_code_interpreter_session(**session_ref)["status"] == "TERMINATED"
    refused = refusal_of(lambda: invoke(aws.data, session_id, "listFiles"))
    assert refused[:2] == (409, "ConflictException")
    assert "TERMINATED: The session was stopped" in refused[2]
    stop(aws.data, session_id)  # once more, as `code_session` does after a timeout


def test_a_client_token_starts_one_session(aws: Any) -> None:
    token = "t" * 40
    first = start(aws.data, name="once", clientToken=token)
    assert start(aws.data, name="once", clientToken=token) == first
    assert refusal_of(lambda: start(aws.data, name="other", clientToken=token))[:2] == (409, "ConflictException")
    stop(aws.data, first)


def test_sessions_are_listed_in_pages_the_newest_first(aws: Any) -> None:
    interpreter = aws.control.create_code_interpreter(name="paged", networkConfiguration={"networkMode": "SANDBOX"})[
        "codeInterpreterId"
    ]
    session_ids = [start(aws.data, interpreter) for _ in range(3)]
    first = aws.data.list_code_interpreter_sessions(codeInterpreterIdentifier=interpreter, maxResults=2)
    rest = aws.data.list_code_interpreter_sessions(
        codeInterpreterIdentifier=interpreter, maxResults=2, nextToken=first["nextToken"]
    )
    listed = [item["sessionId"] for item in (*first["items"], *rest["items"])]
    assert sorted(listed) == sorted(session_ids)
    assert listed == sorted(listed, reverse=True)
    assert "nextToken" not in rest
    aws.control.delete_code_interpreter(codeInterpreterId=interpreter)


def test_a_session_ends_at_its_timeout_with_what_runs_in_it(aws: Any) -> None:
    timeouts_s = iter((1, 5, 20, 60))

    def ended() -> tuple[str, int, dict[str, Any]] | None:
        timeout_s = next(timeouts_s)
        session_id = start(aws.data, sessionTimeoutSeconds=timeout_s)
        try:
            return session_id, timeout_s, invoke(aws.data, session_id, "executeCode", code="while True: pass")
        except aws.data.exceptions.ConflictException:  # the timeout passed before the code arrived
            return None

    result = wait_until(ended, what="a session that ends while code runs in it")
    assert result is not None
    session_id, timeout_s, answer = result
    assert answer["isError"]
    assert f"timeout of {timeout_s} seconds has passed" in text_of(answer)
    assert refusal_of(lambda: invoke(aws.data, session_id, "listFiles"))[1] == "ConflictException"


def test_sessions_of_another_region_are_not_found(aws: Any, session: str) -> None:
    elsewhere = boto3.client(
        "bedrock-agentcore",
        endpoint_url=aws.state.url,
        region_name="eu-west-1",
        aws_access_key_id=aws.state.access_key,
        aws_secret_access_key=aws.state.secret_key,
    )
    session_ref = {"codeInterpreterIdentifier": MANAGED, "sessionId": session}
    assert refusal_of(lambda: elsewhere.get_code_interpreter_session(**session_ref))[:2] == (
        404,
        "ResourceNotFoundException",
    )
    elsewhere.close()


def test_an_unknown_code_interpreter_or_session_is_refused_by_name(aws: Any, session: str) -> None:
    for call, missing_id in (
        (lambda: start(aws.data, "none-0123456789"), "none-0123456789"),
        (lambda: invoke(aws.data, "NOSUCHSESSION", "listFiles"), "NOSUCHSESSION"),
        (lambda: invoke(aws.data, session, "listFiles", "none-0123456789"), "none-0123456789"),
    ):
        status, code, message = refusal_of(call)
        assert (status, code) == (404, "ResourceNotFoundException")
        assert missing_id in message


# Cells


def test_variables_are_kept_between_cells_and_the_last_expression_is_shown(tool: Tool) -> None:
    tool("executeCode", language="python", code="kept = 20")
    result = tool("executeCode", language="python", code="print('printed')\nkept * 2 + 2")
    assert result["content"] == [{"type": "text", "text": "printed\n42"}]
    assert structured(result, "stdout", "stderr", "exitCode") == ("printed\n42", "", 0)
    assert result["structuredContent"]["executionTime"] >= 0
    assert result["isError"] is False


def test_a_failing_cell_answers_its_traceback_and_keeps_the_variables(tool: Tool) -> None:
    tool("executeCode", code="before_failure = 1")
    result = tool("executeCode", code="def fail():\n    return 1 / 0\nfail()")
    assert result["isError"] is True
    stderr, exit_code = structured(result, "stderr", "exitCode")
    assert exit_code == 1
    assert stderr.startswith('Traceback (most recent call last):\n  File "<cell ')
    assert "    return 1 / 0\n" in stderr
    assert stderr.endswith("ZeroDivisionError: division by zero")
    assert text_of(tool("executeCode", code="before_failure")) == "1"


@pytest.mark.parametrize(
    ("code", "stdout"),
    [
        ("import subprocess; _ = subprocess.run(['echo', 'from a process'])", "from a process"),
        ("import os; _ = os.write(1, b'from a descriptor')", "from a descriptor"),
        ("import asyncio\nawait asyncio.sleep(0, 'awaited')", "'awaited'"),
        ("import os\nif os.fork() == 0: raise ValueError('in a child')\n_ = os.wait()\nprint('parent')", "parent"),
        ("", ""),
    ],
)
def test_a_cell_s_output_is_all_that_it_and_its_processes_write(tool: Tool, code: str, stdout: str) -> None:
    result = tool("executeCode", code=code)
    assert structured(result, "stdout", "exitCode") == (stdout, 0)


def test_a_syntax_error_and_an_exit_are_results(tool: Tool) -> None:
    assert "SyntaxError" in text_of(tool("executeCode", code="x = ("))
    assert structured(tool("executeCode", code="raise SystemExit(3)"), "exitCode") == (3,)
    assert "EOFError" in text_of(tool("executeCode", code="input()"))


def test_a_cleared_context_has_no_variables_and_the_same_files(aws: Any) -> None:
    session_id = start(aws.data)
    invoke(aws.data, session_id, "executeCode", code="cleared = 1; open('kept.txt', 'w').write('kept')")
    result = invoke(aws.data, session_id, "executeCode", code="'cleared' in globals()", clearContext=True)
    assert text_of(result) == "False"
    assert text_of(invoke(aws.data, session_id, "executeCode", code="open('kept.txt').read()")) == "'kept'"
    stop(aws.data, session_id)


def test_a_cell_that_ends_its_process_loses_the_variables_and_not_the_session(aws: Any) -> None:
    session_id = start(aws.data)
    invoke(aws.data, session_id, "executeCode", code="lost = 1")
    result = invoke(aws.data, session_id, "executeCode", code="import os; os._exit(7)")
    assert structured(result, "exitCode") == (7,)
    assert "ended with exit code 7; its variables are lost" in text_of(result)
    assert "NameError" in text_of(invoke(aws.data, session_id, "executeCode", code="lost"))
    stop(aws.data, session_id)


def test_languages_that_this_machine_does_not_run_are_refused_by_name(aws: Any, tool: Tool) -> None:
    refused = refusal_of(lambda: tool("executeCode", code="1", language="javascript", runtime="deno"))
    assert refused[:2] == (400, "ValidationException")
    assert "deno" in refused[2]
    assert "Python" in refusal_of(lambda: tool("executeCode", code="1", language="python", runtime="nodejs"))[2]
    assert refusal_of(lambda: tool("executeCode", code="1", language="cobol"))[1] == "ValidationException"


@pytest.mark.skipif(not Path("/usr/bin/node").exists(), reason="Node.js is not installed in /usr")
def test_javascript_runs_in_node(tool: Tool) -> None:
    result = tool("executeCode", language="javascript", code="console.log([1, 2].map(x => x * 2).join())")
    assert structured(result, "stdout", "exitCode") == ("2,4\n", 0)
    assert tool("executeCode", language="javascript", code="throw new Error('no')")["isError"] is True


# Commands


def test_a_command_answers_both_streams_and_its_exit_code(tool: Tool) -> None:
    result = tool("executeCommand", command="echo out; echo err >&2; exit 3")
    assert structured(result, "stdout", "stderr", "exitCode") == ("out\n", "err\n", 3)
    assert result["isError"] is True
    assert tool("executeCommand", command="true")["isError"] is False


def test_commands_and_cells_share_the_folder(tool: Tool) -> None:
    tool("executeCode", code="_ = open('from_cell.txt', 'w').write('cell')")
    assert text_of(tool("executeCommand", command="cat from_cell.txt")) == "cell"


def test_a_command_is_started_asked_about_and_ends(tool: Tool) -> None:
    tool("executeCommand", command="mkfifo go.fifo")
    start_result = tool("startCommandExecution", command="echo begun; read line < go.fifo; echo $line; exit 4")
    assert text_of(start_result) == "Successfully started a command execution task"
    task_id, status = structured(start_result, "taskId", "taskStatus")
    assert status == "submitted"
    assert structured(tool("getTask", taskId=task_id), "taskStatus") == ("working",)
    tool("executeCommand", command="echo go > go.fifo")

    def asked() -> dict[str, Any] | None:
        result = tool("getTask", taskId=task_id)
        return result if result["structuredContent"]["taskStatus"] != "working" else None

    ended = wait_until(asked, what="the end of the task")
    assert ended is not None
    assert structured(ended, "taskStatus", "stdout", "exitCode") == ("failed", "begun\ngo\n", 4)


def test_a_stopped_task_is_canceled_and_its_processes_end(aws: Any, tool: Tool) -> None:
    task_id = structured(tool("startCommandExecution", command="sleep 98765"), "taskId")[0]
    running = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[s]leep 98765'; true"
    wait_until(lambda: text_of(tool("executeCommand", command=running)).strip() == "1", what="its beginning")
    assert text_of(tool("stopTask", taskId=task_id)) == "Successfully canceled a command execution task"
    assert structured(tool("getTask", taskId=task_id), "taskStatus") == ("canceled",)
    wait_until(lambda: text_of(tool("executeCommand", command=running)).strip() == "0", what="its end")
    assert refusal_of(lambda: tool("stopTask", taskId=task_id))[1] == "ConflictException"
    assert "no-such-task" in refusal_of(lambda: tool("getTask", taskId="no-such-task"))[2]


# Files


def test_files_are_written_listed_read_and_removed(tool: Tool) -> None:
    wrote = tool(
        "writeFiles", content=[{"path": "data/a.csv", "text": "x,y\n"}, {"path": "data/b.bin", "blob": b"\x00\xff"}]
    )
    assert (text_of(wrote), wrote["isError"]) == ("Successfully wrote all 2 files", False)
    assert tool("listFiles", directoryPath="data")["content"] == [
        {
            "type": "resource_link",
            "uri": "file:///data/a.csv",
            "name": "a.csv",
            "mimeType": "text/csv",
            "description": "File",
            "size": 4,
        },
        {
            "type": "resource_link",
            "uri": "file:///data/b.bin",
            "name": "b.bin",
            "mimeType": "application/octet-stream",
            "description": "File",
            "size": 2,
        },
    ]
    read = [block["resource"] for block in tool("readFiles", paths=["data/a.csv", "data/b.bin"])["content"]]
    assert [(resource["type"], resource["uri"]) for resource in read] == [
        ("text", "file:///data/a.csv"),
        ("blob", "file:///data/b.bin"),
    ]
    assert (read[0]["text"], read[1]["blob"]) == ("x,y\n", b"\x00\xff")
    assert text_of(tool("removeFiles", paths=["data/a.csv", "data/b.bin"])) == "Successfully removed all 2 files"
    assert tool("listFiles", directoryPath="data")["content"] == []


def test_files_are_written_all_or_none(tool: Tool) -> None:
    tool("executeCode", code="import os; os.makedirs('is_folder', exist_ok=True)")
    failed = tool("writeFiles", content=[{"path": "half.txt", "text": "x"}, {"path": "is_folder", "text": "x"}])
    assert failed["isError"] is True
    assert "is_folder" in text_of(failed)
    assert "no such file" in text_of(tool("readFiles", paths=["half.txt"]))


@pytest.mark.parametrize("path", ["../../service.json", "/../../etc/passwd", "link/passwd", "/etc/../../../etc/passwd"])
@pytest.mark.parametrize("operation", ["readFiles", "removeFiles", "writeFiles", "listFiles"])
def test_no_path_leads_out_of_the_working_folder(tool: Tool, operation: str, path: str) -> None:
    tool("executeCommand", command="ln -sfn /etc link")
    arguments = {
        "readFiles": {"paths": [path]},
        "removeFiles": {"paths": [path]},
        "writeFiles": {"content": [{"path": path, "text": "x"}]},
        "listFiles": {"directoryPath": path},
    }[operation]
    result = tool(operation, **arguments)
    assert result["isError"] is True
    assert "outside the session's working folder" in text_of(result)


def test_arguments_that_a_tool_needs_are_asked_for_by_name(aws: Any, tool: Tool, session: str) -> None:
    for name, member in (("executeCode", "code"), ("executeCommand", "command"), ("readFiles", "paths")):
        status, code, message = refusal_of(lambda name=name: tool(name))
        assert (status, code) == (400, "ValidationException")
        assert f"{name} requires arguments.{member}" in message
    without = refusal_of(
        lambda: aws.data.invoke_code_interpreter(codeInterpreterIdentifier=MANAGED, name="listFiles", arguments={})
    )
    assert "sessionId is missing" in without[2]
    refusal = refusal_of(lambda: tool("writeFiles", content=[{"path": "x"}]))
    assert "either text or blob" in refusal[2]


# Isolation


@pytest.mark.skipif(choose().level != "bubblewrap", reason="bubblewrap is not there")
def test_a_session_of_the_mode_sandbox_has_no_network_and_no_credentials(aws: Any, tool: Tool) -> None:
    assert (
        text_of(tool("executeCommand", command="ls /sys/class/net 2>/dev/null; cat /proc/net/dev | wc -l")).split()[-1]
        == "3"
    )  # two lines of heading and loopback
    variables = text_of(tool("executeCommand", command="env"))
    assert aws.state.secret_key not in variables
    assert "AWS_SECRET" not in variables
    assert "KEY" not in variables


@pytest.mark.skipif(choose().level != "bubblewrap", reason="bubblewrap is not there")
def test_a_session_does_not_see_another_one(aws: Any, tool: Tool) -> None:
    other = start(aws.data)
    invoke(aws.data, other, "writeFiles", content=[{"path": "private.txt", "text": "of the other"}])
    output = text_of(tool("executeCommand", command="cat ../*/private.txt; ls ..; ps -e | wc -l"))
    assert "of the other" not in output
    stop(aws.data, other)


# Telemetry


@pytest.mark.parametrize("header", ["traceParent", "traceId"])
def test_an_invocation_is_a_span_below_its_caller_s(aws: Any, session: str, header: str) -> None:
    trace_id, parent = secrets.token_hex(16), secrets.token_hex(8)
    trace_header = {
        "traceParent": f"00-{trace_id}-{parent}-01",
        "traceId": f"Root=1-{trace_id[:8]}-{trace_id[8:]};Parent={parent};Sampled=1",
    }[header]
    session_ref = {"codeInterpreterIdentifier": MANAGED, "sessionId": session}
    answer = aws.data.invoke_code_interpreter(
        **session_ref, name="executeCode", arguments={"code": "1 / 0"}, **{header: trace_header}
    )
    assert [event["result"]["isError"] for event in answer["stream"]] == [True]

    def written() -> dict[str, Any] | None:
        logs = aws.client("logs")
        try:
            events = logs.filter_log_events(logGroupName="aws/spans", filterPattern=f'"{trace_id}"')["events"]
        except logs.exceptions.ResourceNotFoundException:
            return None
        return json.loads(events[0]["message"]) if events else None

    span = wait_until(written, what="the span")
    assert span is not None
    assert (span["name"], span["parentSpanId"]) == ("InvokeCodeInterpreter", parent)
    assert span["attributes"]["tool.name"] == "executeCode"
    assert span["attributes"]["toolsession.id"] == session
    assert span["attributes"]["code_interpreter.exit_code"] == 1
    assert span["status"]["code"] == "ERROR"
    assert span["endTimeUnixNano"] >= span["startTimeUnixNano"]
