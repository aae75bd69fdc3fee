import logging
import queue

from bedrock_agentcore import BedrockAgentCoreApp

inbox = queue.Queue()
log = logging.LoggerAdapter(logging.getLogger("agent"), {"component": "agent"})


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [inbox.qsize(), log.info("called")]


if __name__ == "__main__":
    app.run()
