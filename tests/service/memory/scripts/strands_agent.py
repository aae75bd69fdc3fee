"""A Strands agent whose session AgentCore Memory keeps: `talk` says things, `restore` tells what is remembered."""

import json
import sys

from bedrock_agentcore.memory.integrations.strands.config import AgentCoreMemoryConfig
from bedrock_agentcore.memory.integrations.strands.session_manager import AgentCoreMemorySessionManager
from strands import Agent
from strands.models import BedrockModel

step, region, memory_id = sys.argv[1:4]
config = AgentCoreMemoryConfig(memory_id=memory_id, session_id="strands-session", actor_id="alan")
manager = AgentCoreMemorySessionManager(config, region_name=region)
agent = Agent(model=BedrockModel(model_id="loom.scripted"), session_manager=manager, callback_handler=None)
if step == "talk":
    for prompt in sys.argv[4:]:
        agent(prompt)
print(json.dumps(agent.messages))
