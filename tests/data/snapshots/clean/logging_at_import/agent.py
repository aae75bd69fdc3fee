import logging
import sys
import time

from bedrock_agentcore import BedrockAgentCoreApp

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(message)s")
log = logging.getLogger("agent")
log.info("imported at %s", time.ctime())
log.info("loading")
LIMITS = {"calls": 3}


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return log.info("called") or LIMITS


if __name__ == "__main__":
    app.run()
