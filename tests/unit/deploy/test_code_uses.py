"""What is read from an agent's code about its use of AWS; the code is never run."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from loomlib.deploy.code_uses import UNSEEN_CALLS, CodeUses, VariableRead, find_uses

Found = dict[str, dict[str, list[str | None]]]


def uses_of(tmp_path: Path, code: str, **modules: str) -> CodeUses:
    (tmp_path / "agent.py").write_text(dedent(code))
    for name, text in modules.items():
        file = tmp_path / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
    return find_uses(tmp_path)


def calls(code_uses: CodeUses, **variables: str) -> Found:
    return {
        f"{use.service}:{use.operation}": {
            name: [text.resolved(variables) for text in texts] for name, texts in use.arguments.items()
        }
        for use in code_uses.uses
    }


def test_names_are_followed_through_constants_functions_classes_and_modules(tmp_path: Path) -> None:
    code_uses = uses_of(
        tmp_path,
        """
        import boto3
        from settings import TABLE
        import settings as chosen

        PREFIX = "reports"

        class Store:
            def __init__(self, client, table=TABLE):
                self.client, self.table = client, boto3.resource("dynamodb").Table(table)

            def read(self, key):
                self.table.get_item(Key={"id": key})
                return self.client.get_object(Bucket=chosen.BUCKET, Key=f"{PREFIX}/{key}.md")

        def functions():
            return boto3.client("lambda")

        def call(name):
            return functions().invoke(FunctionName=name)

        store = Store(boto3.client("s3"))
        call("orders-api")
        """,
        settings='TABLE = "orders"\nBUCKET = "docs"\n',
    )
    assert not code_uses.unresolved
    arguments = calls(code_uses)
    assert arguments["dynamodb:GetItem"]["TableName"] == ["orders"]
    assert arguments["s3:GetObject"]["Bucket"] == ["docs"]
    assert arguments["lambda:Invoke"]["FunctionName"] == ["orders-api"]
    key = next(use for use in code_uses.uses if use.operation == "GetObject").arguments["Key"][0]
    assert (key.resolved({}), key.pattern({})) == (None, "reports/*.md")


def test_environment_variables_stay_names_until_the_configuration_gives_them_values(tmp_path: Path) -> None:
    code_uses = uses_of(
        tmp_path,
        """
        import os
        import boto3
        client = boto3.client("bedrock-agent-runtime")
        client.retrieve(knowledgeBaseId=os.environ["BASE"], retrievalQuery={"text": "hi"})
        boto3.client("lambda").invoke(FunctionName=os.environ.get("FUNCTION", "fallback"))
        boto3.client("sns").publish(TopicArn=os.getenv("TOPIC") or os.getenv("OTHER") or "", Message="x")
        """,
    )
    (use,) = [use for use in code_uses.uses if use.operation == "Retrieve"]
    assert use.arguments["knowledgeBaseId"][0].parts == (VariableRead(name="BASE", is_required=True),)
    assert use.arguments["knowledgeBaseId"][0].unset({}) == ("BASE",)
    assert calls(code_uses, BASE="KB12345678")["bedrock-agent-runtime:Retrieve"]["knowledgeBaseId"] == ["KB12345678"]
    assert calls(code_uses)["lambda:Invoke"]["FunctionName"] == ["fallback"]
    assert calls(code_uses, OTHER="arn:b")["sns:Publish"]["TopicArn"] == ["", "arn:b", ""]


def test_sessions_paginators_waiters_transfers_and_presigned_addresses_are_calls(tmp_path: Path) -> None:
    code_uses = uses_of(
        tmp_path,
        """
        from contextlib import closing
        from boto3 import Session
        session = Session(region_name="eu-west-1")
        s3 = session.client("s3")
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket="a", Prefix="x/"):
            pass
        s3.get_waiter("object_exists").wait(Bucket="b", Key="k")
        s3.upload_file("local.txt", "c", "up.txt")
        s3.generate_presigned_url("get_object", Params={"Bucket": "d", "Key": "e"})
        with closing(session.client("stepfunctions")) as machines:
            start = machines.start_execution
            start(stateMachineArn="arn:aws:states:eu-west-1:1:stateMachine:m")
        """,
    )
    assert not code_uses.unresolved
    arguments = calls(code_uses)
    assert arguments["s3:ListObjectsV2"]["Bucket"] == ["a"]
    assert arguments["s3:HeadObject"]["Bucket"] == ["b"]
    assert (arguments["s3:PutObject"]["Bucket"], arguments["s3:PutObject"]["Key"]) == (["c"], ["up.txt"])
    assert arguments["s3:GetObject"]["Key"] == ["e"]
    assert "stepfunctions:StartExecution" in arguments


def test_classes_of_sdks_are_the_operations_that_they_call(tmp_path: Path) -> None:
    code_uses = uses_of(
        tmp_path,
        """
        import os
        from bedrock_agentcore.identity.auth import requires_api_key
        from bedrock_agentcore.memory import MemoryClient
        from bedrock_agentcore.memory.session import MemorySessionManager
        from bedrock_agentcore.tools.browser_client import BrowserClient
        from bedrock_agentcore.tools.code_interpreter_client import code_session
        from strands.models import BedrockModel
        from crewai import LLM

        memory = MemoryClient()
        memory.get_last_k_turns("m-0123456789", "ann", "s")
        memory.delete_event(memory_id="m-0123456789", eventId="e")
        manager = MemorySessionManager("n-0123456789")
        manager.create_memory_session("ann").search_long_term_memories("q", "/")
        model = BedrockModel(model_id="us.amazon.nova-lite-v1:0", guardrail_id="abcdefghij")
        llm = LLM(model="bedrock/converse/amazon.nova-pro-v1:0")
        other = LLM(model="openai/gpt-5")
        browser = BrowserClient("us-east-1")
        browser.generate_live_view_url()
        with code_session("us-east-1", identifier="mine-0123456789") as code:
            code.invoke("listFiles")

        @requires_api_key(provider_name="weather")
        def weather(api_key): ...
        """,
    )
    assert not code_uses.unresolved
    arguments = calls(code_uses)
    assert arguments["bedrock-agentcore:ListEvents"]["memoryId"] == ["m-0123456789"]
    assert arguments["bedrock-agentcore:DeleteEvent"]["memoryId"] == ["m-0123456789"]
    assert arguments["bedrock-agentcore:RetrieveMemoryRecords"]["memoryId"] == ["n-0123456789"]
    assert arguments["bedrock-agentcore:InvokeCodeInterpreter"]["codeInterpreterIdentifier"] == ["mine-0123456789"]
    assert arguments["bedrock-agentcore:StartBrowserSession"]["browserIdentifier"] == ["aws.browser.v1"]
    assert "bedrock-agentcore:ConnectBrowserLiveViewStream" in arguments
    assert arguments["bedrock-agentcore:GetResourceApiKey"]["resourceCredentialProviderName"] == ["weather"]
    models = {model.resolved({}) for use in code_uses.uses for model in use.arguments.get("modelId", ())}
    assert models == {"us.amazon.nova-lite-v1:0", "amazon.nova-pro-v1:0"}


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import boto3, os\nboto3.client(os.environ['S']).list()", "The client's service is chosen at run time"),
        (
            "import boto3\ndef f(op):\n    getattr(boto3.client('s3'), op)()",
            "The operation of s3 is chosen at run time",
        ),
        ("import boto3\nboto3.client('s3').get_objekt(Bucket='b')", "has no operation 'get_objekt'"),
        ("import boto3\nboto3.client('s33').get_object()", "boto3 has no service 's33'"),
        ("from strands import Agent\nAgent(tools=[])", "Strands' default depends"),
        ("from strands.models import BedrockModel\nBedrockModel()", "BedrockModel does not set model_id"),
        ("def broken(:\n", "The file cannot be read as Python"),
    ],
)
def test_what_cannot_be_followed_is_unresolved_with_file_and_line(tmp_path: Path, code: str, what: str) -> None:
    (unresolved,) = uses_of(tmp_path, code).unresolved
    assert what in unresolved.what
    assert unresolved.try_
    assert unresolved.file == "agent.py"
    assert unresolved.line or "cannot be read" in what


def test_objects_of_the_agent_s_own_classes_and_other_names_of_functions_are_followed(tmp_path: Path) -> None:
    code_uses = uses_of(
        tmp_path,
        """
        import boto3

        class Clients:
            def __init__(self, region):
                self.region = region

            def get(self, service):
                make = boto3.client
                return make(service, region_name=self.region)

        class Orders:
            def __init__(self, clients: Clients, function):
                self.clients, self.function = clients, function

            def call(self):
                return self.clients.get("lambda").invoke(FunctionName=self.function)

        orders = Orders(Clients("us-east-1"), function="orders-api")
        orders.call()
        """,
    )
    assert not code_uses.unresolved
    assert calls(code_uses)["lambda:Invoke"]["FunctionName"] == ["orders-api"]


def test_clients_that_are_made_once_and_kept_are_known_by_their_annotations_and_methods(tmp_path: Path) -> None:
    code_uses = uses_of(
        tmp_path,
        """
        from clients import AwsClients

        def call(clients: AwsClients, name: str):
            return clients.get("lambda").invoke(FunctionName=name)

        def recall(clients: "AwsClients | None", memory: str):
            return clients.get("bedrock-agentcore-control").get_memory(memoryId=memory)

        def pages(clients: AwsClients, group: "Group"):
            client = clients.get("bedrock-agentcore")
            return client.get_paginator("list_memory_records").paginate(memoryId=group.memory)
        """,
        clients="""
        import boto3

        class AwsClients:
            def __init__(self) -> None:
                self._made: dict = {}

            def get(self, service: str):
                make = boto3.client
                return self.once(service, lambda: make(service))

            def once(self, key, make):
                if key not in self._made:
                    self._made[key] = make()
                return self._made[key]
        """,
    )
    assert not code_uses.unresolved
    assert [(use.service, use.operation) for use in code_uses.uses] == [
        ("lambda", "Invoke"),
        ("bedrock-agentcore-control", "GetMemory"),
        ("bedrock-agentcore", "ListMemoryRecords"),
    ]


def test_a_field_of_a_dataclass_may_have_another_value_than_its_default(tmp_path: Path) -> None:
    code_uses = uses_of(
        tmp_path,
        """
        from dataclasses import dataclass
        import boto3

        @dataclass
        class Action:
            arn: str = ""

        def call(action: Action):
            boto3.client("lambda").invoke(FunctionName=action.arn)
        """,
    )
    assert calls(code_uses)["lambda:Invoke"]["FunctionName"] == ["", None]


def test_a_client_whose_calls_are_not_visible_is_a_use_without_an_operation(tmp_path: Path) -> None:
    (use,) = uses_of(tmp_path, "import boto3\nclient = boto3.client('s3')\nprint(client)").uses
    assert (use.service, use.operation, use.place) == ("s3", UNSEEN_CALLS, "agent.py:2")
    assert not uses_of(tmp_path, "import boto3\nprint(boto3.client('s3').meta.endpoint_url)").uses


def test_tests_hidden_folders_and_links_that_lead_outside_are_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "other.py").write_text("import boto3\nboto3.client('iam').list_users()\n")
    folder = tmp_path / "agent"
    (folder / "tests").mkdir(parents=True)
    (folder / ".cache").mkdir()
    for name in ("tests/test_agent.py", "tests/data.py", ".cache/x.py", "test_more.py", "conftest.py"):
        (folder / name).write_text("import boto3\nboto3.client('s3').list_buckets()\n")
    (folder / "agent.py").write_text("import boto3\nboto3.client('sts').get_caller_identity()\n")
    (folder / "linked.py").symlink_to(outside / "other.py")
    code_uses = find_uses(folder)
    assert code_uses.files == ("agent.py",)
    assert [use.operation for use in code_uses.uses] == ["GetCallerIdentity"]


def test_code_in_circles_ends(tmp_path: Path) -> None:
    code_uses = uses_of(
        tmp_path,
        """
        import boto3
        def a(x): return b(x)
        def b(x): return a(x)
        name = a("n")
        name = name + name
        boto3.client("lambda").invoke(FunctionName=name)
        """,
    )
    assert [use.operation for use in code_uses.uses] == ["Invoke"]


@pytest.mark.parametrize(
    "code",
    [
        "x = " + " + ".join(["'a'"] * 5_000),
        "import boto3\nx = boto3" + ".a" * 5_000 + "()",
        "import boto3\nx = boto3" + ".a" * 300 + "()",
        "x = " + "f(" * 80 + "1" + ")" * 80,
        "x = " + "[" * 150 + "]" * 150,
    ],
    ids=["a long sum", "a long chain", "a shorter chain", "nested calls", "nested lists"],
)
def test_code_that_is_nested_deeply_ends_with_an_answer(tmp_path: Path, code: str) -> None:
    code_uses = uses_of(tmp_path, f"{code}\nimport boto3\nboto3.client('sts').get_caller_identity()\n")
    assert code_uses.unresolved or [use.operation for use in code_uses.uses] == ["GetCallerIdentity"]


def test_code_in_javascript_is_said_to_be_unread(tmp_path: Path) -> None:
    (tmp_path / "agent.mjs").write_text("export default 1")
    (unresolved,) = find_uses(tmp_path).unresolved
    assert unresolved.place == "agent.mjs"
    assert "[resources]" in unresolved.try_


@pytest.mark.timeout(60)  # each of 40 functions calls three others: without rounds, more paths than can be walked
def test_code_whose_functions_all_call_each_other_is_read(tmp_path: Path) -> None:
    functions = [
        f"def f{n}(name=None):\n"
        f"    return name or f{(n + 1) % 40}(name) or f{(n * 7 + 3) % 40}('s{n}') or f{(n * 11 + 5) % 40}(name)\n"
        for n in range(40)
    ]
    (tmp_path / "agent.py").write_text(
        "\n".join(["import boto3", *functions, "boto3.client('s3').get_object(Bucket=f0('mine'), Key='k')"])
    )
    (use,) = find_uses(tmp_path).uses
    assert None in [text.resolved({}) for text in use.arguments["Bucket"]], "more buckets than can be listed"


@pytest.mark.parametrize("line", ["{0} = {1} + {1}", "{0} = [{1}, [{1}]]", '{0} = {{"a": {1}, "b": {{"c": {1}}}}}'])
def test_values_that_grow_with_every_line_end_as_computed(tmp_path: Path, line: str) -> None:
    lines = "\n".join(line.format(f"a{number + 1}", f"a{number}") for number in range(70))
    code = f'import boto3\na0 = "x"\n{lines}\nboto3.client("s3").get_object(Bucket=a70, Key="k")\n'
    (use,) = uses_of(tmp_path, code).uses
    assert len(use.arguments["Key"]) == 1
    assert all(text.resolved({}) is None for text in use.arguments.get("Bucket", ()))


def test_code_that_takes_too_long_to_follow_is_reported(tmp_path: Path) -> None:
    line = 'name = name + "y"\nboto3.client("s3").get_object(Bucket=name, Key="k")\n'
    code_uses = uses_of(tmp_path, 'import boto3\nname = "x"\n' + line * 4_000)
    assert [item.what for item in code_uses.unresolved] == ["The code is too large to be analyzed"]
