"""Strands' AgentCoreMemorySessionManager: `talk` in one process, `restore` in another; what an agent remembers.

`talk` batches its messages, carries metadata, uses a tool, and says something too long for a conversational event.
"""

import hashlib
import json
import sys

from bedrock_agentcore.memory import MemoryClient
from bedrock_agentcore.memory.integrations.strands.config import AgentCoreMemoryConfig, RetrievalConfig
from bedrock_agentcore.memory.integrations.strands.session_manager import AgentCoreMemorySessionManager
from strands import Agent, tool
from strands.models import BedrockModel


@tool
def find_order(order_id: str) -> str:
    """Look up an order.

    Args:
        order_id: The order's number, such as "A-1042".
    """
    return f"Order {order_id} is packed."


step = sys.argv[1]
if step == "talk":
    memory_id = MemoryClient().create_memory_and_wait("documented_strands", [], poll_interval=0.1)["memoryId"]
else:
    memory_id = sys.argv[2]
config = AgentCoreMemoryConfig(
    memory_id=memory_id,
    session_id="thursday",
    actor_id="cara",
    retrieval_config={"/facts/{actorId}/": RetrievalConfig(top_k=3, relevance_score=0.1)},
    batch_size=3,
    default_metadata={"app": "documented"},
)
with AgentCoreMemorySessionManager(config) as manager:
    agent = Agent(model=BedrockModel(), tools=[find_order], session_manager=manager, callback_handler=None)
    if step == "talk":
        agent.state.set("seen", ["A-1042"])
        agent("I live in Lyon.")
        agent("Where is order A-1042?")
        agent("A long story: " + "Once upon a time. " * 8_000)
messages = [{"role": message["role"], "content": message["content"]} for message in agent.messages]
digest = hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()
print(memory_id, len(messages), digest, agent.state.get("seen"))
