from bedrock_agentcore import BedrockAgentCoreApp
from strands import Agent, tool
from strands.models import BedrockModel


@tool
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


agent = Agent(model=BedrockModel(), tools=[add], system_prompt="You add numbers.", callback_handler=None)


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return str(agent(payload.get("prompt", "hi")))


if __name__ == "__main__":
    app.run()
