import datetime
import time
from datetime import UTC, date

from bedrock_agentcore import BedrockAgentCoreApp
from strands import Agent
from strands.models import BedrockModel

STARTED = time.time()  # finds: clock
TODAY = date.today()  # finds: clock
IS_WEEKEND = date.today().weekday() >= 5  # finds: clock
YEAR = datetime.datetime.now(UTC).year  # finds: clock
DEADLINE = time.monotonic() + 60  # finds: clock
EXPIRES = time.time() + 3_600  # finds: clock
STAMP = time.strftime("%H-%M-%S")  # finds: clock
PROMPT = f"You are a helper. Today is {datetime.datetime.now():%A, %d %B %Y}."  # finds: clock
agent = Agent(
    model=BedrockModel(),
    system_prompt=f"The date is {date.today():%Y-%m-%d}.",  # finds: clock
)


class Service:
    def __init__(self):
        self.created = datetime.datetime.now(UTC)  # finds: clock


service = Service()


def age(since=time.time()):  # finds: clock
    return time.time() - since


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    agent.system_prompt = PROMPT
    return [STARTED, str(TODAY), IS_WEEKEND, YEAR, DEADLINE, EXPIRES, STAMP, str(service.created), age()]


if __name__ == "__main__":
    app.run()
