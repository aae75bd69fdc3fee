"""Agents that execute code in the code interpreter, with files that go in and out."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable

import pytest
from agent_turns import invoked, of_kind
from botocore.exceptions import ClientError

from tests.service.conftest import Aws

INTERPRETER = {"actionGroupName": "code", "parentActionGroupSignature": "AMAZON.CodeInterpreter"}


@pytest.fixture(scope="module")
def coder(create: Callable[..., str]) -> str:
    return create(INTERPRETER)


def test_an_agent_executes_code_and_keeps_its_variables(aws: Aws, coder: str) -> None:
    result = invoked(aws, coder, 'Execute the Python code "total = 6 * 7; print(total)"')
    invocation = of_kind(result, "invocationInput")[0]
    assert invocation["invocationType"] == "ACTION_GROUP_CODE_INTERPRETER"
    assert invocation["codeInterpreterInvocationInput"]["code"] == "total = 6 * 7; print(total)"
    output = of_kind(result, "observation")[0]["codeInterpreterInvocationOutput"]
    assert (output["executionOutput"], output["executionTimeout"]) == ("42", False)
    assert "42" in result["text"]
    again = invoked(aws, coder, 'Execute the Python code "print(total + 1)"', sessionId=result["session"])
    assert "43" in again["text"]
    other = invoked(aws, coder, 'Execute the Python code "print(total + 1)"')
    failed = of_kind(other, "observation")[0]["codeInterpreterInvocationOutput"]
    assert "NameError" in failed["executionError"]
    invoked(aws, coder, sessionId=result["session"], endSession=True)
    sessions = aws.data.list_code_interpreter_sessions(codeInterpreterIdentifier="aws.codeinterpreter.v1")["items"]
    # The newest come first, before those of other tests: the other session's, and the ended one's.
    assert [item["status"] for item in sessions[:2]] == ["READY", "TERMINATED"]


def test_files_go_to_the_code_and_come_back(aws: Aws, coder: str) -> None:
    bucket = f"files-{uuid.uuid4().hex[:8]}"
    aws.client("s3").create_bucket(Bucket=bucket)
    aws.client("s3").put_object(Bucket=bucket, Key="more.csv", Body=b"5\n")
    inline_source = {"sourceType": "BYTE_CONTENT", "byteContent": {"mediaType": "text/csv", "data": b"1\n2\n"}}
    s3_source = {"sourceType": "S3", "s3Location": {"uri": f"s3://{bucket}/more.csv"}}
    files = [
        {"name": "numbers.csv", "useCase": "CODE_INTERPRETER", "source": inline_source},
        {"name": "more.csv", "useCase": "CODE_INTERPRETER", "source": s3_source},
    ]
    code = "open('sum.txt', 'w').write(str(sum(int(x) for f in ('numbers.csv', 'more.csv') for x in open(f))))"
    answer = aws.client("bedrock-agent-runtime").invoke_agent(
        agentId=coder,
        agentAliasId="TSTALIASID",
        sessionId=uuid.uuid4().hex,
        inputText=f'Execute the Python code "{code}"',
        sessionState={"files": files},
        enableTrace=True,
    )
    with contextlib.closing(answer["completion"]) as stream:
        events = list(stream)
    (output_files,) = [event["files"]["files"] for event in events if "files" in event]
    assert [(file["name"], file["type"], file["bytes"]) for file in output_files] == [("sum.txt", "text/plain", b"8")]
    inputs = [
        event["trace"]["trace"]["orchestrationTrace"].get("invocationInput")
        for event in events
        if "orchestrationTrace" in event.get("trace", {}).get("trace", {})
    ]
    code_input = next(item for item in inputs if item)["codeInterpreterInvocationInput"]
    assert code_input["files"] == ["numbers.csv", "more.csv"]


def test_a_file_that_is_written_again_with_the_same_size_comes_back(aws: Aws, coder: str) -> None:
    session = uuid.uuid4().hex
    for total in ("41", "42"):
        code = f"open('total.txt', 'w').write('{total}')"
        result = invoked(aws, coder, f'Execute the Python code "{code}"', sessionId=session)
        assert [file["bytes"] for file in result["files"]] == [total.encode()]


def test_files_for_the_model_become_documents(aws: Aws, coder: str) -> None:
    source = {
        "sourceType": "BYTE_CONTENT",
        "byteContent": {"mediaType": "text/plain", "data": b"Opening hours: 9 to 5"},
    }
    files = [{"name": "hours.txt", "useCase": "CHAT", "source": source}]
    result = invoked(aws, coder, "Hello", sessionState={"files": files})
    assert '"document": {"format": "txt", "name": "hours"' in of_kind(result, "modelInvocationInput")[0]["text"]
    missing = {"sourceType": "S3", "s3Location": {"uri": "s3://nothing-here/x.txt"}}
    with pytest.raises(ClientError, match=r"The file x\.txt cannot be read"):
        invoked(aws, coder, "Hello", sessionState={"files": [{"name": "x.txt", "useCase": "CHAT", "source": missing}]})
