import boto3
from bedrock_agentcore import BedrockAgentCoreApp

sts = boto3.client("sts")
ACCOUNT = sts.get_caller_identity()["Account"]
sts.close()


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return ACCOUNT


if __name__ == "__main__":
    app.run()
