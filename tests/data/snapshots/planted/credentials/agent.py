import base64
import json
import os
import time

import boto3
from bedrock_agentcore import BedrockAgentCoreApp


def assume_role():
    """Stands for sts.assume_role, which the default role is not allowed."""
    return {
        "AccessKeyId": "ASIAEXAMPLE",
        "SecretAccessKey": "example",
        "SessionToken": "example",
        "Expiration": "2026-01-01T00:00:00Z",
    }


CREDENTIALS = assume_role()  # finds: credential
tools = boto3.client(  # finds: credential
    "dynamodb",
    aws_access_key_id=CREDENTIALS["AccessKeyId"],
    aws_secret_access_key=CREDENTIALS["SecretAccessKey"],
    aws_session_token=CREDENTIALS["SessionToken"],
)
s3 = boto3.client("s3")
UPLOAD = s3.generate_presigned_url("get_object", Params={"Bucket": "a", "Key": "b"}, ExpiresIn=600)  # finds: credential


def fetch_token():
    return {"access_token": "opaque-" + "x" * 20, "token_type": "Bearer", "expires_in": 3600}


def sign(claims):
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), "c2lnbmF0dXJl"])


GITHUB = fetch_token()  # finds: credential
HEADERS = {"Authorization": "Bearer " + sign({"sub": "agent", "exp": int(time.time()) + 600})}  # finds: credential


class Session:
    def __init__(self, token, expires_at):
        self.token, self.expires_at = token, expires_at


session = Session("opaque-token", 1_900_000_000)  # finds: credential
app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    return [
        UPLOAD[:10],
        GITHUB["expires_in"],
        len(HEADERS),
        session.expires_at,
        len(CREDENTIALS),
        os.getpid(),
        str(tools),
    ]


if __name__ == "__main__":
    app.run()
