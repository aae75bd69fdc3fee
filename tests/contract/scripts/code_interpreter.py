"""A code interpreter's session with AgentCore's SDK, and Strands' tool for it, as on AWS."""

import os

from bedrock_agentcore.tools.code_interpreter_client import code_session
from strands import Agent
from strands.models import BedrockModel
from strands_tools.code_interpreter import AgentCoreCodeInterpreter

REGION = os.environ["AWS_REGION"]


def result_of(answer):
    return [event["result"] for event in answer["stream"] if "result" in event][-1]


with code_session(REGION) as session:
    session.upload_file("orders.csv", "order,total\n4711,20\n4712,22\n")
    code = "import csv\nrows = list(csv.DictReader(open('orders.csv')))\nprint(sum(int(row['total']) for row in rows))"
    print(result_of(session.execute_code(code))["structuredContent"]["stdout"].strip())
    print(result_of(session.execute_code("len(rows)"))["content"][0]["text"])  # a session keeps its variables
    failed = result_of(session.execute_code("1 / 0"))
    print(failed["isError"], "ZeroDivisionError" in failed["content"][0]["text"])
    print(result_of(session.execute_command("wc -l < orders.csv"))["structuredContent"]["stdout"].strip())
    session.execute_code("open('sum.txt', 'w').write('42')")
    print(session.download_file("sum.txt"), session.get_session()["status"])

tool = AgentCoreCodeInterpreter(region=REGION, persist_sessions=False)
model = BedrockModel(model_id="us.anthropic.claude-sonnet-4-20250514-v1:0")
agent = Agent(model=model, tools=[tool.code_interpreter], callback_handler=None)
action = {"type": "executeCode", "language": "python", "code": "print(sum(range(10)))"}
ran = agent.tool.code_interpreter(code_interpreter_input={"action": action})
print(ran["status"], "45" in ran["content"][0]["text"])
