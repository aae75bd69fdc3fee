import boto3
from bedrock_agentcore import BedrockAgentCoreApp
from botocore.config import Config

s3 = boto3.client("s3", config=Config(retries={"max_attempts": 2}))
dynamodb = boto3.resource("dynamodb", region_name="us-east-1")
session = boto3.Session()


app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [str(s3), str(dynamodb), str(session)]


if __name__ == "__main__":
    app.run()
