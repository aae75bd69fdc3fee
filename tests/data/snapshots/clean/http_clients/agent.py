import httpx
import requests
import sqlalchemy
from bedrock_agentcore import BedrockAgentCoreApp

http = httpx.Client(timeout=5)
asynchronous = httpx.AsyncClient()
web = requests.Session()
engine = sqlalchemy.create_engine("sqlite:///orders.db")


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [str(http), str(asynchronous), str(web), str(engine)]


if __name__ == "__main__":
    app.run()
