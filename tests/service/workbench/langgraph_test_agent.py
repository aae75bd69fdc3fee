"""A supervisor and a mathematician, written with LangGraph as its users write them: the code of one agent."""

LANGGRAPH_AGENT = '''
"""A supervisor that asks a mathematician."""

from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp
from langchain_aws import ChatBedrockConverse
from langchain_core.messages import AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from openinference.instrumentation.langchain import LangChainInstrumentor

LangChainInstrumentor().instrument()
app = BedrockAgentCoreApp()


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two whole numbers exactly."""
    return a * b


@tool
async def ask_mathematician(question: str) -> str:
    """Ask the mathematician a question about numbers; pass the whole question."""
    answer = await agent("mathematician", "You calculate.", [multiply]).ainvoke({"messages": [HumanMessage(question)]})
    return answer["messages"][-1].text


def agent(name, instruction, tools):
    model = ChatBedrockConverse(model="global.anthropic.claude-sonnet-4-6").bind_tools(tools)

    async def ask_model(state):
        return {"messages": [await model.ainvoke([SystemMessage(instruction), *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", ask_model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(name=name)


@app.entrypoint
async def invoke(payload, context):
    print(f"Agent invoked - Start time: {datetime.now(UTC).isoformat()}, Session ID: {context.session_id}", flush=True)
    supervisor = agent("supervisor", "You delegate questions about numbers.", [ask_mathematician])
    given = {"messages": [HumanMessage(payload["prompt"])]}
    async for piece, about in supervisor.astream(given, stream_mode="messages"):
        if isinstance(piece, AIMessageChunk) and about["langgraph_node"] == "model" and piece.text:
            yield piece.text


if __name__ == "__main__":
    app.run()
'''
