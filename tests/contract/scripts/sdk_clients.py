"""Every client class of AgentCore's SDK, with the variables of `loom up --export` only: what one call of each does."""

import importlib
import inspect
import json
import os
import pkgutil
import sys

import bedrock_agentcore
from botocore.exceptions import ClientError

REGION = os.environ["AWS_REGION"]
KINDS = ("Client", "SessionManager", "PaymentManager", "CodeInterpreter")
ACCOUNT = "123456789012"
MANAGER = f"arn:aws:bedrock-agentcore:{REGION}:{ACCOUNT}:payment-manager/shop-0123456789"


def classes():
    """The SDK's classes that make boto3 clients, by name."""
    classes_by_name = {}
    for module in pkgutil.walk_packages(bedrock_agentcore.__path__, "bedrock_agentcore."):
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:  # an adapter of a library that is not installed
            continue
        for name, value in inspect.getmembers(loaded, inspect.isclass):
            if value.__module__ == loaded.__name__ and name.endswith(KINDS):
                classes_by_name[name] = value
    return classes_by_name


def attempt(call):
    try:
        result = call()
    except Exception as error:
        cause = error.__cause__ or error
        if not isinstance(cause, ClientError):
            return type(error).__name__
        return f"{cause.response['ResponseMetadata']['HTTPStatusCode']} {cause.response['Error']['Code']}"
    return result if isinstance(result, str) else "answered"


def client(name, *arguments, **options):
    return found[name](*(arguments or (REGION,)), **options)


def code_interpreter():
    """A session with state, a file and a command, as `code_session` has it."""
    from bedrock_agentcore.tools.code_interpreter_client import code_session

    with code_session(REGION) as session:
        session.execute_code("kept = 41")
        session.upload_file("answer.txt", "the answer")
        session.execute_command("cat answer.txt > copied.txt")
        (event,) = session.execute_code("kept + 1")["stream"]
        return f"{event['result']['structuredContent']['stdout']} {session.download_file('copied.txt')}"


def browser():
    """A session and the address of its automation, as `browser_session` has it."""
    from bedrock_agentcore.tools.browser_client import browser_session

    with browser_session(REGION) as session:
        url, headers = session.generate_ws_headers()
        assert headers["Authorization"]
        assert session.generate_live_view_url()
        return f"{session.get_session()['status']} {url.split('/sessions/')[0]}"


def strands_tool():
    from strands_tools.code_interpreter import AgentCoreCodeInterpreter
    from strands_tools.code_interpreter.models import ExecuteCodeAction, LanguageType

    tool = AgentCoreCodeInterpreter(region=REGION, persist_sessions=False)
    action = ExecuteCodeAction(type="executeCode", code="6 * 7", language=LanguageType.PYTHON)
    return tool.execute_code(action)["content"][0]["text"]


def strands_session():
    from bedrock_agentcore.memory.integrations.strands.config import AgentCoreMemoryConfig

    memory = client("MemoryClient").create_memory(name="strands", event_expiry_days=7, strategies=[])
    config = AgentCoreMemoryConfig(memory_id=memory["id"], session_id="s" * 33, actor_id="alice")
    with client("AgentCoreMemorySessionManager", config, region_name=REGION) as manager:
        return manager.list_messages("s" * 33, "agent")


found = classes()
arn = sys.argv[1]
runtime = client("AgentCoreRuntimeClient")
bearer = {"bearer_token": "token"}
calls = {
    "AgentCoreRuntimeClient.list_agent_runtimes": lambda: runtime.list_agent_runtimes(),
    "AgentCoreRuntimeClient.get_aggregated_status": lambda: runtime.get_aggregated_status(arn.rpartition("/")[2]),
    "AgentCoreRuntimeClient.invoke_agent_runtime": lambda: runtime.invoke_agent_runtime(
        agent_runtime_arn=arn, payload=b'{"prompt": "hello"}'
    ),
    "AgentCoreRuntimeClient.generate_ws_connection": lambda: bool(runtime.generate_ws_connection(arn)),
    "AgentCoreRuntimeClient.generate_presigned_url": lambda: bool(runtime.generate_presigned_url(arn)),
    "AgentCoreRuntimeClient.generate_ws_connection_oauth": lambda: bool(
        runtime.generate_ws_connection_oauth(arn, **bearer)
    ),
    "AgentCoreRuntimeClient.connect_shell": lambda: bool(runtime.connect_shell(arn)),
    "AgentCoreRuntimeClient.connect_shell_presigned": lambda: bool(runtime.connect_shell_presigned(arn)),
    "MemoryClient.list_memories": lambda: client("MemoryClient").list_memories(),
    "MemoryControlPlaneClient.list_memories": lambda: client("MemoryControlPlaneClient").list_memories(),
    "MemorySessionManager.list_actors": lambda: client("MemorySessionManager", "none-0123456789", REGION).list_actors(),
    "AgentCoreMemorySessionManager.list_messages": strands_session,
    "IdentityClient.create_workload_identity": lambda: client("IdentityClient").create_workload_identity(),
    "GatewayClient.list_gateways": lambda: client("GatewayClient").list_gateways(),
    "EvaluationClient.get_evaluator_level": lambda: client("EvaluationClient").get_evaluator_level(
        "Builtin.Helpfulness"
    ),
    "EvaluationClient.list_batch_evaluations": lambda: client("EvaluationClient").list_batch_evaluations(),
    "RecommendationClient.list_recommendations": lambda: client("RecommendationClient").list_recommendations(),
    "DatasetClient.list_datasets": lambda: client("DatasetClient").list_datasets(),
    "ResourcePolicyClient.get_resource_policy": lambda: client("ResourcePolicyClient").get_resource_policy(arn),
    "PolicyEngineClient.list_policy_engines": lambda: client("PolicyEngineClient").list_policy_engines(),
    "KnowledgeBaseClient.list_knowledge_bases": lambda: client("KnowledgeBaseClient").list_knowledge_bases(),
    "ConfigBundleClient.list_configuration_bundles": lambda: client("ConfigBundleClient").list_configuration_bundles(),
    "BrowserClient.browser_session": browser,
    "BrowserClient.list_browsers": lambda: client("BrowserClient").list_browsers(),
    "CodeInterpreter.code_session": code_interpreter,
    "CodeInterpreter.strands_tool": strands_tool,
    "CodeInterpreter.list_code_interpreters": lambda: client("CodeInterpreter").list_code_interpreters(),
    "WebSearchClient": lambda: client("WebSearchClient", REGION, gateway_endpoint=os.environ["AWS_ENDPOINT_URL"]),
    "PaymentClient.list_payment_managers": lambda: client("PaymentClient").list_payment_managers(),
    "PaymentManager.list_payment_instruments": lambda: client(
        "PaymentManager", MANAGER, REGION
    ).list_payment_instruments("alice"),
}
answers = {name: attempt(call) for name, call in calls.items()}
untried = sorted(set(found) - {name.partition(".")[0] for name in calls})
print(json.dumps({"answers": answers, "untried": untried}))
